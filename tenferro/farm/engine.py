"""The engine of a farm: an executor of the standard library's kind, made again when it breaks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from typing import Any

from tenferro.errors import ConfigError, FarmError

Engine = Executor | Callable[[], Executor]
"""A pool of workers, or a function that makes one."""


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool of workers."""

    executor: Executor

    def submit(self, task: Callable[..., int], *arguments: Any) -> Future[int]:
        """Begin a task.

        Raises:
            BrokenExecutor: the pool takes no more.
        """
        try:
            return self.executor.submit(task, *arguments)
        except BrokenExecutor:
            raise
        except RuntimeError as error:  # it was shut down
            raise BrokenExecutor(str(error)) from error

    @property
    def workers(self) -> int:
        """How many tasks run at once, where the pool tells; else the number of processors."""
        for name in ("_max_workers", "num_workers"):
            count = getattr(self.executor, name, None)
            if isinstance(count, int) and count > 0:
                return count
        threads = getattr(getattr(self.executor, "_client", None), "nthreads", None)
        count = sum(threads().values()) if callable(threads) else 0  # those of a dask cluster
        return count or os.cpu_count() or 1


def is_broken(error: BaseException) -> bool:
    """Whether a task failed because its pool did."""
    return isinstance(error, BrokenExecutor | CancelledError)


class Engines:
    """The pool in use; where a function makes pools, the next one after it breaks.

    Raises:
        ConfigError: the engine is neither a pool nor a function.
    """

    def __init__(self, engine: Engine) -> None:
        given: object = engine
        if not isinstance(given, Executor) and not callable(given):
            raise ConfigError(
                "FarmExecutor: engine must be a concurrent.futures.Executor or a function that "
                f"makes one, got {given!r}; that of a dask client is client.get_executor()"
            )
        self._given = engine
        self._pool: Pool | None = None
        self._lock = threading.Lock()

    @property
    def makes_more(self) -> bool:
        """Whether a broken pool can be replaced."""
        return not isinstance(self._given, Executor)

    def pool(self, after: Pool | None = None) -> Pool:
        """The pool in use; a new one if that is `after`, which is broken."""
        with self._lock:
            if self._pool is None or (self._pool is after and self.makes_more):
                self._drop(wait=False)
                self._pool = Pool(self._made())
            return self._pool

    def close(self) -> None:
        """End the workers of a pool that was made here, after the parts that they have begun."""
        with self._lock:
            self._drop(wait=True)

    def _made(self) -> Executor:
        if isinstance(self._given, Executor):
            return self._given
        made: object = self._given()
        if not isinstance(made, Executor):
            raise FarmError(
                f"farm: engine must make a concurrent.futures.Executor, but it made {made!r}"
            )
        return made

    def _drop(self, wait: bool) -> None:
        if self._pool is not None and self.makes_more:
            self._pool.executor.shutdown(wait=wait)
        self._pool = None
