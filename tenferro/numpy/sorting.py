"""Positions of elements: where a mask is true, in sorted arrays, and in the order of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from tenferro.errors import DTypeError, ShapeError, counted
from tenferro.ir import AnyTensor, ArrayLike, assume_equal, canonical, dtype_kind, integer_of
from tenferro.numpy.arguments import (
    along,
    array,
    comparable,
    constant_size,
    count,
    numbers,
    option,
    promoted,
    vector,
)
from tenferro.numpy.creation import arange, asarray, zeros, zeros_like
from tenferro.numpy.indexing import take, take_along_axis
from tenferro.numpy.manipulation import broadcast_arrays, stack, with_zeros
from tenferro.ops.functions import (
    apply,
    elementwise,
    indexing,
    normal_axes,
    normal_axis,
    reductions,
    refuse_out,
)
from tenferro.ops.functions.elementwise import floor_divide, imag, real, remainder
from tenferro.ops.functions.logical import isnan
from tenferro.ops.functions.manipulation import dynamic_truncate, moveaxis
from tenferro.ops.functions.reductions import argsort, cumsum, sort

__all__ = [
    "argpartition",
    "argwhere",
    "compress",
    "extract",
    "flatnonzero",
    "lexsort",
    "nonzero",
    "partition",
    "searchsorted",
    "sort_complex",
    "trim_zeros",
    "where",
]


_BINARY_SEARCH = 8
"""The least size of a sorted array for which halving is faster than comparing with all."""


def true_places(name: str, mask: Any, size: int | None) -> tuple[Any, Any]:
    """The indices at which a vector of bools is true, and their number.

    There are as many indices as elements, or `size`; those behind the true ones are 0.
    """
    size = None if size is None else count(name, "size", size)
    total = reductions.sum(mask)
    length = mask.shape[0]
    capacity = length if size is None else size
    # What is false, or does not fit, goes out of bounds, where it is dropped.
    target = elementwise.where(mask, cumsum(mask) - 1, length + capacity)
    places = zeros(capacity, "int64").at[target].add(arange(length))
    return places, total


def trimmed(x: Any, total: Any, size: int | None, fill: Any = None) -> Any:
    """The first `total` elements; with `size`, that many, of which the further ones are `fill`."""
    if size is None:
        return dynamic_truncate(x, total)
    if fill is None:
        return x
    inside = (arange(size) < total).reshape(-1, *(1,) * (x.ndim - 1))
    return elementwise.where(inside, x, asarray(fill).astype(x.dtype))


def nonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[AnyTensor, ...]:
    """The indices of the elements that are not zero: for each axis a vector.

    Data decide their number: in a traced function it is an upper bound, unless `size` is given.

    Args:
        a: an array with at least one axis.
        size: the number of indices; more are dropped, and missing ones are `fill_value`.
        fill_value: a number, or one for each axis; 0 if None.

    >>> tn.nonzero([3, 0, 4])
    (Tensor([0, 2]),)
    >>> tn.nonzero([3, 0, 4], size=3, fill_value=-1)
    (Tensor([ 0,  2, -1]),)
    """
    return _nonzero("nonzero", array("nonzero", a), size, fill_value)


def _nonzero(name: str, x: Any, size: int | None, fill_value: Any) -> tuple[Any, ...]:
    if x.ndim == 0:
        raise ShapeError(f"{name}: takes an array with at least one axis, got {x.meta}")
    places, total = true_places(name, (x != 0).ravel(), size)
    fills = fill_value if isinstance(fill_value, tuple | list) else (fill_value,) * x.ndim
    if len(fills) != x.ndim:
        raise ShapeError(
            f"{name}: got {counted(len(fills), 'fill value')} for the axes of {x.meta}"
        )
    coordinates = []
    for axis in reversed(range(x.ndim)):
        step = x.shape[axis]
        last = axis == 0
        coordinates.append(places if last else remainder(places, step))
        places = places if last else floor_divide(places, step)
    return tuple(
        trimmed(each, total, size, fill)
        for each, fill in zip(reversed(coordinates), fills, strict=True)
    )


@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> AnyTensor: ...
@overload
def where(
    condition: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[AnyTensor, ...]: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> AnyTensor | tuple[AnyTensor, ...]:
    """`x` where the condition is true, elsewhere `y`. Of a condition alone, the indices: `nonzero`.

    Args:
        condition: an array of bool.
        x: the values where it is true.
        y: the values elsewhere.
        size: of the indices, as for `nonzero`.
        fill_value: of the indices, as for `nonzero`.

    Raises:
        DTypeError: one of `x` and `y` is given.

    >>> tn.where([True, False], 1.0, 2.0)
    Tensor([1., 2.])
    >>> tn.where([True, False, True])
    (Tensor([0, 2]),)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None or size is not None:
        raise DTypeError(
            "where: takes a condition and two values, or a condition alone, with size= if wanted"
        )
    return elementwise.where(condition, x, y)


