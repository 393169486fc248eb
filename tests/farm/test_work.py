"""The cache of the jobs that a worker has worked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.core import Capacity
from tenferro.farm import worker
from tests.farm.engines import farm, operands, value

SIZE = sum(array.nbytes for array in operands())


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A worker without jobs, with room for one and a half."""
    fresh = worker.Worker(Capacity(4, 3 * SIZE // 2))
    monkeypatch.setattr(worker, "WORKER", fresh)
    return fresh


def jobs(store: Path, *parts: int) -> None:
    with ThreadPoolExecutor(1) as pool:
        for number in parts:
            value(farm(pool, store, parts=number))


def test_prepared_jobs_are_bounded_by_bytes(fresh: Any, tmp_path: Path) -> None:
    jobs(tmp_path, 3, 4, 5)
    stats = fresh.stats()
    assert (stats.entries, stats.misses, stats.evictions) == (1, 3, 2)
    assert SIZE <= stats.size <= 3 * SIZE // 2


def test_a_job_larger_than_the_bound_is_kept_until_the_next(fresh: Any, tmp_path: Path) -> None:
    fresh.capacity = Capacity(4, 10)
    jobs(tmp_path, 3)
    assert (fresh.stats().entries, fresh.stats().misses) == (1, 1)
    jobs(tmp_path, 4)
    assert (fresh.stats().entries, fresh.stats().misses) == (1, 2)


def test_constants_of_the_program_count() -> None:
    """Also those of programs inside its ops."""

    def scaled(x: Any) -> Any:
        return tn.scan(lambda c, s: (c * np.array([1.0, 2.0]) + 3.0, None), x, length=4)[0]

    program = tn.make_program(scaled, tn.TensorSpec((2,), "float64")).exec_program
    assert worker.size_of([np.zeros(3)], program) == 24 + 16 + 8
