"""Tracebacks of errors in functions that are traced: the lines of the user."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tenferro.config import config
from tenferro.errors import TenferroError

E = TypeVar("E", bound=BaseException)

_HERE = Path(__file__).parents[1]
_OWN = tuple(f"{_HERE.with_name(name)}{os.sep}" for name in ("tenferro", "tenferro_xla"))
"""The folders of the packages. What lies beside them, such as `tenferro_ext_x`, is the user's."""


def shortened(error: E) -> E:
    """The error without the frames of tenferro in its traceback, ready to be raised again.

    `TENFERRO_FULL_TRACEBACKS=1` keeps them, and so does an error that is not the user's.
    """
    first = error.__traceback__
    if config.full_tracebacks or first is None:
        return error
    frames = list(_frames(first))
    if _is_own(frames[-1]) and not isinstance(error, TenferroError):
        return error
    rest: TracebackType | None = None
    for each in reversed(frames):
        if not _is_own(each):
            rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return error.with_traceback(rest)


def _frames(first: TracebackType) -> list[TracebackType]:
    frames = [first]
    while (following := frames[-1].tb_next) is not None:
        frames.append(following)
    return frames


def _is_own(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename.startswith(_OWN)
