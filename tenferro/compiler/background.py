"""Compiling in another thread, which lets calls of the user go first.

A thread that runs Python code and one that calls NumPy take the interpreter's lock from one another
at every op, and each time wait for milliseconds. So what compiles in the background waits while a
call is answered, but at most half of the time; and calls of many threads are answered one by one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["BACKGROUND", "Stopped", "give_way"]

HEAD_START = 0.25
"""Seconds that the first wait may take."""

PATIENCE = 1.0
"""Seconds that a call waits for others; after that it is answered while they run."""


class Background:
    """What is compiled in the background, and the calls that it gives way to."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """As at the start: in a process that was forked no other thread is left."""
        self._changed = threading.Condition()
        self._answering = 0
        self._one = threading.RLock()  # a call may be part of another
        self._compiling = False
        self._stopped = False
        self._here = threading.local()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A call is answered within the block, alone while something is compiled."""
        alone = self._compiling and self._one.acquire(timeout=PATIENCE)
        with self._changed:
            self._answering += 1
        try:
            yield
        finally:
            with self._changed:
                self._answering -= 1
                self._changed.notify_all()
            if alone:
                self._one.release()

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """This thread compiles within the block, in the background."""
        self._here.since = time.perf_counter() - HEAD_START
        try:
            self.give_way()
            self._compiling = True
            yield
        finally:
            self._compiling = False
            self._here.since = None

    @property
    def is_here(self) -> bool:
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
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _is_free(self) -> bool:
        return self._answering <= 0 or self._stopped


class Stopped(BaseException):
    """Ends a compilation in the background, since the process ends."""


BACKGROUND = Background()
give_way = BACKGROUND.give_way

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=BACKGROUND.reset)
