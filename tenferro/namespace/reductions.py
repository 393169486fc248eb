"""Reductions, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import reductions
from tenferro.dispatch import apply


def sum(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Sum over `axis` (None: all axes). Bools and integers are counted in 64 bits.

    >>> sum([[1, 2], [3, 4]], axis=0)
    Tensor([4, 6])
    """
    return apply(reductions.sum, x, axis=axis, keepdims=keepdims)


def prod(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Product over `axis`. Its derivative is right where factors are zero.

    >>> prod([2, 3, 4])
    Tensor(24)
    """
    return apply(reductions.prod, x, axis=axis, keepdims=keepdims)


def mean(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Mean over `axis`; integers become float64.

    >>> mean([1.0, 2.0, 6.0])
    Tensor(3.)
    """
    return apply(reductions.mean, x, axis=axis, keepdims=keepdims)


def max(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Largest element over `axis`; NaN wins, and ties share the derivative evenly.

    >>> max([[1, 5], [7, 3]], axis=1)
    Tensor([5, 7])
    """
    return apply(reductions.max, x, axis=axis, keepdims=keepdims)


def min(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Smallest element over `axis`; NaN wins, and ties share the derivative evenly.

    >>> min([[1, 5], [7, 3]], axis=1)
    Tensor([1, 3])
    """
    return apply(reductions.min, x, axis=axis, keepdims=keepdims)
