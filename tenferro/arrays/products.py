"""Matrix and tensor products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.arrays.elementwise import multiply
from tenferro.arrays.operands import Operand, broadcast_shape, broadcast_to, normal_axis, promote
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError, ShapeError
from tenferro.ops import DotGeneral, Reshape
from tenferro.shape import Dim, TensorMeta

Axes = int | tuple[int | Sequence[int], int | Sequence[int]]


def matmul(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """Matrix product of the last two axes, leading ones broadcast.

    One-axis operands as in NumPy.
    """
    left, right = promote(at, (x, y))
    lhs, rhs = at.ctx.meta(left), at.ctx.meta(right)
    if lhs.rank == 0 or rhs.rank == 0:
        raise ShapeError(f"matmul: operands {lhs} and {rhs} must have at least one axis")
    if lhs.rank <= 2 and rhs.rank <= 2:
        return at.emit(
            _checked(DotGeneral((lhs.rank - 1,), (max(rhs.rank - 2, 0),)), lhs, rhs), left, right
        )
    if rhs.rank == 1:
        return at.emit(_checked(DotGeneral((lhs.rank - 1,), (0,)), lhs, rhs), left, right)
    if lhs.rank == 1:
        return _vector_matrices(at, left, right)
    batch = broadcast_shape("matmul", [_leading(lhs), _leading(rhs)])
    left = broadcast_to(at, left, (*batch, *lhs.exact_shape("matmul", "lhs")[-2:]))
    right = broadcast_to(at, right, (*batch, *rhs.exact_shape("matmul", "rhs")[-2:]))
    n = len(batch)
    return at.emit(DotGeneral((n + 1,), (n,), tuple(range(n)), tuple(range(n))), left, right)


def tensordot(at: Emitter[V], x: Operand[V], y: Operand[V], axes: Axes = 2) -> V:
    """Contraction over `axes`: how many, or which of x with which of y."""
    left, right = promote(at, (x, y))
    ranks = at.ctx.meta(left).rank, at.ctx.meta(right).rank
    if isinstance(axes, int | np.integer):
        if not 0 <= axes <= min(ranks):
            raise AxisError(
                f"tensordot: cannot contract {axes} axes of ranks {ranks[0]} and {ranks[1]}"
            )
        count = int(axes)
        lhs: Sequence[int] = range(ranks[0] - count, ranks[0])
        rhs: Sequence[int] = range(count)
    elif isinstance(axes, tuple | list) and len(axes) == 2:
        lhs, rhs = (one if isinstance(one, tuple | list) else (one,) for one in axes)
    else:
        raise AxisError(f"tensordot: axes must be a number or a pair of lists, got {axes!r}")
    if len(lhs) != len(rhs):
        raise AxisError(f"tensordot: {len(lhs)} axes of x for {len(rhs)} axes of y")
    dot = DotGeneral(
        tuple(normal_axis("tensordot", axis, ranks[0]) for axis in lhs),
        tuple(normal_axis("tensordot", axis, ranks[1]) for axis in rhs),
    )
    return at.emit(dot, left, right)


def outer(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """All products of elements of two vectors."""
    left, right = promote(at, (x, y))
    for meta in (at.ctx.meta(left), at.ctx.meta(right)):
        if meta.rank != 1:
            raise ShapeError(f"outer: operands must have one axis, got {meta}")
    size = at.ctx.meta(left).exact_shape("outer", "operand")[0]
    column = at.emit(Reshape((size, 1)), left)
    return multiply(at, column, right)


def dot(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """NumPy's dot.

    The last axis of x with the last but one of y; a product where either is a scalar.
    """
    left, right = promote(at, (x, y))
    ranks = at.ctx.meta(left).rank, at.ctx.meta(right).rank
    if 0 in ranks:
        return multiply(at, left, right)
    return at.emit(DotGeneral((ranks[0] - 1,), (max(ranks[1] - 2, 0),)), left, right)


def _checked(op: DotGeneral, lhs: TensorMeta, rhs: TensorMeta) -> DotGeneral:
    i, j = op.lhs_contract[0], op.rhs_contract[0]
    a, b = lhs.extents[i], rhs.extents[j]
    if a != b:
        raise ShapeError(
            f"matmul: axis {i} of {lhs} and axis {j} of {rhs} are contracted but have sizes "
            f"{a} and {b}"
        )
    return op


def _leading(meta: TensorMeta) -> TensorMeta:
    return meta.with_extents(meta.extents[:-2])


def _vector_matrices(at: Emitter[V], vector: V, matrices: V) -> V:
    sizes: tuple[Dim, ...] = at.ctx.meta(vector).exact_shape("matmul", "lhs")
    row = at.emit(Reshape((1, *sizes)), vector)
    product = matmul(at, row, matrices)
    shape = at.ctx.meta(product).exact_shape("matmul", "result")
    return at.emit(Reshape((*shape[:-2], shape[-1])), product)
