"""Rounding, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import rounding
from tenferro.dispatch import apply


def floor(x: Any) -> Any:
    """The largest integer that is not above x. Its derivative is 0.

    >>> floor([1.5, -1.5])
    Tensor([ 1., -2.])
    """
    return apply(rounding.floor, x)


def ceil(x: Any) -> Any:
    """The smallest integer that is not below x. Its derivative is 0.

    >>> ceil([1.5, -1.5])
    Tensor([ 2., -1.])
    """
    return apply(rounding.ceil, x)


def trunc(x: Any) -> Any:
    """The integer next to x toward zero. Its derivative is 0.

    >>> trunc([1.5, -1.5])
    Tensor([ 1., -1.])
    """
    return apply(rounding.trunc, x)


def round(x: Any, decimals: int = 0) -> Any:
    """x with so many decimals; halfway between two, the even one. Its derivative is 0.

    >>> round([0.5, 1.5, 2.5])
    Tensor([0., 2., 2.])
    >>> round([1.234, 5.678], 1)
    Tensor([1.2, 5.7])
    """
    return apply(rounding.round, x, decimals=decimals)


def rint(x: Any) -> Any:
    """The nearest integer, as a floating-point number; of two, the even one.

    >>> rint([0.5, 1.5])
    Tensor([0., 2.])
    """
    return apply(rounding.rint, x)
