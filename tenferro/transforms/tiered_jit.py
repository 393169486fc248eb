"""Tiered compilation: NumPy answers while the executor compiles.

XLA takes milliseconds for each kernel of a program, NumPy microseconds. So NumPy answers calls
while the program is compiled in another thread.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.compiler import BACKGROUND, NATIVE, Stopped, kernels, memory_report, numpy_seconds
from tenferro.config import config
from tenferro.errors import ExecutorError, TenferroError
from tenferro.ir import Leaf
from tenferro.runtime import (
    BLAS_THREADS,
    NUMPY_EXECUTOR,
    Buffer,
    CompilesSlowly,
    Executable,
    Executor,
    TakesPackages,
    with_missing_packages,
)
from tenferro.transforms.jit_cache import TracedFunction

# The thread that compiles in the background: one for the process.

WAITING = 256
"""How many jobs wait at most; the one that has waited longest is dropped for another."""

PATIENCE = 1.0 if sys.version_info >= (3, 14) else None
"""Seconds that the end of the process waits for the job that runs.

XLA cannot be interrupted. Before Python 3.14 a thread that comes back from it at the end of the
process aborts the process, so that there is no bound.
"""


@dataclass(frozen=True, slots=True, eq=False)
class BackgroundJob:
    """Work for the thread.

    Attributes:
        run: does it, and keeps its errors for itself.
        drop: called in place of `run` where it is not done.
    """

    run: Callable[[], object]
    drop: Callable[[], object]


class BackgroundWorker:
    """Runs jobs one by one in a daemon thread, the latest first.

    The thread starts with the first job. A process that was forked has no such thread, and gets
    none, since XLA does not work there.

    Attributes:
        closed: whether it takes no jobs any more.
    """

    def __init__(self) -> None:
        self.closed = False
        self._changed = threading.Condition()
        self._jobs: list[BackgroundJob] = []
        self._thread: threading.Thread | None = None

    def submit(self, job: BackgroundJob) -> None:
        """Do the job later, or drop it at once if the worker is closed."""
        with self._changed:
            if not self.closed and self._thread is None:
                self._start()
            self._jobs.append(job)
            excess = len(self._jobs) - (0 if self.closed else WAITING)
            dropped = self._jobs[: max(0, excess)]
            del self._jobs[: len(dropped)]
            self._changed.notify()
        for each in dropped:
            each.drop()

    def close(self) -> None:
        """Drop what waits, and give the job that runs a moment to end."""
        with self._changed:
            self.closed = True
            dropped, self._jobs = self._jobs, []
            self._changed.notify()
        for job in dropped:
            job.drop()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def forget(self) -> None:
        """What is to be done in a process that was forked: it does not have the thread."""
        self.closed = True
        self._changed = threading.Condition()
        self._jobs, self._thread = [], None

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="tenferro-compile", daemon=True)
        self._thread.start()
        atexit.register(self.close)
        atexit.register(BACKGROUND.stop)  # runs first

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                with BACKGROUND.compiling():
                    job.run()
            except Stopped:
                job.drop()

    def _next(self) -> BackgroundJob | None:
        """The latest job, waiting for one if there is none; None once the worker is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self.closed)
            return None if self.closed else self._jobs.pop()


WORKER = BackgroundWorker()

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=WORKER.forget)


# First results from NumPy while the executor compiles.

WORTH = 0.5
"""The part of the predicted time to compile that a run on NumPy may take."""


