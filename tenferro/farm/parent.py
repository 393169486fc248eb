"""The parent of a worker: when it is gone, the worker ends."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

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


PARENT = Parent()
