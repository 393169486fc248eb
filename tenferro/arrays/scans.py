"""Cumulative sums and products, and differences of adjacent elements."""

from __future__ import annotations

from collections.abc import Callable

from tenferro.arrays.joining import window
from tenferro.arrays.logical import not_equal
from tenferro.arrays.operands import Operand, broadcast_to, normal_axis, promote, result_dtype
from tenferro.arrays.rearrange import concat, ravel
from tenferro.arrays.reductions import countable
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError
from tenferro.ops import SUB, CumulativeProd, CumulativeSum, StdTensorOp, full
from tenferro.shape import BOOL, TensorMeta, maximum, read_integer
from tenferro.typing import DTypeLike


def cumulative_sum(
    at: Emitter[V],
    x: Operand[V],
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> V:
    """Cumulative sums along `axis`; 0 comes first if `include_initial`.

    >>> tn.cumulative_sum([1, 2, 3])
    Tensor([1, 3, 6])
    """
    start = 0 if include_initial else None
    return _scan(at, "cumulative_sum", CumulativeSum, x, axis, dtype, start)


def cumulative_prod(
    at: Emitter[V],
    x: Operand[V],
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> V:
    """Cumulative products along `axis`; 1 comes first if `include_initial`.

    Its derivative is correct for factors of zero.

    >>> tn.cumulative_prod([1, 2, 3])
    Tensor([1, 2, 6])
    """
    start = 1 if include_initial else None
    return _scan(at, "cumulative_prod", CumulativeProd, x, axis, dtype, start)


def cumsum(
    at: Emitter[V], x: Operand[V], axis: int | None = None, dtype: DTypeLike | None = None
) -> V:
    """Cumulative sums along `axis`; of the flattened array if None.

    >>> tn.cumsum([[1, 2], [3, 4]])
    Tensor([ 1,  3,  6, 10])
    """
    value, along = _along_one_axis(at, x, axis)
    return _scan(at, "cumsum", CumulativeSum, value, along, dtype, None)


def cumprod(
    at: Emitter[V], x: Operand[V], axis: int | None = None, dtype: DTypeLike | None = None
) -> V:
    """Cumulative products along `axis`; of the flattened array if None.

    >>> tn.cumprod([[1, 2], [3, 4]])
    Tensor([ 1,  2,  6, 24])
    """
    value, along = _along_one_axis(at, x, axis)
    return _scan(at, "cumprod", CumulativeProd, value, along, dtype, None)


def _along_one_axis(at: Emitter[V], x: Operand[V], axis: int | None) -> tuple[V, int]:
    (value,) = promote(at, (x,))
    return (ravel(at, value), 0) if axis is None else (value, axis)


def _scan(
    at: Emitter[V],
    name: str,
    op: Callable[[int], StdTensorOp],
    x: Operand[V],
    axis: int | None,
    dtype: DTypeLike | None,
    start: int | None,
) -> V:
    value = countable(at, x, dtype)
    meta: TensorMeta = at.ctx.meta(value)
    if axis is None and meta.rank != 1:
        raise AxisError(f"{name}: {meta} does not have exactly one axis; pass axis=")
    along = normal_axis(name, 0 if axis is None else axis, meta.rank)
    result = at.emit(op(along), value)
    if start is None:
        return result
    shape = list(meta.exact_shape(name, "operand"))
    shape[along] = 1
    return concat(at, full(at, start, TensorMeta.of(meta.dtype, shape)), result, axis=along)


def diff(
    at: Emitter[V],
    x: Operand[V],
    *ends: Operand[V],
    before: int = 0,
    n: int = 1,
    axis: int = -1,
) -> V:
    """Each element minus the one before it, `n` times; for bools, whether the two differ.

    The first `before` of `ends` are put before the elements, the rest after them.
    """
    dtype = result_dtype(at, (x, *ends))
    (value,) = promote(at, (x,), dtype)
    along = normal_axis("diff", axis, at.ctx.meta(value).rank)
    n = read_integer("diff", "n", n, AxisError)
    if n < 0:
        raise AxisError(f"diff: n must not be negative, got {n}")
    if n and ends:
        pieces = [_end(at, value, end, along) for end in ends]
        value = concat(at, *pieces[:before], value, *pieces[before:], axis=along)
    for _ in range(n):
        size = at.ctx.meta(value).exact_shape("diff", "operand")[along]
        if size == 0:
            break
        rest = maximum(size - 1, 0)
        later, earlier = (
            window(at, value, along, start, start + rest) for start in (size - rest, 0)
        )
        value = not_equal(at, later, earlier) if dtype == BOOL else at.emit(SUB, later, earlier)
    return value


def _end(at: Emitter[V], value: V, end: Operand[V], axis: int) -> V:
    """The values to put before or after the elements; a number becomes an axis of size 1."""
    meta: TensorMeta = at.ctx.meta(value)
    (piece,) = promote(at, (end,), meta.dtype)
    if at.ctx.meta(piece).rank:
        return piece
    shape = list(meta.exact_shape("diff", "operand"))
    shape[axis] = 1
    return broadcast_to(at, piece, shape)