class TieredExecutable:
    """A program that NumPy runs until the executor has compiled it.

    The first run of an executable takes long too, so it is made in the background, on the arguments
    of a call that NumPy answers. Results are buffers of the executor in any case.
    """

    def __init__(
        self, executor: Executor, first: Executable, compile_now: Callable[[], Executable]
    ) -> None:
        self._executor = executor
        self._first = first
        self._compile_now = compile_now
        self._compiled: Executable | None = None
        self._fast: Executable | None = None
        self._error: Exception | None = None
        self._turn = [None]  # whoever takes it out does the next step
        self._idle = threading.Event()

    @property
    def tier(self) -> str:
        """The name of the executor that answers the next call."""
        return NUMPY_EXECUTOR.name if self._fast is None else self._executor.name

    def __call__(self, *buffers: Buffer) -> Sequence[Buffer]:
        """Run on buffers of the executor."""
        fast = self._fast
        return self._answer(buffers) if fast is None else fast(*buffers)

    def run_host(self, *values: Buffer) -> Sequence[Buffer]:
        """Run on values of which some may be NumPy arrays."""
        fast = self._fast
        return self._answer(values) if fast is None else fast.run_host(*values)

    def ready(self, values: Sequence[Buffer]) -> Executable:
        """The executable, once it has been compiled and run."""
        while self._fast is None:
            self._raise()
            if self._take() or WORKER.closed:
                self._do(functools.partial(self._finish, values))
            else:
                self._idle.wait()
        return self._fast

    def _answer(self, values: Sequence[Buffer]) -> Sequence[Buffer]:
        """The results by NumPy, while the next step runs on the other cores."""
        self._raise()
        if not self._readable(values):
            return self.ready(values).run_host(*values)
        with BACKGROUND.answering(), BLAS_THREADS.one():
            if self._fast is not None:  # since the call waited for its turn
                return self._fast.run_host(*values)
            if self._take():
                known = self._compiled is not None
                step = functools.partial(self._run, values) if known else self._compile
                WORKER.submit(BackgroundJob(functools.partial(self._do, step), self._release))
            own = [self._on_host(value) for value in values]
            return [self._executor.put(result) for result in self._first.run_host(*own)]

    def _take(self) -> bool:
        """Whether the next step is the caller's to do."""
        try:
            self._turn.pop()
        except IndexError:
            return False
        self._idle.clear()
        return True

    def _release(self) -> None:
        self._turn[:] = [None]
        self._idle.set()

    def _do(self, step: Callable[[], object]) -> None:
        try:
            step()
        except Exception as error:
            self._error = error if isinstance(error, TenferroError) else _typed(error)
        finally:
            self._release()

    def _compile(self) -> None:
        if self._compiled is None and self._error is None:
            self._compiled = self._compile_now()

    def _finish(self, values: Sequence[Buffer]) -> None:
        self._compile()
        self._run(values)

    def _run(self, values: Sequence[Buffer]) -> None:
        """The first run. If these values make it fail, a call with them does so too."""
        if self._compiled is None:
            return
        with contextlib.suppress(Exception):
            for result in self._compiled.run_host(*values):
                self._executor.get(result)
        self._fast = self._compiled

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error.with_traceback(None)

    def _readable(self, values: Sequence[Buffer]) -> bool:
        on_host = isinstance(self._executor, CompilesSlowly) and self._executor.on_host
        return on_host or all(isinstance(value, np.ndarray) for value in values)

    def _on_host(self, value: Buffer) -> Buffer:
        return value if isinstance(value, np.ndarray) else self._executor.get(value)


def tiered(
    executor: Executor,
    traced: TracedFunction,
    sizes: Mapping[Leaf, int],
    compile_now: Callable[[], Executable],
) -> TieredExecutable | None:
    """The executable that NumPy answers for at first; None if it is not to do so.

    NumPy does so if its predicted time is at most half of what compiling takes, if its memory is
    within the limit, and if nothing is donated, called back, or unknown to it.
    """
    program = traced.program
    if not isinstance(executor, CompilesSlowly) or traced.donated:
        return None
    if not program.exec_program.portable:
        return None  # the first run in the background would call functions of the user once more
    packages = [*(executor.packages if isinstance(executor, TakesPackages) else ())]
    numpy_executor = with_missing_packages(NUMPY_EXECUTOR, [*packages, *traced.packages])
    try:
        first = numpy_executor.compile_exec(program.exec_program, (), sizes, program.options)
    except TenferroError:
        return None  # the executor may have other means; if not, its error is the one to see
    lowered = getattr(first, "program", None)
    if lowered is None or lowered.holds_unknown_shapes:
        return None
    if numpy_seconds(lowered) > WORTH * executor.compile_seconds * max(1, kernels(lowered)):
        return None
    if memory_report(lowered, NATIVE.runs).peak > config.max_bytes:
        return None
    return TieredExecutable(executor, first, compile_now)


def _typed(error: Exception) -> TenferroError:
    wrapped = ExecutorError(f"compile: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
