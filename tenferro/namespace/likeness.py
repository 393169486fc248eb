"""Arrays like other arrays: of their shape, in another dtype, or over their common grid."""

from __future__ import annotations

from typing import Literal

from tenferro.arrays import creation, elementwise, filling
from tenferro.dispatch import apply, apply_to_array
from tenferro.errors import ShapeError
from tenferro.namespace.creation import Device, asarray, on_device
from tenferro.shape import as_dtype
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device = None,
) -> AnyTensor:
    """An array of the shape of x whose every element is `fill_value`.

    >>> tn.full_like([1, 2], 9)
    Tensor([9, 9])
    """
    return on_device(apply(filling.full_like, x, fill_value, dtype=dtype), device)


def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """Zeros of the shape of x.

    >>> tn.zeros_like([1, 2])
    Tensor([0, 0])
    """
    return on_device(apply(filling.zeros_like, x, dtype=dtype), device)


def ones_like(x: ArrayLike, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """Ones of the shape of x.

    >>> tn.ones_like([1, 2])
    Tensor([1, 1])
    """
    return on_device(apply(filling.ones_like, x, dtype=dtype), device)


def empty_like(x: ArrayLike, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """An array of the shape of x; its elements are zeros, never uninitialized.

    >>> tn.empty_like([1, 2])
    Tensor([0, 0])
    """
    return on_device(apply(filling.empty_like, x, dtype=dtype), device)


def astype(
    x: ArrayLike, dtype: DTypeLike, *, copy: bool = True, device: Device = None
) -> AnyTensor:
    """x in another dtype; the conversion may lose information.

    An array cannot be changed, so `copy` says only whether an equal dtype gives a new object.

    >>> tn.astype([1.7, -1.7], "int64")
    Tensor([ 1, -1])
    """
    element = as_dtype(dtype)
    same = not copy and getattr(x, "dtype", None) == element
    array = asarray(x) if same else apply_to_array(elementwise.astype, x, dtype=element)
    return on_device(array, device)


def meshgrid(*arrays: ArrayLike, indexing: Literal["xy", "ij"] = "xy") -> tuple[AnyTensor, ...]:
    """For each vector, an array over the common grid that varies along one axis of the grid.

    Vector i varies along axis i, except that "xy" exchanges the first two axes.

    >>> tn.meshgrid([1, 2], [3, 4])[0]
    Tensor([[1, 2],
            [1, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [asarray(array) for array in arrays]
    axes, shape = creation.grid([vector.meta for vector in vectors], indexing)
    return tuple(
        apply(creation.on_grid, vector, axis=axis, shape=shape)
        for vector, axis in zip(vectors, axes, strict=True)
    )
