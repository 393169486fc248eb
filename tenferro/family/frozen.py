"""Arrays that the authors of extensions hand over, which nobody may change any more.

Those in payloads become read-only, and those that functions return are copied unless nobody else
has them.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def frozen(op: T) -> T:
    """The op, or a copy of it that nobody can change.

    Arrays that others could change are read-only copies; an op whose class is not a frozen
    dataclass is a copy, so that an assignment to it later changes nothing.
    """
    changed: dict[str, Any] = {}
    for name in _fields(op):
        value = getattr(op, name, None)
        safe = _safe(value)
        if safe is not value:
            changed[name] = safe
    settings = getattr(type(op), "__dataclass_params__", None)
    if not changed and settings is not None and settings.frozen:
        return op
    kept = copy.copy(op)
    for name, value in changed.items():
        object.__setattr__(kept, name, value)
    return kept


def _fields(op: object) -> list[str]:
    if dataclasses.is_dataclass(op):
        return [field.name for field in dataclasses.fields(op)]
    return list(getattr(op, "__dict__", ()))


def plain(value: Any) -> Any:
    """A value of a payload, with NumPy's integers and bools, also in tuples, as Python's."""
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if type(value) is tuple:
        items = tuple([plain(item) for item in value])
        return items if any(map(_differ, items, value)) else value
    return value


def _safe(value: Any) -> Any:
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, np.ndarray) and (value.flags.writeable or value.base is not None):
        held = np.array(value)
        held.flags.writeable = False
        return held
    if type(value) is tuple:
        items = tuple([_safe(item) for item in value])
        return items if any(map(_differ, items, value)) else value
    return copy.copy(value) if isinstance(value, list | dict | set | bytearray) else value


def _differ(x: object, y: object) -> bool:
    return x is not y


def unaliased(results: object) -> list[Any]:
    """The results as a new list, in which arrays that somebody else may change are copies.

    Nobody else has an array that owns its memory and that only the list refers to. The caller must
    hold no reference to `results`.
    """
    values = [*results] if isinstance(results, tuple | list) else [results]
    del results
    for place, count in enumerate(_references(values)):
        value = values[place]
        if isinstance(value, np.ndarray) and (count > _ALONE or not value.flags.owndata):
            values[place] = value.copy()
    return values


def _references(values: list[Any]) -> list[int]:
    """How many references there are to each value."""
    return [sys.getrefcount(values[place]) for place in range(len(values))]


_ALONE = _references([np.empty(0)])[0]
