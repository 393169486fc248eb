"""Picking and sorting, under the array API standard's names."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import normal_axis, sorting
from tenferro.dispatch import apply, apply_to_array
from tenferro.namespace.layout import asarray, ravel
from tenferro.runtime import Tensor


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """The elements of x at `indices` along `axis`; of all of them, in C order, if None.

    Negative indices count from the end. What is out of bounds takes the nearest element.

    >>> take([10, 20, 30], [2, 0, -1])
    Tensor([30, 10, 30])
    >>> take([[1, 2], [3, 4]], 1, axis=1)
    Tensor([2, 4])
    """
    array = asarray(x)
    if axis is None:
        array, axis = ravel(array), 0
    whole = (slice(None),) * normal_axis("take", axis, array.ndim)
    return array[(*whole, _indices(indices))]


def take_along_axis(x: Any, indices: Any, axis: int = -1) -> Any:
    """The elements of x at `indices` along `axis`; its other axes are those of x.

    >>> x = asarray([[30, 10, 20], [1, 3, 2]])
    >>> take_along_axis(x, argsort(x))
    Tensor([[10, 20, 30],
            [ 1,  2,  3]])
    """
    return apply(sorting.take_along_axis, asarray(x), _indices(indices), axis=axis)


def _indices(indices: Any) -> Any:
    """Indices as an array that goes where the indexed one is, in a dtype that stays its own."""
    if isinstance(indices, list | tuple):
        made = asarray(indices) if len(indices) else asarray(indices, dtype="int64")
        return made.numpy() if isinstance(made, Tensor) else made
    weak = getattr(indices, "weak", None) is not None
    return indices.astype(indices.dtype) if weak else indices


def sort(x: Any, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The elements of x along `axis` in ascending or descending order. NaN counts as the largest.

    Sorting is always stable.

    >>> sort([3.0, 1.0, 2.0])
    Tensor([1., 2., 3.])
    """
    return apply_to_array(sorting.sort, x, axis=axis, descending=descending)


def argsort(x: Any, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The places of the elements of x along `axis` in their order; equal ones keep theirs.

    >>> argsort([3.0, 1.0, 2.0], descending=True)
    Tensor([0, 2, 1])
    """
    return apply_to_array(sorting.argsort, x, axis=axis, descending=descending)


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """The k largest elements along the last axis of x, the largest first; and their places.

    Of equal elements the first comes first. NaN counts as the largest.

    >>> top_k([3.0, 1.0, 2.0], 2)
    (Tensor([3., 2.]), Tensor([0, 2]))
    """
    places = apply_to_array(sorting.top_places, x, k=k)
    return take_along_axis(x, places), places


def argmax(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The place of the largest element along `axis`; of all, in C order, if None.

    The first of several; NaN wins.

    >>> argmax([3.0, 1.0, 3.0])
    Tensor(0)
    """
    return apply_to_array(sorting.argmax, x, axis=axis, keepdims=keepdims)


def argmin(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The place of the smallest element along `axis`; of all, in C order, if None.

    The first of several; NaN wins.

    >>> argmin([3.0, 1.0, 3.0])
    Tensor(1)
    """
    return apply_to_array(sorting.argmin, x, axis=axis, keepdims=keepdims)
