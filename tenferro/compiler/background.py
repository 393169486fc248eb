"""Compiling in another thread, which lets calls of the user go first.

A thread that runs Python code and one that calls NumPy take the interpreter's lock from one another
at every op, and each time wait for milliseconds. So what compiles in the background waits while a
call is answered, but at most half of the time. Calls of many threads would take the lock, and the
core, from it all the same. So they take turns, with pauses.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["TURNS", "Stopped", "give_way"]

HEAD_START = 0.25
"""Seconds that the first wait may take."""

PATIENCE = 1.0
"""Seconds that a call waits for its turn; after that it is answered beside others."""


class Turns:
    """Who runs Python code: calls that are being answered, or the thread that compiles."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """As at the start: in a process that was forked no other thread is left."""
        self._changed = threading.Condition()
        self._answering = 0
        self._admitted = 0  # calls that are answered, or that pause before they are
        self._waiting: deque[threading.Lock] = deque()
        self._pause = 0.0
        self._compiling = 0  # threads that compile in the background
        self._in_python = 0  # those of them that run Python code
        self._stopped = False
        self._here = threading.local()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A call is answered within the block.

        While something is compiled in the background, calls of several threads take turns, in the
        order in which they come, with pauses as long as the calls. Calls within the block are part
        of the call.
        """
        depth: int = getattr(self._here, "depth", 0)
        if depth == 0:
            self._enter()
        start = time.thread_time()
        self._here.depth = depth + 1
        try:
            yield
        finally:
            self._here.depth = depth
            if depth == 0:
                self._leave(time.thread_time() - start)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """This thread compiles within the block, in the background."""
        self._here.since = time.perf_counter() - HEAD_START
        try:
            self.give_way()
            self._count(1, 1)
            try:
                yield
            finally:
                self._count(-1, -1)
        finally:
            self._here.since = None

    @contextmanager
    def outside_python(self) -> Iterator[None]:
        """This thread runs no Python code within the block, and does not need the lock.

        Does nothing in a thread that does not compile in the background.
        """
        change = 1 if self.in_background else 0
        self._count(0, -change)
        try:
            yield
        finally:
            self._count(0, change)

    @property
    def in_background(self) -> bool:
        """Whether this thread compiles in the background."""
        return getattr(self._here, "since", None) is not None

    def give_way(self) -> None:
        """Wait for calls that are being answered, at most as long as was worked since the last.

        Does nothing in a thread that does not compile in the background.

        Raises:
            Stopped: the process ends.
        """
        since: float | None = getattr(self._here, "since", None)
        if since is None:
            return
        if self._stopped:
            raise Stopped
        if self._answering > 0:
            with self._changed:
                self._changed.wait_for(self._is_free, time.perf_counter() - since)
            self._here.since = time.perf_counter()

    def stop(self) -> None:
        """What compiles in the background is to end."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _enter(self) -> None:
        turn = threading.Lock()
        turn.acquire()
        with self._changed:
            self._waiting.append(turn)
            self._admit(0.0)
        try:
            if not turn.acquire(blocking=False) and turn.acquire(timeout=PATIENCE):
                time.sleep(self._pause)
        except BaseException:  # such as KeyboardInterrupt
            self._take_place(turn)
            self._leave(0.0)
            raise
        self._take_place(turn)

    def _take_place(self, turn: threading.Lock) -> None:
        """Begin to answer, also if the turn has not come."""
        with self._changed:
            if turn in self._waiting:
                self._waiting.remove(turn)
                self._admitted += 1
            self._answering += 1

    def _leave(self, seconds: float) -> None:
        with self._changed:
            self._answering -= 1
            self._admitted -= 1
            self._admit(seconds)
            self._changed.notify_all()

    def _count(self, compiling: int, in_python: int) -> None:
        with self._changed:
            self._compiling += compiling
            self._in_python += in_python
            self._admit(0.0)

    def _admit(self, pause: float) -> None:
        """Let those go on whose turn it is, after a pause of so many seconds."""
        self._pause = pause
        while self._waiting and self._admitted < self._places():
            self._admitted += 1
            self._waiting.popleft().release()

    def _places(self) -> float:
        """How many calls may be answered at once."""
        if not self._compiling:
            return float("inf")
        return 1 if self._in_python else max(1, _cores() - 1)

    def _is_free(self) -> bool:
        return self._answering <= 0 or self._stopped


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Stopped(BaseException):
    """Ends a compilation in the background, since the process ends."""


TURNS = Turns()
give_way = TURNS.give_way

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=TURNS.reset)
