"""Array functions of which data decide sizes."""

from __future__ import annotations

import numpy as np

from tenferro.arrays.operands import Operand, is_number, normal_axis, promote
from tenferro.chainrules import Emitter, V
from tenferro.ops import DynamicTruncate, PadToMatch, ShapeOf, Slice, size_of_scalar
from tenferro.shape import Dim, DimExpr, TensorMeta, minimum


def shape_of(at: Emitter[V], x: Operand[V], axis: int = 0) -> V:
    """The size of an axis, as a value."""
    (value,) = promote(at, (x,))
    rank = at.ctx.meta(value).rank
    return at.emit(ShapeOf(normal_axis("shape_of", axis, rank)), value)


def dynamic_truncate(at: Emitter[V], x: Operand[V], size: Operand[V], axis: int = 0) -> V:
    """The first elements along an axis, as many as `size` says.

    A size that is known while tracing gives an exact extent, others an upper bound.
    """
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    index = normal_axis("dynamic_truncate", axis, meta.rank)
    if isinstance(size, DimExpr) or is_number(size):
        count: Dim = size if isinstance(size, DimExpr) else size_of_scalar(np.asarray(size))
        if meta.dims is not None:
            return _first(at, value, index, count)
    count_value = promote(at, (size,))[0]
    return at.emit(DynamicTruncate(index), value, count_value)


def pad_to_match(at: Emitter[V], x: Operand[V], reference: Operand[V], axis: int = 0) -> V:
    """x with zeros after it along an axis, up to the extent of `reference`."""
    (value,), (like,) = promote(at, (x,)), promote(at, (reference,))
    index = normal_axis("pad_to_match", axis, at.ctx.meta(value).rank)
    return at.emit(PadToMatch(index), value, like)


def _first(at: Emitter[V], x: V, axis: int, count: Dim) -> V:
    sizes = at.ctx.meta(x).exact_shape("dynamic_truncate", "operand")
    limits = [minimum(count, size) if i == axis else size for i, size in enumerate(sizes)]
    return at.emit(Slice((0,) * len(sizes), tuple(limits), (1,) * len(sizes)), x)
