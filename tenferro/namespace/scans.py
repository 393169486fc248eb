"""Running sums and products, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import scans
from tenferro.dispatch import apply
from tenferro.shape import as_dtype


def cumulative_sum(
    x: Any, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Any:
    """Sums of the elements so far along `axis`; 0 comes first if `include_initial`.

    >>> cumulative_sum([1, 2, 3])
    Tensor([1, 3, 6])
    """
    element = None if dtype is None else as_dtype(dtype)
    return apply(scans.cumulative_sum, x, axis=axis, dtype=element, include_initial=include_initial)


def cumulative_prod(
    x: Any, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Any:
    """Products of the elements so far along `axis`; 1 comes first if `include_initial`.

    Its derivative is right where factors are zero.

    >>> cumulative_prod([1, 2, 3])
    Tensor([1, 2, 6])
    """
    element = None if dtype is None else as_dtype(dtype)
    return apply(
        scans.cumulative_prod, x, axis=axis, dtype=element, include_initial=include_initial
    )


def cumsum(x: Any, axis: int | None = None, dtype: object = None) -> Any:
    """Sums of the elements so far along `axis`; of all elements in a row if it is None.

    >>> cumsum([[1, 2], [3, 4]])
    Tensor([ 1,  3,  6, 10])
    """
    element = None if dtype is None else as_dtype(dtype)
    return apply(scans.cumsum, x, axis=axis, dtype=element)


def cumprod(x: Any, axis: int | None = None, dtype: object = None) -> Any:
    """Products of the elements so far along `axis`; of all elements in a row if it is None.

    >>> cumprod([[1, 2], [3, 4]])
    Tensor([ 1,  2,  6, 24])
    """
    element = None if dtype is None else as_dtype(dtype)
    return apply(scans.cumprod, x, axis=axis, dtype=element)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Each element less the one before it, `n` times; of bools, whether they differ.

    >>> diff([1, 4, 9])
    Tensor([3, 5])
    """
    before = () if prepend is None else (prepend,)
    after = () if append is None else (append,)
    return apply(scans.diff, x, *before, *after, before=len(before), n=n, axis=axis)
