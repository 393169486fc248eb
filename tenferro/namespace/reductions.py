"""Reductions, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import reductions
from tenferro.dispatch import apply
from tenferro.shape import as_dtype


def sum(x: Any, axis: Any = None, *, dtype: object = None, keepdims: bool = False) -> Any:
    """Sum over `axis` (None: all axes). Bools and integers are counted in 64 bits.

    >>> sum([[1, 2], [3, 4]], axis=0)
    Tensor([4, 6])
    """
    element = None if dtype is None else as_dtype(dtype)
    return apply(reductions.sum, x, axis=axis, dtype=element, keepdims=keepdims)


def prod(x: Any, axis: Any = None, *, dtype: object = None, keepdims: bool = False) -> Any:
    """Product over `axis`. Its derivative is right where factors are zero.

    >>> prod([2, 3, 4])
    Tensor(24)
    """
    element = None if dtype is None else as_dtype(dtype)
    return apply(reductions.prod, x, axis=axis, dtype=element, keepdims=keepdims)


def mean(x: Any, axis: Any = None, *, dtype: object = None, keepdims: bool = False) -> Any:
    """Mean over `axis`; integers become float64.

    >>> mean([1.0, 2.0, 6.0])
    Tensor(3.)
    """
    element = None if dtype is None else as_dtype(dtype)
    return apply(reductions.mean, x, axis=axis, dtype=element, keepdims=keepdims)


def var(
    x: Any,
    axis: Any = None,
    *,
    correction: float | None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Any:
    """Mean of |x - mean|² over `axis`; real. The count is lowered by `correction`, or `ddof`.

    >>> var([1.0, 3.0])
    Tensor(1.)
    >>> var([1.0, 3.0], correction=1)
    Tensor(2.)
    """
    less = ddof if correction is None else correction
    return apply(reductions.var, x, axis=axis, correction=less, keepdims=keepdims)


def std(
    x: Any,
    axis: Any = None,
    *,
    correction: float | None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Any:
    """Root of the variance over `axis`. The count is lowered by `correction`, or `ddof`.

    >>> std([1.0, 3.0])
    Tensor(1.)
    """
    less = ddof if correction is None else correction
    return apply(reductions.std, x, axis=axis, correction=less, keepdims=keepdims)


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


def ptp(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Largest element less the smallest, over `axis`.

    >>> ptp([[1, 5], [7, 3]], axis=1)
    Tensor([4, 4])
    """
    return apply(reductions.ptp, x, axis=axis, keepdims=keepdims)


def any(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Whether any element over `axis` is not zero; false where there is none.

    >>> any([[0, 1], [0, 0]], axis=1)
    Tensor([ True, False])
    """
    return apply(reductions.any, x, axis=axis, keepdims=keepdims)


def all(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Whether no element over `axis` is zero; true where there is none.

    >>> all([[1, 1], [0, 1]], axis=1)
    Tensor([ True, False])
    """
    return apply(reductions.all, x, axis=axis, keepdims=keepdims)


def count_nonzero(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements over `axis` are not zero.

    >>> count_nonzero([[1, 1], [0, 1]], axis=1)
    Tensor([2, 1])
    """
    return apply(reductions.count_nonzero, x, axis=axis, keepdims=keepdims)


def average(x: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """Mean over `axis`, in which each element counts as much as its weight.

    >>> average([1.0, 2.0], weights=[3.0, 1.0])
    Tensor(1.25)
    """
    given = () if weights is None else (weights,)
    return apply(reductions.average, x, *given, axis=axis, keepdims=keepdims)
