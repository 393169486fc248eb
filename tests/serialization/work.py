"""How much work a piece of code may do, counted in calls of functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class TooMuchWorkError(AssertionError):
    """More functions were called than the piece of code may call."""


class _StopError(BaseException):
    """Ends the piece of code, whatever errors it catches."""


class Work:
    """Counts calls of functions of Python and of C; at the first one too many it raises."""

    def __init__(self, limit: int) -> None:
        self.calls = 0
        self._limit = limit

    def count(self, frame: FrameType, event: str, argument: Any) -> None:
        """Called by the interpreter when a function is entered or left."""
        if event in ("call", "c_call"):
            self.calls += 1
            if self.calls > self._limit:
                raise _StopError


@contextmanager
def at_most(limit: int) -> Iterator[Work]:
    """A scope in which at most `limit` functions may be called.

    Raises:
        TooMuchWorkError: more are called.
    """
    work = Work(limit)
    before = sys.getprofile()
    sys.setprofile(work.count)
    try:
        yield work
    except _StopError:
        raise TooMuchWorkError(f"more than {limit} calls") from None
    finally:
        sys.setprofile(before)
