"""Numbers of rounds and flags, as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.errors import ControlFlowError
from tenferro.shape import Dim, DimExpr, integer_of
from tenferro.traced import TracedTensor


def as_count(caller: str, name: str, value: Any) -> Dim:
    """A number of rounds, which must be known when the loop is traced.

    Raises:
        ControlFlowError: it is traced, not an integer, or negative.
    """
    if isinstance(value, TracedTensor):
        advice = "" if caller == "while_loop" else ", or use fori_loop or while_loop"
        raise ControlFlowError(
            f"{caller}: {name} is a traced value {value.meta}, but it must be known when the loop "
            f"is traced; pass a Python integer{advice}; {value.dependence}"
        )
    if isinstance(value, DimExpr):
        return value
    integer = integer_of(value)
    if integer is None:
        raise ControlFlowError(f"{caller}: {name} must be an integer, got {value!r}")
    if integer < 0:
        raise ControlFlowError(f"{caller}: {name} must not be negative, got {integer}")
    return within_int64(caller, name, integer)


def within_int64(caller: str, name: str, integer: int) -> int:
    """An integer that counts rounds.

    Raises:
        ControlFlowError: it has no int64, in which rounds are counted.
    """
    if not -(2**63) <= integer < 2**63:
        raise ControlFlowError(f"{caller}: {name} must fit int64, got {integer}")
    return integer


def as_unroll(caller: str, unroll: Any, rounds: Dim) -> int:
    """The number of rounds that are compiled as one. True means all, if their number is known.

    Raises:
        ControlFlowError: it is not a positive integer.
    """
    if isinstance(unroll, bool):
        return max(1, rounds) if unroll and isinstance(rounds, int) else 1
    count = integer_of(unroll)
    if count is None or count < 1:
        raise ControlFlowError(f"{caller}: unroll must be a positive integer, got {unroll!r}")
    return count


def as_levels(caller: str, checkpoints: Any, rounds: Dim, none: bool = True) -> int:
    """The number of levels of checkpoints; 0 for None, which only some loops take.

    Raises:
        ControlFlowError: it is not a positive integer, or the number of rounds is not known.
    """
    if checkpoints is None and none:
        return 0
    levels = integer_of(checkpoints)
    if levels is None or levels < 1:
        raise ControlFlowError(
            f"{caller}: checkpoints must be a positive integer{' or None' if none else ''}, "
            f"got {checkpoints!r}"
        )
    if isinstance(rounds, DimExpr):
        raise ControlFlowError(
            f"{caller}: checkpoints= needs a known number of rounds, but the loop has {rounds}"
        )
    return levels


def as_flag(caller: str, name: str, value: object) -> bool:
    """A flag.

    Raises:
        ControlFlowError: it is not a bool.
    """
    if not isinstance(value, bool | np.bool_):
        raise ControlFlowError(f"{caller}: {name} must be True or False, got {value!r}")
    return bool(value)
