"""Functions that select elements."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tenferro.errors import AxisError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Dim, Integers
from tenferro.namespace.creation import asarray
from tenferro.namespace.joining import concat
from tenferro.ops.functions import (
    apply,
    elementwise,
    indexing,
    manipulation,
    normal_axis,
    reductions,
    updates,
)
from tenferro.ops.functions import counts as counts_of
from tenferro.runtime import Tensor

__all__ = ["repeat", "take", "take_along_axis", "top_k"]

Mode = Literal["clip", "wrap", "fill"]


def take(
    x: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    *,
    mode: Mode | None = None,
    fill_value: complex | None = None,
) -> AnyTensor:
    """The elements of x at `indices` along `axis`; of the flattened array if None.

    Negative indices count from the end. Out of bounds, numbers and NumPy arrays are refused; other
    arrays, whose values may be known late, read `fill_value`, as in JAX.

    Args:
        x: the array.
        indices: integers of any shape.
        axis: the axis that the indices refer to.
        mode: what is read out of bounds: with "clip" the nearest element, negative indices being
            out of bounds; with "wrap" the elements repeated; with "fill" `fill_value`.
        fill_value: by default NaN, the smallest signed or the largest unsigned integer, or True.

    Raises:
        AxisError: an index that is a number or in a NumPy array is out of bounds, without `mode`.

    >>> tn.take([10, 20, 30], [2, 0, -1])
    Tensor([30, 10, 30])
    >>> tn.take([[1, 2], [3, 4]], 1, axis=1)
    Tensor([2, 4])
    >>> tn.take([10, 20, 30], [7, -7], mode="clip")
    Tensor([30, 10])
    >>> tn.take([1.0, 2.0], [0, 2], mode="fill")
    Tensor([ 1., nan])
    """
    array = asarray(x)
    if axis is None:
        array, axis = array.ravel(), 0
    axis = normal_axis("take", axis, array.ndim)
    whole: tuple[Any, ...] = (slice(None),) * axis
    places: Any = _indices(indices)
    if getattr(places, "dtype", None) == np.bool_ or isinstance(places, bool):
        raise DTypeError("take: indices must be integers, got bools; select by a mask with x[mask]")
    known = _mode("take", mode, places)
    if known is None:
        return array[(*whole, places)]
    if known == "clip":
        return array[(*whole, apply(elementwise.clamp, asarray(places), 0, array.shape[axis] - 1))]
    return array.at[(*whole, places)].get(mode=known, fill_value=fill_value)


def take_along_axis(
    x: ArrayLike,
    indices: ArrayLike,
    axis: int = -1,
    *,
    mode: Mode | None = None,
    fill_value: complex | None = None,
) -> AnyTensor:
    """The elements of x at `indices` along `axis`; the other axes of `indices` are those of x.

    What is out of bounds is refused or read as by `take`, with the same `mode` and `fill_value`.
    Negative indices count from the end, with "clip" too.

    >>> x = tn.array([[30, 10, 20], [1, 3, 2]])
    >>> tn.take_along_axis(x, tn.argsort(x))
    Tensor([[10, 20, 30],
            [ 1,  2,  3]])
    """
    array, places = asarray(x), _indices(indices)
    if not hasattr(places, "shape"):
        raise ShapeError(f"take_along_axis: indices must be an array of integers, got {indices!r}")
    along = normal_axis("take_along_axis", axis, array.ndim)
    known = _mode("take_along_axis", mode, places)
    if known is None:
        indexing.check_places("take_along_axis", places, along, array.meta)
    fill = updates.fill_number("take_along_axis", fill_value, array.dtype)
    return apply(reductions.take_along_axis, array, places, axis=axis, mode=known, fill_value=fill)


def _mode(name: str, mode: Mode | None, indices: Any) -> Mode | None:
    """What is read out of bounds; None if indices are checked.

    Raises:
        AxisError: there is no such mode.
    """
    if mode not in (None, "clip", "wrap", "fill"):
        raise AxisError(f"{name}: mode {mode!r} is not one of 'clip', 'wrap', 'fill'")
    unchecked = hasattr(indices, "meta")  # a tensor, whose values may be known late
    return "fill" if mode is None and unchecked else mode


def repeat(x: ArrayLike, repeats: Integers | Dim, axis: int | None = None) -> AnyTensor:
    """Each element along `axis` repeated `repeats` times; of the flattened array if None.

    Args:
        x: the array.
        repeats: one count, or one for each element along the axis, which must be known.
        axis: the axis.

    >>> tn.repeat([1, 2], 2)
    Tensor([1, 1, 2, 2])
    >>> tn.repeat([1, 2], [1, 3])
    Tensor([1, 2, 2, 2])
    """
    counts = counts_of("repeat", "the counts", repeats)
    if any(isinstance(count, int) and count < 0 for count in counts):
        raise ShapeError(f"repeat: counts must not be negative, got {counts}")
    if len(counts) == 1:
        return apply(manipulation.repeat, x, count=counts[0], axis=axis)
    array = asarray(x)
    if axis is None:
        array, axis = array.ravel(), 0
    along = normal_axis("repeat", axis, array.ndim)
    if array.shape[along] != len(counts):
        raise ShapeError(
            f"repeat: got {len(counts)} counts for axis {along} of {array.meta}, which has size "
            f"{array.shape[along]}; pass one count, or one for each element"
        )
    before: tuple[Any, ...] = (slice(None),) * along
    if not all(isinstance(count, int) for count in counts):
        parts = [array[(*before, slice(place, place + 1))] for place in range(len(counts))]
        return concat(
            [repeat(part, count, along) for part, count in zip(parts, counts, strict=True)], along
        )
    numbers = [int(count) for count in counts]
    return array[(*before, np.repeat(np.arange(len(counts)), numbers))]


def top_k(x: ArrayLike, k: int) -> tuple[AnyTensor, AnyTensor]:
    """The k largest elements along the last axis of x, the largest first; and their indices.

    Equal elements keep their order. NaN counts as the largest.

    >>> tn.top_k([3.0, 1.0, 2.0], 2)
    (Tensor([3., 2.]), Tensor([0, 2]))
    """
    places: AnyTensor = apply(reductions.top_places, x, k=k)
    return take_along_axis(x, places, mode="clip"), places


def _indices(indices: Any) -> Any:
    """Indices as an array that follows the indexed array to its device and keeps its dtype."""
    if isinstance(indices, list | tuple):
        array = asarray(indices) if len(indices) else asarray(indices, dtype="int64")
        return array.numpy() if isinstance(array, Tensor) else array
    weak = getattr(indices, "weak", None) is not None
    return indices.astype(indices.dtype) if weak else indices
