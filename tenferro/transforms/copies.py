"""Copies of functions: a compiled function is copied and pickled as Python's functions are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def is_named(function: Any) -> bool:
    """Whether a module has this very object under the name that the object says."""
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in getattr(function, "__qualname__", "<nameless>").split("."):
        found = getattr(found, part, None)
    return found is function


def pickled(
    function: Any, make: Callable[..., Any], settings: tuple[Any, ...]
) -> str | tuple[Any, ...]:
    """What pickle writes of a function: its name if a module has it, else how it is made again."""
    return str(function.__qualname__) if is_named(function) else (make, settings)
