"""Where in the user's program an op was written."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_ours: dict[CodeType, bool] = {}


def user_site() -> str | None:
    """`file.py:12` of the innermost frame outside this package; None for what is in no file."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        ours = _ours.get(code)
        if ours is None:
            ours = _ours[code] = code.co_filename.startswith(_PACKAGE)
        if not ours:
            if code.co_filename.startswith("<"):  # typed at a prompt, or a doctest
                return None
            return f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return None
