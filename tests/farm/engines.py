"""Engines that do what engines do on a bad day, and networks to give them."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.farm import FarmExecutor
from tenferro.ir import NumpyArray as Array

EXPRESSION = "abx,bcy,cax->y"
PARTS = 8


def operands(seed: int = 0, rounds: int = 6) -> list[Array]:
    """Arrays of a ring whose label x, of 8 · `rounds` values with that of b, is sliced."""
    generator = np.random.default_rng(seed)
    shapes = [(3, 8, rounds), (8, 4, 2), (4, 3, rounds)]
    return [generator.normal(size=shape) for shape in shapes]


def closed(*arrays: Any) -> Any:
    """A number, by a network in slices."""
    plan = tn.einsum_plan(EXPRESSION, *operands(), optimize=False, slices="bx")
    return tn.sum(tn.einsum(EXPRESSION, *arrays, optimize=plan) ** 2)


def farm(engine: Any, store: Path | str, **options: Any) -> FarmExecutor:
    """A farm whose workers compute with NumPy."""
    return FarmExecutor(engine, store, **{"worker": "numpy", **options})


def run(executor: FarmExecutor, arrays: list[Array] | None = None) -> list[bytes]:
    """The bits of value and gradient of `closed`."""
    given = operands() if arrays is None else arrays
    value, gradient = tn.jit(tn.value_and_grad(closed, argnums=(0, 1, 2)), executor=executor)(
        *given
    )
    return [np.asarray(each).tobytes() for each in (value, *gradient)]


def value(executor: FarmExecutor) -> bytes:
    """The bits of the value alone, which is one job."""
    return np.asarray(tn.jit(closed, executor=executor)(*operands())).tobytes()


def job_folder(store: Path) -> Path:
    """The folder of the only job."""
    (folder,) = store.iterdir()
    return folder


Fate = Callable[[int, int], str]
"""What happens to a part at an attempt: run, raise, break, twice, lost, lie, or late."""

IDLE = 10.0
"""Seconds without a task after which an engine ends."""


class Faulty(Executor):
    """Runs tasks in one thread, in any order, and lets some of them fail.

    Args:
        fate: what happens to the task of a part.
        workers: how many workers it says it has.
        seed: of the order.
    """

    def __init__(self, fate: Fate = lambda part, attempt: "run", workers: int = 4, seed: int = 0):
        self._max_workers = workers
        self._fate = fate
        self._random = random.Random(seed)
        self._tasks: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []
        self._late: list[tuple[Future[Any], int]] = []
        self._changed = threading.Condition()
        self._broken = self._closed = False
        self.attempts: Counter[int] = Counter()
        self.most_waiting = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._changed:
            if self._broken:
                raise BrokenExecutor("it broke")
            self._tasks.append((future, task, args))
            self.most_waiting = max(self.most_waiting, len(self._tasks))
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if wait and threading.current_thread() is not self._thread:
            self._thread.join(10)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._tasks and self._late:
                    future, part = self._late.pop()
                    future.set_result(part)
                    continue
                if not self._changed.wait_for(lambda: self._tasks or self._closed, IDLE):
                    self._broken = True
                if not self._tasks:
                    return
                index = self._random.randrange(len(self._tasks))
                future, task, args = self._tasks.pop(index)
            if future.set_running_or_notify_cancel():
                self._do(future, task, args)

    def _do(self, future: Future[Any], task: Callable[..., Any], args: tuple[Any, ...]) -> None:
        part = args[2]
        self.attempts[part] += 1
        fate = self._fate(part, self.attempts[part])
        if fate == "raise":
            future.set_exception(ArithmeticError(f"bad luck with {part}"))
        elif fate == "break":
            with self._changed:
                self._broken = True
                broken = [future, *(each for each, _, _ in self._tasks)]
                self._tasks.clear()
            for each in broken:
                each.set_exception(BrokenExecutor("a worker died"))
        elif fate == "lie":
            future.set_result(part)
        else:
            self._do_well(future, task, args, fate)

    def _do_well(
        self, future: Future[Any], task: Callable[..., Any], args: tuple[Any, ...], fate: str
    ) -> None:
        try:
            done = task(*args)
            if fate == "twice":
                task(*args)
        except Exception as error:
            future.set_exception(error)
            return
        if fate == "late":
            self._late.append((future, done))
        elif fate != "lost":
            future.set_result(done)
