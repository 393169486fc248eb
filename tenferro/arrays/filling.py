"""Arrays whose elements are all one number."""

from __future__ import annotations

from tenferro.arrays.broadcasting import broadcast_to, repeated
from tenferro.arrays.operands import Operand, named, promote, result_dtype
from tenferro.arrays.rearrange import sizes_of
from tenferro.chainrules import Emitter, V
from tenferro.shape import DType, TensorMeta, as_dtype
from tenferro.typing import DTypeLike, Shape


@named("full")
def filled(at: Emitter[V], value: Operand[V], shape: Shape, dtype: DType | None = None) -> V:
    """A new array whose every element is `value`."""
    sizes = sizes_of(shape)
    dtype = result_dtype(at, (value,)) if dtype is None else dtype
    (number,) = promote(at, (value,), dtype)
    return broadcast_to(at, number, TensorMeta.of(dtype, sizes).exact_shape())


@named("zeros")
def zeros(at: Emitter[V], shape: Shape, dtype: DType) -> V:
    """A new array of zeros."""
    return filled(at, 0, shape, dtype)


@named("ones")
def ones(at: Emitter[V], shape: Shape, dtype: DType) -> V:
    """A new array of ones."""
    return filled(at, 1, shape, dtype)


@named("empty")
def empty(at: Emitter[V], shape: Shape, dtype: DType) -> V:
    """A new array of any values: zeros."""
    return filled(at, 0, shape, dtype)


def full_like(
    at: Emitter[V], x: Operand[V], fill_value: Operand[V], dtype: DTypeLike | None = None
) -> V:
    """An array of the shape of x whose every element is `fill_value`.

    >>> tn.full_like([1, 2], 9)
    Tensor([9, 9])
    """
    (like,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(like)
    (element,) = promote(at, (fill_value,), meta.dtype if dtype is None else as_dtype(dtype))
    return repeated(at, "full_like", element, meta.extents)


def zeros_like(at: Emitter[V], x: Operand[V], dtype: DTypeLike | None = None) -> V:
    """Zeros of the shape of x.

    >>> tn.zeros_like([1, 2])
    Tensor([0, 0])
    """
    return full_like(at, x, 0, dtype)


def ones_like(at: Emitter[V], x: Operand[V], dtype: DTypeLike | None = None) -> V:
    """Ones of the shape of x.

    >>> tn.ones_like([1, 2])
    Tensor([1, 1])
    """
    return full_like(at, x, 1, dtype)


def empty_like(at: Emitter[V], x: Operand[V], dtype: DTypeLike | None = None) -> V:
    """An array of the shape of x; its elements are zeros, never uninitialized.

    >>> tn.empty_like([1, 2])
    Tensor([0, 0])
    """
    return zeros_like(at, x, dtype)
