"""NumPy without its warnings of floating-point errors, for a quarter of what its own way costs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import Context, ContextVar
from typing import Any

import numpy as np


def quiet() -> AbstractContextManager[Any]:
    """What `numpy.errstate(all="ignore")` is, for ops that take a microsecond.

    >>> with quiet():
    ...     np.float64(1) / 0
    np.float64(inf)
    """
    return np.errstate(all="ignore") if _SETTING is None else _Quiet(*_SETTING)


class _Quiet:
    """Sets the context variable in which NumPy keeps what it does on errors."""

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: object) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *raised: object) -> None:
        self._variable.reset(self._token)


def _setting() -> tuple[ContextVar[Any], object] | None:
    """The variable and its value, which NumPy sets in a context; None if it keeps them elsewhere.

    NumPy documents that the state belongs to the context, but not the variable.
    """
    context = Context()
    context.run(np.seterr, all="ignore")
    found = [*context.items()]
    return found[0] if len(found) == 1 else None


_SETTING = _setting()
