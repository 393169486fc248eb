"""Array functions with data-dependent sizes."""

from __future__ import annotations

import numpy as np

from tenferro.arrays.operands import Operand, is_number, normal_axis, promote
from tenferro.chainrules import Emitter, V
from tenferro.ops import DynamicTruncate, PadToMatch, ShapeOf, Slice, size_of_scalar
from tenferro.shape import Dim, DimExpr, TensorMeta, minimum


def shape_of(at: Emitter[V], x: Operand[V], axis: int = 0) -> V:
    """The size of an axis as a value; for sizes that `x.shape` does not know while tracing.

    >>> tn.shape_of([[1, 2, 3], [4, 5, 6]], axis=1)
    Tensor(3)
    """
    (value,) = promote(at, (x,))
    rank = at.ctx.meta(value).rank
    return at.emit(ShapeOf(normal_axis("shape_of", axis, rank)), value)


def dynamic_truncate(at: Emitter[V], x: Operand[V], size: Operand[V], axis: int = 0) -> V:
    """The first `size` elements along an axis; `size` may be a computed value.

    `size` is rounded, half away from zero, and clamped between 0 and the size of the axis. While
    tracing, the size of the result is an upper bound unless `size` is known. Derivatives treat
    `size` as constant.

    Raises:
        RuntimeSizeError: the size is NaN or infinite.

    >>> scores = [0.9, 0.7, 0.2, 0.1]
    >>> tn.dynamic_truncate(scores, tn.sum(tn.array(scores) > 0.5))
    Tensor([0.9, 0.7])
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
    """x padded with zeros at the end of an axis, up to the size of that axis of `reference`.

    A larger x is returned unchanged. Only the shape of `reference` is read.

    >>> tn.pad_to_match([1, 2], [0, 0, 0, 0])
    Tensor([1, 2, 0, 0])
    """
    (value,), (like,) = promote(at, (x,)), promote(at, (reference,))
    index = normal_axis("pad_to_match", axis, at.ctx.meta(value).rank)
    return at.emit(PadToMatch(index), value, like)


def _first(at: Emitter[V], x: V, axis: int, count: Dim) -> V:
    sizes = at.ctx.meta(x).exact_shape("dynamic_truncate", "operand")
    limits = [minimum(count, size) if i == axis else size for i, size in enumerate(sizes)]
    return at.emit(Slice((0,) * len(sizes), tuple(limits), (1,) * len(sizes)), x)
