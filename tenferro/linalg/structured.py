"""Matrices with a structure, over an emitter."""

from __future__ import annotations

from tenferro.arrays import (
    Expression,
    Operand,
    apply,
    elementwise,
    expressions,
    indexing,
    joining,
    promote,
    rearrange,
)
from tenferro.chainrules import Emitter, V
from tenferro.errors import DTypeError, ShapeError
from tenferro.families.linalg import columns, embedded, rows
from tenferro.family import sizes_differ
from tenferro.linalg import factors
from tenferro.linalg.operands import floating, same_batch
from tenferro.ops import Iota, full
from tenferro.shape import INT64, Dim, TensorMeta, is_complex


def eigh_tridiagonal(at: Emitter[V], d: Operand[V], e: Operand[V]) -> tuple[V, V]:
    """Eigenvalues and eigenvectors; see `tn.linalg.eigh_tridiagonal`."""
    name = "eigh_tridiagonal"
    main, off = expressions(at, floating(at, name, d, e))
    metas = (main.meta, off.meta)
    if is_complex(main.dtype):
        raise DTypeError(f"{name}: takes real d and e, got {metas[0]} and {metas[1]}")
    if 0 in (main.ndim, off.ndim):
        raise ShapeError(f"{name}: d and e must have an axis, got {metas[0]} and {metas[1]}")
    if sizes_differ(off.shape[-1] + 1, main.shape[-1]):
        raise ShapeError(f"{name}: e must be shorter by one than d, got d {metas[0]}, e {metas[1]}")
    beside = embedded(off)
    widths = [(0, 0)] * (off.ndim - 1)
    below = apply(rearrange.pad, beside, pad_width=[*widths, (1, 0), (0, 1)])
    return factors.eigh(at, (embedded(main) + below + below.mT).value)


def block_diag(at: Emitter[V], *arrays: Operand[V]) -> V:
    """The matrices with the blocks on their diagonals; see `tn.linalg.block_diag`."""
    name = "block_diag"
    if not arrays:
        raise ShapeError(f"{name}: needs at least one array, got none")
    blocks = [joining.at_least(at, value, 2) for value in promote(at, arrays)]
    blocks = same_batch(at, name, *blocks)
    widths: list[Dim] = [at.ctx.meta(block).exact_shape(name)[-1] for block in blocks]
    parts = []
    for number, block in enumerate(blocks):
        before, after = _total(widths[:number]), _total(widths[number + 1 :])
        meta: TensorMeta = at.ctx.meta(block)
        border = [*[(0, 0)] * (meta.rank - 1), (before, after)]
        parts.append(rearrange.pad(at, block, border))
    return rearrange.concat(at, *parts, axis=-2)


def _total(sizes: list[Dim]) -> Dim:
    total: Dim = 0
    for size in sizes:
        total = total + size
    return total


def toeplitz(at: Emitter[V], c: Operand[V], r: Operand[V]) -> V:
    """The matrices with constant diagonals; see `tn.linalg.toeplitz`."""
    name = "toeplitz"
    column, row = promote(at, (c, r))
    for label, value in (("c", column), ("r", row)):
        if not at.ctx.meta(value).rank:
            raise ShapeError(f"{name}: {label} must have an axis, got {at.ctx.meta(value)}")
    lines = [rearrange.expand_dims(at, value, -2) for value in (column, row)]
    lines = [rearrange.squeeze(at, line, -2) for line in same_batch(at, name, *lines)]
    first, top = expressions(at, lines)
    n, m = first.shape[-1], top.shape[-1]
    if 0 in (n, m):
        return full(at, 0, TensorMeta.of(first.dtype, (*first.shape, m)))
    along = apply(rearrange.concat, apply(rearrange.flip, first, axis=-1), top[..., 1:], axis=-1)
    down, right = (Expression(at, at.emit(Iota(INT64, size))) for size in (n, m))
    places = rows(apply(rearrange.flip, down)) + columns(right)
    axis = along.ndim - 1
    at_places = indexing.Places((axis,), axis)
    result: V = indexing.gather(at, along.value, at_places, [places.value], [True])
    return result


def hermitian_toeplitz(at: Emitter[V], c: Operand[V]) -> V:
    """The Hermitian matrices with first columns c."""
    return toeplitz(at, c, elementwise.conj(at, c))
