"""The thread that compiles in the background: one for the process."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from tenferro.compiler import TURNS, Stopped

WAITING = 256
"""How many jobs wait at most; the one that has waited longest is dropped for another."""

PATIENCE = 1.0 if sys.version_info >= (3, 14) else None
"""Seconds that the end of the process waits for the job that runs.

XLA cannot be interrupted. Before Python 3.14 a thread that comes back from it at the end of the
process aborts the process, so that there is no bound.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Work for the thread.

    Attributes:
        run: does it, and keeps its errors for itself.
        drop: called in place of `run` where it is not done.
    """

    run: Callable[[], object]
    drop: Callable[[], object]


class Worker:
    """Runs jobs one by one in a daemon thread, the latest first.

    The thread starts with the first job. A process that was forked has no such thread, and gets
    none, since XLA does not work there.

    Attributes:
        closed: whether it takes no jobs any more.
    """

    def __init__(self) -> None:
        self.closed = False
        self._changed = threading.Condition()
        self._jobs: list[Job] = []
        self._thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
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
        atexit.register(TURNS.stop)  # runs first

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                with TURNS.compiling():
                    job.run()
            except Stopped:
                job.drop()

    def _next(self) -> Job | None:
        """The latest job, waiting for one if there is none; None once the worker is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self.closed)
            return None if self.closed else self._jobs.pop()


WORKER = Worker()

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=WORKER.forget)