def argwhere(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> AnyTensor:
    """The index vectors of the elements that are not zero, as rows; options as of `nonzero`.

    >>> tn.argwhere([[0, 1], [1, 0]])
    Tensor([[0, 1],
            [1, 0]])
    """
    x = array("argwhere", a)
    if x.ndim == 0:
        return _nonzero("argwhere", x.reshape(1), size, fill_value)[0][:, None][:, :0]  # type: ignore[no-any-return]
    coordinates = _nonzero("argwhere", x, size, fill_value)
    if len(coordinates) == 1:
        return coordinates[0][:, None]  # type: ignore[no-any-return]
    return stack(coordinates, axis=1)


def flatnonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> AnyTensor:
    """The indices in the flattened array of the elements that are not zero, as `nonzero`.

    >>> tn.flatnonzero([[0, 1], [1, 0]])
    Tensor([1, 2])
    """
    x = array("flatnonzero", a).ravel()
    return _nonzero("flatnonzero", x, size, fill_value)[0]  # type: ignore[no-any-return]


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> AnyTensor:
    """The elements of the flattened array where the condition holds; `size` as of `nonzero`.

    >>> tn.extract([True, False, True], [1, 2, 3])
    Tensor([1, 3])
    """
    mask = array("extract", condition).ravel()
    return compress(mask, array("extract", arr).ravel(), size=size, fill_value=fill_value)


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    out: None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
) -> AnyTensor:
    """The slices along `axis` where the vector `condition` holds; of the flattened array if None.

    A shorter condition is false for the other slices. `size` as of `nonzero`.

    >>> tn.compress([False, True], [[1, 2], [3, 4]], axis=0)
    Tensor([[3, 4]])
    """
    refuse_out("compress", out)
    mask = vector("compress", condition) != 0
    x, place = along("compress", array("compress", a), axis)
    if mask.shape[0] != x.shape[place]:
        length = constant_size("compress", x, place)
        if constant_size("compress", mask, 0) > length:
            raise ShapeError(
                f"compress: condition {mask.meta} is longer than axis {place} of {x.meta}"
            )
        mask = with_zeros(mask, (0, length - mask.shape[0]))
    places, total = true_places("compress", mask, size)
    front: Any = moveaxis(x, place, 0)
    return moveaxis(trimmed(front[places], total, size, fill_value), 0, place)


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> AnyTensor:
    """Where each element of `v` would be inserted into the ascending vector `a` to keep the order.

    NaN counts as the largest.

    Args:
        a: a vector in ascending order.
        v: an array.
        side: before ("left") or behind ("right") equal elements.
        sorter: the indices that sort `a`, if it is not in order.
        method: has no effect on the result; as in JAX.

    Returns:
        int64 indices, of the shape of `v`.

    >>> tn.searchsorted([1, 3, 5], [3, 4])
    Tensor([1, 2])
    """
    option("searchsorted", "side", side, ("left", "right"))
    option("searchsorted", "method", method, ("scan", "scan_unrolled", "sort", "compare_all"))
    ordered, values = comparable("searchsorted", a, v)
    if ordered.ndim != 1:
        raise ShapeError(f"searchsorted: x1 must be a vector, got {ordered.meta}")
    if dtype_kind(ordered.dtype) == "c":
        raise DTypeError(f"searchsorted: takes real numbers, got {ordered.meta}")
    if sorter is not None:
        order = vector("searchsorted", sorter)
        misfit = f"searchsorted: x1 {ordered.meta} and sorter {order.meta}"
        if canonical(ordered.shape[0], order.shape[0]) is None:
            raise ShapeError(f"{misfit} must have equal sizes")
        assume_equal(ordered.shape[0], order.shape[0], misfit)
        ordered = take(ordered, order, mode="clip")
    length = ordered.shape[0]
    if isinstance(length, int) and length == 0:
        return zeros_like(values, "int64")
    if not isinstance(length, int) or length < _BINARY_SEARCH:
        before = _before(ordered, values[..., None], side)
        return reductions.sum(before.astype("int64"), axis=-1)
    places = "int32" if length < 2**30 else "int64"  # a sum of two of them is one too
    place: Any = zeros_like(values, places)
    step = 1 << (length.bit_length() - 1)
    while step:
        ahead = place + step
        element: Any = apply(indexing.index, ordered, ahead - 1, items=(...,), counted=(True,))
        place = elementwise.where((ahead <= length) & _before(element, values, side), ahead, place)
        step >>= 1
    return place.astype("int64")  # type: ignore[no-any-return]


