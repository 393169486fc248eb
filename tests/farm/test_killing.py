"""Workers and coordinators that are killed with -9."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.farm.killing import (
    LIMIT,
    PARTS,
    coordinator,
    engine,
    kill,
    members,
    parts_in,
    slow_run,
    wait_for,
    workers,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The bits of the run that nobody kills."""
    return slow_run(engine("threads"), tmp_path_factory.mktemp("undisturbed"))[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["spawn", "loky"])
def test_what_is_killed_is_made_up_for(kind: str, digest: str, tmp_path: Path) -> None:
    pytest.importorskip("loky" if kind == "loky" else "multiprocessing")
    with coordinator(kind, tmp_path) as first:
        assert wait_for(lambda: parts_in(tmp_path) >= 4)
        kill(workers(first.pid)[0])
        before = parts_in(tmp_path)
        assert wait_for(lambda: parts_in(tmp_path) >= before + 6), "a new pool goes on"
        assert first.poll() is None
        kill(first.pid)
        first.wait(LIMIT)
        assert wait_for(lambda: not members(first.pid)), "orphans end, also those that had no part"
    found = parts_in(tmp_path)
    assert 10 <= found < 2 * PARTS
    damaged = min(tmp_path.glob("*/part-*"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with coordinator(kind, tmp_path) as second:
        out, err = second.communicate(timeout=LIMIT)
    assert second.returncode == 0, err
    assert out.split("\n")[0] == digest
    assert "1 damaged and made again" in out


@pytest.mark.exhaustive
def test_dask_moves_the_parts_of_a_worker_that_is_killed(digest: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with coordinator("dask", tmp_path) as process:
        assert wait_for(lambda: parts_in(tmp_path) >= 4)
        kill(workers(process.pid)[0])
        out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    assert out.split("\n")[0] == digest
