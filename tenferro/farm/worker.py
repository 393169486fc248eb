"""A worker: reads a job, computes its parts, and ends with its parent.

A worker keeps the programs and operands of the last jobs, within bounds. It ends after its part if
the process that started it is gone.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from concurrent.futures import Executor as futures_Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.config import config
from tenferro.core import BoundedCache, CacheOwner, Capacity
from tenferro.errors import ConfigError, FarmError
from tenferro.farm.job import Job, maker_of, own_version
from tenferro.farm.store import JobFolder, Sums
from tenferro.ir import ExecProgram, NumpyArray
from tenferro.runtime import Buffer, Executable, Executor, executor_named

# The parent of a worker: when it is gone, the worker ends.

POLL = 1.0
"""Seconds between two looks at whether the parent is there."""


class Parent:
    """The process that started this one, watched once this one works for it.

    A worker of a process pool would wait forever for the next task of a coordinator that was
    killed. It watches from its first part on, or from its start if `watch` is the initializer of
    its pool. A process that is not a child of `multiprocessing`, or that runs jobs itself, does not
    watch.
    """

    def __init__(self) -> None:
        self._process = self._coordinator = 0
        self._starter: int | None = None
        self._parts = 0
        self._changed = threading.Condition()

    def is_not_needed(self) -> None:
        """This process runs jobs itself, with or without a parent."""
        self._coordinator = os.getpid()

    @contextmanager
    def needed(self) -> Iterator[None]:
        """A context for a part, during which this process is not ended."""
        with self._changed:
            self._watch()
            if self._gone() and not self._parts:
                os._exit(0)
            self._parts += 1
        try:
            yield
        finally:
            with self._changed:
                self._parts -= 1
                self._changed.notify_all()

    def watch(self) -> None:
        """Look for the parent from now on, if this process was started to work for it."""
        with self._changed:
            self._watch()

    def _watch(self) -> None:
        if self._process == os.getpid():
            return
        self._process, self._starter, self._parts = os.getpid(), None, 0
        is_child = multiprocessing.current_process().name != "MainProcess"
        if is_child and self._process != self._coordinator:
            self._starter = os.getppid()
            threading.Thread(target=self._wait, name="tenferro-parent", daemon=True).start()

    def _gone(self) -> bool:
        """Whether the coordinator has ended, or what started this process: often the same."""
        if self._starter is None:
            return False
        return os.getppid() != self._starter or not _coordinator_lives()

    def _wait(self) -> None:
        while not self._gone():
            time.sleep(POLL)
        with self._changed:
            self._changed.wait_for(lambda: not self._parts)
            os._exit(0)


def _coordinator_lives() -> bool:
    """Whether the process that made the pool runs, as far as `multiprocessing` knows."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return True
    try:
        return parent.is_alive()
    except ValueError:  # workers of loky have no handle of it; it starts them itself
        return os.getppid() == parent.pid


# What a worker does: it reads a job from the store, computes a part and writes it.


def part_name(part: int) -> str:
    """The file of a part.

    >>> part_name(17)
    'part-000017'
    """
    return f"part-{part:06d}"


def part_header(job: str, part: int, first: int, stop: int) -> dict[str, object]:
    """What a part is, as its file says."""
    return {"kind": "part", "job": job, "part": part, "first": first, "stop": stop}


@dataclass(frozen=True)
class Prepared:
    """A job, ready to compute any of its parts."""

    executor: Executor
    executable: Executable
    operands: tuple[Buffer, ...]
    maker: str
    size: int

    @classmethod
    def of(cls, job: Job) -> Prepared:
        """The job on its executor, with the operands there."""
        executor = executor_named(job.worker)
        operands = tuple([executor.put(array) for array in job.operands])
        executable = executor.compile_exec(job.program)
        size = size_of(job.operands, job.program)
        return cls(executor, executable, operands, maker_of(executor), size)

    def run(self, first: int, stop: int) -> Sums:
        """The sums of some iterations."""
        begun = time.perf_counter()
        iterations = [self.executor.put(np.asarray(number, np.int64)) for number in (first, stop)]
        results = self.executable(*self.operands, *iterations)
        arrays = tuple([self.executor.get(result) for result in results])
        return Sums(arrays, (self.maker,), int((time.perf_counter() - begun) * 1e6))


def size_of(operands: Sequence[NumpyArray], program: ExecProgram) -> int:
    """The bytes of operands, and of what ops without operands make."""
    metas = [
        meta
        for part in program.walk()
        for step in part.instructions
        if step.op.source
        for meta in step.output_metas
    ]
    made = sum(math.prod(meta.static_shape or ()) * meta.dtype.itemsize for meta in metas)
    return made + sum(array.nbytes for array in operands)


class Worker(CacheOwner):
    """This process as a worker: its parent, and its last jobs by folder and name, ready to compute.

    Attributes:
        parent: what this process works for.
    """

    def __init__(self, capacity: Capacity) -> None:
        self.parent = Parent()
        self._cache: BoundedCache[tuple[str, str], Prepared] = BoundedCache(capacity, self._size)
        self._preparing = threading.Lock()

    def _size(self, prepared: Prepared) -> int:
        """The bytes of a job; one that is too large for the cache fills it, and is there alone."""
        most = self.capacity.size
        return prepared.size if most is None else min(prepared.size, most)

    def prepared(self, files: JobFolder) -> Prepared:
        """The job of a folder; read and compiled once, also if several threads work on it."""
        with self._preparing:
            return self._cache.get_or_make(
                (files.store, files.digest), lambda: Prepared.of(files.read_job(own_version()))
            )


WORKER = Worker(Capacity(4, config.cache_bytes))


def work(folder: str, job: str, part: int, first: int, stop: int) -> int:
    """Compute the iterations from `first` to `stop` of a job and write them as a part; its number.

    Nothing is computed if the part is there, or the job has its result.

    Raises:
        FarmError: the folder does not hold the job, or the job is of another version.
    """
    with WORKER.parent.needed():
        files = JobFolder(folder, job)
        name = part_name(part)
        if files.has(name) or files.has("result"):
            return part
        sums = WORKER.prepared(files).run(first, stop)
        files.write(name, part_header(job, part, first, stop), sums)
        return part


# The engine of a farm: an executor of the standard library's kind, made again when it breaks.

Engine = futures_Executor | Callable[[], futures_Executor]
"""A pool of workers, or a function that makes one."""


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool of workers."""

    executor: futures_Executor

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
        passed: object = engine
        if not isinstance(passed, futures_Executor) and not callable(passed):
            raise ConfigError(
                "FarmExecutor: engine must be a concurrent.futures.Executor or a function that "
                f"makes one, got {passed!r}; that of a dask client is client.get_executor()"
            )
        self._engine = engine
        self._pool: Pool | None = None
        self._lock = threading.Lock()

    @property
    def makes_more(self) -> bool:
        """Whether a broken pool can be replaced."""
        return not isinstance(self._engine, futures_Executor)

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

    def _made(self) -> futures_Executor:
        if isinstance(self._engine, futures_Executor):
            return self._engine
        made: object = self._engine()
        if not isinstance(made, futures_Executor):
            raise FarmError(
                f"farm: engine must make a concurrent.futures.Executor, but it made {made!r}"
            )
        return made

    def _drop(self, wait: bool) -> None:
        if self._pool is not None and self.makes_more:
            self._pool.executor.shutdown(wait=wait)
        self._pool = None
