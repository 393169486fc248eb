"""New arrays."""

from __future__ import annotations

from tenferro.arrays import Operand, rearrange
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import create
from tenferro.errors import DTypeError
from tenferro.namespace import creation
from tenferro.namespace.lax.operands import along
from tenferro.ops import BroadcastInDim, Iota
from tenferro.shape import Dim, as_dtype, dim
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike, Shape, Size


def full(shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """A new array whose every element is `fill_value`.

    >>> tn.lax.full((2,), 7)
    Tensor([7, 7])
    """
    return creation.full(shape, fill_value, dtype)


def full_like(
    x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Shape | None = None
) -> AnyTensor:
    """An array of the shape and the dtype of x, unless others are given, full of one number.

    >>> tn.lax.full_like(np.array([1, 2]), 9)
    Tensor([9, 9])
    """
    array = creation.asarray(x)
    return creation.full(
        array.shape if shape is None else shape,
        fill_value,
        array.dtype if dtype is None else dtype,
    )


def empty(shape: Shape, dtype: DTypeLike) -> AnyTensor:
    """A new array of zeros, never uninitialized.

    >>> tn.lax.empty((2,), "float64")
    Tensor([0., 0.])
    """
    return creation.zeros(shape, dtype)


def iota(dtype: DTypeLike, size: Size) -> AnyTensor:
    """0, 1, 2, … along one axis of `size`, which may be a name in a traced program.

    >>> tn.lax.iota("int32", 3)
    Tensor([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: DTypeLike, shape: Shape, dimension: int) -> AnyTensor:
    """0, 1, 2, … along one axis of a new array.

    >>> tn.lax.broadcasted_iota("int64", (2, 3), 1)
    Tensor([[0, 1, 2],
            [0, 1, 2]])
    """
    sizes: list[Dim] = [dim(size) for size in rearrange.sizes_of(shape)]
    element = as_dtype(dtype)
    if element.kind not in "iufc":
        raise DTypeError(f"iota: counts in numbers, not in {element}")
    place = along("broadcasted_iota", dimension, len(sizes))
    return create(_counted, 0, shape=tuple(sizes), dtype=element, place=place)


def _counted(at: Emitter[V], start: Operand[V], shape: Shape, dtype: DTypeLike, place: int) -> V:
    sizes = tuple(dim(size) for size in rearrange.sizes_of(shape))
    numbers = at.emit(Iota(as_dtype(dtype), sizes[place]))
    return numbers if len(sizes) == 1 else at.emit(BroadcastInDim(sizes, (place,)), numbers)


_counted.__name__ = "iota"
