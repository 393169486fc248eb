"""Functions that select elements."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import normal_axis, sorting
from tenferro.dispatch import apply, apply_to_array
from tenferro.namespace.creation import asarray
from tenferro.runtime import Tensor
from tenferro.typing import AnyTensor, ArrayLike


def take(x: ArrayLike, indices: ArrayLike, axis: int | None = None) -> AnyTensor:
    """The elements of x at `indices` along `axis`; of the flattened array if None.

    Negative indices count from the end. Indices out of bounds are clamped.

    >>> tn.take([10, 20, 30], [2, 0, -1])
    Tensor([30, 10, 30])
    >>> tn.take([[1, 2], [3, 4]], 1, axis=1)
    Tensor([2, 4])
    """
    array = asarray(x)
    if axis is None:
        array, axis = array.ravel(), 0
    whole = (slice(None),) * normal_axis("take", axis, array.ndim)
    return array[(*whole, _indices(indices))]


def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int = -1) -> AnyTensor:
    """The elements of x at `indices` along `axis`; the other axes of `indices` are those of x.

    >>> x = tn.array([[30, 10, 20], [1, 3, 2]])
    >>> tn.take_along_axis(x, tn.argsort(x))
    Tensor([[10, 20, 30],
            [ 1,  2,  3]])
    """
    return apply(sorting.take_along_axis, asarray(x), _indices(indices), axis=axis)


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
