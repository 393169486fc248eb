"""A farm in processes of its own, to be killed: `python -m tests.farm.killing ENGINE STORE`."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

with suppress(ImportError):
    import loky
with suppress(ImportError):
    import distributed

import tenferro as tn
from tests.farm.engines import EXPRESSION, farm, operands

ROOT = Path(__file__).parents[2]
ROUNDS = 1000
PARTS = 24
LIMIT = 60.0
"""Seconds after which a run is given up."""


def engine(kind: str) -> Callable[[], Executor]:
    """A function that makes a pool of two workers."""
    watch = tn.FarmExecutor.watch_parent
    if kind == "loky":
        return lambda: loky.ProcessPoolExecutor(2, initializer=watch)
    if kind == "spawn":
        context = multiprocessing.get_context("spawn")
        return lambda: ProcessPoolExecutor(2, mp_context=context, initializer=watch)
    return lambda: ThreadPoolExecutor(2)


def slow_run(pool: Any, store: Path | str) -> tuple[str, str]:
    """The digest of the bits of a value and its gradient, whose parts take a moment; a report."""
    arrays = operands(rounds=ROUNDS)
    plan = tn.einsum_plan(EXPRESSION, *arrays, optimize=False, slices="bx")

    def loss(*given: Any) -> Any:
        return tn.sum(tn.einsum(EXPRESSION, *given, optimize=plan) ** 2)

    with farm(pool, store, parts=PARTS) as executor:
        value, gradient = tn.jit(tn.value_and_grad(loss), executor=executor)(*arrays)
    bits = np.asarray(value).tobytes() + np.asarray(gradient).tobytes()
    return hashlib.sha256(bits).hexdigest(), str(executor.report())


@contextmanager
def coordinator(kind: str, store: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs it; it and all that it started are gone afterwards."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.farm.killing", kind, str(store)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield started
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.communicate(timeout=LIMIT)


def members(session: int) -> dict[int, str]:
    """The processes of a session that still run, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found[int(entry.name)] = (entry / "cmdline").read_text()
    return found


def workers(session: int) -> list[int]:
    """The workers of a coordinator, without what looks after their memory."""
    return [
        number
        for number, command in members(session).items()
        if number != session and "resource_tracker" not in command
    ]


def parts_in(store: Path) -> int:
    """How many parts there are."""
    return sum(1 for path in store.glob("*/part-*") if not path.suffix)


def wait_for(condition: Callable[[], object], seconds: float = LIMIT) -> bool:
    """Whether a condition holds before the time is over."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def kill(number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)


def on_dask(store: str) -> tuple[str, str]:
    """The same on a cluster of dask."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(host="127.0.0.1", **options) as cluster,
        cluster.get_client() as c,
    ):
        return slow_run(c.get_executor(retries=3), store)


if __name__ == "__main__":
    how = (
        on_dask(sys.argv[2])
        if sys.argv[1] == "dask"
        else slow_run(engine(sys.argv[1]), sys.argv[2])
    )
    print("\n".join(how), flush=True)  # noqa: T201
