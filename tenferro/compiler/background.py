"""Compiling in another thread, which lets calls of the user go first.

A thread that runs Python code and one that calls NumPy take the interpreter's lock from one another
at every op, and each time wait for milliseconds. So what compiles in the background waits while a
call is answered, but at most half of the time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

HEAD_START = 0.25
"""Seconds that the first wait may take."""


class Turns:
    """Who runs Python code: calls that are being answered, or the thread that compiles."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """As at the start: in a process that was forked no other thread is left."""
        self._changed = threading.Condition()
        self._answering = 0
        self._stopped = False
        self._here = threading.local()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A call is answered within the block."""
        with self._changed:
            self._answering += 1
        try:
            yield
        finally:
            with self._changed:
                self._answering -= 1
                self._changed.notify_all()

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """This thread compiles within the block, in the background."""
        self._here.since = time.perf_counter() - HEAD_START
        try:
            self.give_way()
            yield
        finally:
            self._here.since = None

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

    def _is_free(self) -> bool:
        return self._answering <= 0 or self._stopped


class Stopped(BaseException):
    """Ends a compilation in the background, since the process ends."""


TURNS = Turns()
give_way = TURNS.give_way

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=TURNS.reset)
