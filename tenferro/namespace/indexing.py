"""Functions that select elements."""

from __future__ import annotations

from typing import Any, Literal

from tenferro.arrays import bounds, elementwise, indexing, normal_axis, sorting
from tenferro.dispatch import apply, apply_to_array
from tenferro.errors import AxisError
from tenferro.namespace.creation import asarray
from tenferro.runtime import Tensor
from tenferro.typing import AnyTensor, ArrayLike


def take(
    x: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    *,
    mode: Literal["clip", "wrap", "fill"] | None = None,
) -> AnyTensor:
    """The elements of x at `indices` along `axis`; of the flattened array if None.

    Negative indices count from the end. Out of bounds, numbers and NumPy arrays are refused, and
    other arrays, whose values may be known late, read the nearest element.

    Args:
        x: the array.
        indices: integers of any shape.
        axis: the axis that the indices refer to.
        mode: what is read out of bounds instead: with "clip" the nearest element, negative indices
            being out of bounds; with "wrap" the elements repeated; with "fill" NaN, the smallest
            signed or the largest unsigned integer, or True.

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
    if mode is None:
        return array[(*whole, _indices(indices))]
    places, size = asarray(_indices(indices)).astype("int64"), array.shape[axis]
    match mode:
        case "clip":
            return array[(*whole, apply(elementwise.clamp, places, 0, size - 1))]
        case "wrap":
            return array[(*whole, apply(elementwise.remainder, places, size))]
        case "fill":
            inside = (places >= -size) & (places < size)
            mask = inside.reshape((*inside.shape, *(1,) * (array.ndim - axis - 1)))
            taken = array[(*whole, apply(elementwise.clamp, places, -size, size - 1))]
            return apply(elementwise.where, mask, taken, bounds.fill_of(array.dtype))
    raise AxisError(f"take: mode {mode!r} is not one of 'clip', 'wrap', 'fill'")


def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int = -1) -> AnyTensor:
    """The elements of x at `indices` along `axis`; the other axes of `indices` are those of x.

    >>> x = tn.array([[30, 10, 20], [1, 3, 2]])
    >>> tn.take_along_axis(x, tn.argsort(x))
    Tensor([[10, 20, 30],
            [ 1,  2,  3]])
    """
    array, places = asarray(x), _indices(indices)
    along = normal_axis("take_along_axis", axis, array.ndim)
    indexing.check_places("take_along_axis", places, along, array.meta)
    return apply(sorting.take_along_axis, array, places, axis=axis)


def top_k(x: ArrayLike, k: int) -> tuple[AnyTensor, AnyTensor]:
    """The k largest elements along the last axis of x, the largest first; and their indices.

    Equal elements keep their order. NaN counts as the largest.

    >>> tn.top_k([3.0, 1.0, 2.0], 2)
    (Tensor([3., 2.]), Tensor([0, 2]))
    """
    places = apply_to_array(sorting.top_places, x, k=k)
    return take_along_axis(x, places), places


def _indices(indices: Any) -> Any:
    """Indices as an array that follows the indexed array to its device and keeps its dtype."""
    if isinstance(indices, list | tuple):
        array = asarray(indices) if len(indices) else asarray(indices, dtype="int64")
        return array.numpy() if isinstance(array, Tensor) else array
    weak = getattr(indices, "weak", None) is not None
    return indices.astype(indices.dtype) if weak else indices