def _before(element: Any, value: Any, side: str) -> Any:
    """Whether an element of the sorted array stands before a value."""
    before = element < value if side == "left" else element <= value
    if dtype_kind(element.dtype) != "f":
        return before
    largest = isnan(value)
    return before | (largest & ~isnan(element) if side == "left" else largest)


def lexsort(keys: ArrayLike | Sequence[ArrayLike], axis: int = -1) -> AnyTensor:
    """The indices that sort by several keys, of which the last is the most important.

    >>> tn.lexsort([[2, 1, 1], [0, 1, 0]])
    Tensor([2, 0, 1])
    """
    several = keys if isinstance(keys, tuple | list) else list(array("lexsort", keys))
    if not several:
        raise ShapeError("lexsort: needs at least one key")
    parts = broadcast_arrays(*[array("lexsort", key) for key in several])
    place = normal_axis("lexsort", axis, parts[0].ndim)
    order = argsort(parts[0], axis=place)
    for key in parts[1:]:
        ranked = argsort(take_along_axis(key, order, axis=place, mode="clip"), axis=place)
        order = take_along_axis(order, ranked, axis=place, mode="clip")
    return order


def sort_complex(a: ArrayLike) -> AnyTensor:
    """The numbers along the last axis in order of real parts, then of imaginary parts; complex.

    >>> tn.sort_complex([2.0, 1.0])
    Tensor([1.+0.j, 2.+0.j])
    """
    (x,) = promoted("sort_complex", a, inexact=True)
    if dtype_kind(x.dtype) != "c":
        return elementwise.complex(sort(x), 0.0)
    return take_along_axis(x, lexsort((imag(x), real(x))), axis=-1, mode="clip")


def partition(
    a: ArrayLike, kth: int, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> AnyTensor:
    """`a` with element `kth` along `axis` where sorting puts it, smaller ones before it.

    >>> tn.partition([3, 1, 2], 1)
    Tensor([1, 2, 3])
    """
    option("partition", "kind", kind, ("introselect",))
    option("partition", "order", order, (None,))
    x, place = along("partition", array("partition", a), axis)
    _check_kth("partition", x, place, kth)
    return sort_complex(x) if dtype_kind(x.dtype) == "c" else sort(x, axis=place)


def argpartition(
    a: ArrayLike, kth: int, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> AnyTensor:
    """The indices by which `partition` arranges `a`.

    >>> tn.argpartition([3, 1, 2], 1)
    Tensor([1, 2, 0])
    """
    option("argpartition", "kind", kind, ("introselect",))
    option("argpartition", "order", order, (None,))
    x, place = along("argpartition", array("argpartition", a), axis)
    _check_kth("argpartition", x, place, kth)
    return argsort(x, axis=place)


def _check_kth(name: str, x: Any, axis: int, kth: int) -> None:
    size = constant_size(name, x, axis)
    place = integer_of(kth)
    if place is None or not -size <= place < size:
        raise ShapeError(f"{name}: kth {kth!r} is not a place along axis {axis} of {x.meta}")


def trim_zeros(
    filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None
) -> AnyTensor:
    """An array without the zeros at its front ("f") and its back ("b") along axes; all if None.

    Raises:
        TracingError: `filt` is traced, so that the size of the result is not known.

    >>> tn.trim_zeros([0, 1, 0, 2, 0])
    Tensor([1, 0, 2])
    """
    a = array("trim_zeros", filt)
    option("trim_zeros", "trim", trim, ("fb", "bf", "f", "b"))
    known = numbers("trim_zeros", a, "use tn.compress with size=")
    axes = normal_axes("trim_zeros", axis, a.ndim)
    window: list[slice] = []
    for i, size in enumerate(known.shape):
        others = tuple(j for j in range(known.ndim) if j != i)
        places = np.flatnonzero((known != 0).any(axis=others)) if i in axes else np.arange(size)
        if not places.size:
            return a[tuple(slice(0) if j in axes else slice(None) for j in range(a.ndim))]  # type: ignore[no-any-return]
        start = int(places[0]) if "f" in trim else 0
        window.append(slice(start, int(places[-1]) + 1 if "b" in trim else size))
    return a[tuple(window)]  # type: ignore[no-any-return]
