"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenferro.arrays.elementwise import divide
from tenferro.arrays.operands import Operand, convert, normal_axes, promote, result_dtype
from tenferro.chainrules import Emitter, V
from tenferro.ops import BroadcastInDim, ReduceMax, ReduceMin, ReduceProd, ReduceSum, StdTensorOp
from tenferro.shape import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Dim,
    TensorMeta,
    is_inexact,
    product,
)

Axis = int | Sequence[int] | None
Reduction = Callable[[tuple[int, ...]], StdTensorOp]


def reduce(
    at: Emitter[V], name: str, op: Reduction, x: Operand[V], axis: Axis, keepdims: bool
) -> V:
    """The reduction over `axis` (None: all), whose axes stay with size 1 if `keepdims`."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    axes = normal_axes(name, axis, meta.rank)
    result = at.emit(op(axes), value)
    return _restore(at, result, meta, axes) if keepdims else result


def sum(at: Emitter[V], x: Operand[V], axis: Axis = None, keepdims: bool = False) -> V:
    """Sum; bools and small integers are counted in 64 bits."""
    return reduce(at, "sum", ReduceSum, _countable(at, x), axis, keepdims)


def prod(at: Emitter[V], x: Operand[V], axis: Axis = None, keepdims: bool = False) -> V:
    """Product; bools and small integers are counted in 64 bits."""
    return reduce(at, "prod", ReduceProd, _countable(at, x), axis, keepdims)


def max(at: Emitter[V], x: Operand[V], axis: Axis = None, keepdims: bool = False) -> V:
    """Largest element; NaN wins."""
    return reduce(at, "max", ReduceMax, x, axis, keepdims)


def min(at: Emitter[V], x: Operand[V], axis: Axis = None, keepdims: bool = False) -> V:
    """Smallest element; NaN wins."""
    return reduce(at, "min", ReduceMin, x, axis, keepdims)


def mean(at: Emitter[V], x: Operand[V], axis: Axis = None, keepdims: bool = False) -> V:
    """Sum over the number of elements; integers become float64."""
    given = result_dtype(at, (x,))
    dtype = given if is_inexact(given) else FLOAT64  # small ints would wrap
    (value,) = promote(at, (x,), FLOAT32 if dtype == FLOAT16 else dtype)  # and halves overflow
    meta: TensorMeta = at.ctx.meta(value)
    axes = normal_axes("mean", axis, meta.rank)
    count: Dim = product(meta.exact_shape("mean", "operand")[i] for i in axes)
    return convert(at, divide(at, sum(at, value, axes, keepdims), count), dtype)


def _countable(at: Emitter[V], x: Operand[V]) -> V:
    """The operand in the dtype that NumPy adds up in."""
    dtype = result_dtype(at, (x,))
    if dtype.kind in "bi":
        dtype = INT64
    elif dtype.kind == "u":
        dtype = UINT64
    return promote(at, (x,), dtype)[0]


def _restore(at: Emitter[V], result: V, meta: TensorMeta, axes: tuple[int, ...]) -> V:
    sizes = meta.exact_shape("keepdims", "operand")
    shape = tuple(1 if i in axes else size for i, size in enumerate(sizes))
    kept = tuple(i for i in range(meta.rank) if i not in axes)
    return at.emit(BroadcastInDim(shape, kept), result)
