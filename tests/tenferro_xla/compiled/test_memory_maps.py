"""Executables are dropped before they hold more memory maps than Linux gives."""

from pathlib import Path

import numpy as np
import pytest

import tenferro as tn
from tenferro_xla import XlaExecutor
from tenferro_xla.compiled import cache
from tenferro_xla.compiled.executable import MemoryMaps


def proc(folder: Path, maps: int, bound: int) -> Path:
    (folder / "self").mkdir()
    (folder / "sys" / "vm").mkdir(parents=True)
    (folder / "self" / "maps").write_text("a map\n" * maps)
    (folder / "sys" / "vm" / "max_map_count").write_text(f"{bound}\n")
    return folder


@pytest.mark.exhaustive
def test_the_older_half_is_dropped_and_compiled_again_where_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded = MemoryMaps(proc(tmp_path, maps=6, bound=10))
    monkeypatch.setattr(cache, "MEMORY_MAPS", crowded)
    executor = XlaExecutor("cpu")
    f = tn.jit(lambda x: tn.sum(tn.tanh(x)), executor=executor)
    sizes = range(1, 18)  # what is in use is counted at the first and at the seventeenth
    values = [f(np.ones(size)).item() for size in sizes]
    assert len(executor.explain().events) == 17
    assert [f(np.ones(size)).item() for size in sizes] == values
    events = executor.explain().events
    assert [event.cause for event in events[17:]] == ["dropped"] * 8
    assert [event.subject for event in events[17:]] == [event.subject for event in events[:8]]


def test_where_nothing_tells_the_limit_nothing_is_dropped(tmp_path: Path) -> None:
    class Kept:
        def drop(self) -> None:
            raise AssertionError("it is dropped")

    maps, kept = MemoryMaps(tmp_path), [Kept() for _ in range(40)]
    for each in kept:
        maps.add(each)
