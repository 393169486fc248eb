"""The lines of the user's program: that which recorded an op, and those in tracebacks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import TypeVar

from tenferro.config import config
from tenferro.errors import TenferroError

__all__ = ["called_function", "filtered", "package_frames", "raising_site", "user_site"]

E = TypeVar("E", bound=BaseException)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_HERE = Path(__file__).parents[1]
_OWN = tuple(f"{_HERE.with_name(name)}{os.sep}" for name in ("tenferro", "tenferro_xla"))
"""The folders of the packages. What lies next to them, such as `tenferro_ext_x`, is the user's."""
_COMMANDS = f"{_PACKAGE}cli{os.sep}"
"""The command line: what calls it, such as its script, is no line of the user's program."""
_sites_of: dict[str, dict[int, str] | None] = {}
"""For each file its cached sites by line; None for files whose frames are skipped."""


def user_site(depth: int = 1) -> str | None:
    """`file.py:12` of the innermost frame outside this package and the standard library.

    None for code that is not in a file, such as code typed at a prompt. The search starts `depth`
    frames out, since looking at frames takes time.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        file = frame.f_code.co_filename
        if file not in _sites_of:
            is_start = file.startswith(("<", _COMMANDS))
            _sites_of[file] = None if not is_start and _is_passed_over(file) else {}
        sites = _sites_of[file]
        if sites is not None:
            line = frame.f_lineno
            if line not in sites and not file.startswith(("<", _COMMANDS)):
                sites[line] = f"{os.path.basename(file)}:{line}"
            return sites.get(line)
        frame = frame.f_back
    return None


def raising_site(error: BaseException) -> str | None:
    """`file.py:12` of the innermost frame of the user's program that an error passed; or None."""
    site: str | None = None
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith("<") and not _is_passed_over(file):
            site = f"{os.path.basename(file)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return site


def called_function(otherwise: str) -> str:
    """The name of the function of this package that the user's program called."""
    name = otherwise
    for frame in package_frames(sys._getframe(1)):
        if not frame.f_code.co_name.startswith(("_", "<")):
            name = frame.f_code.co_name
    return name


def package_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames from one outwards to the user's program: of this package, or what it calls by."""
    while frame is not None and _is_passed_over(frame.f_code.co_filename):
        yield frame
        frame = frame.f_back


def _is_passed_over(file: str) -> bool:
    """Whether a file is part of this package or of the standard library, which calls user code."""
    if file.startswith(_STANDARD_LIBRARY):
        return "site-packages" not in file
    return file.startswith(_PACKAGE)


def filtered(error: E) -> E:
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
