"""Matrices with a structure."""

from __future__ import annotations

from tenferro import dispatch
from tenferro.arrays import (
    Expression,
    Operand,
    apply,
    elementwise,
    expressions,
    indexing,
    joining,
    named,
    promote,
    rearrange,
)
from tenferro.chainrules import Emitter, V
from tenferro.errors import ShapeError
from tenferro.families.linalg import columns, rows
from tenferro.linalg.operands import same_batch
from tenferro.ops import Iota, full
from tenferro.shape import INT64, Dim, TensorMeta
from tenferro.typing import AnyTensor, ArrayLike


def block_diag(*arrays: ArrayLike) -> AnyTensor:
    """The matrices with the blocks on their diagonals, and zeros elsewhere.

    Args:
        arrays: blocks, of shape [..., m, n]; a vector is one row. Batch axes are broadcast.

    Raises:
        ShapeError: there is no array, or batch axes do not fit.

    >>> tn.linalg.block_diag([[1, 2]], [[3], [4]])
    Tensor([[1, 2, 0],
            [0, 0, 3],
            [0, 0, 4]])
    """
    return dispatch.apply(_block_diag, *arrays)


@named("block_diag")
def _block_diag(at: Emitter[V], *arrays: Operand[V]) -> V:
    """The matrices with the blocks on their diagonals; see `block_diag`."""
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
        parts.append(rearrange.pad(at, block, pad_width=border))
    return rearrange.concat(at, *parts, axis=-2)


def _total(sizes: list[Dim]) -> Dim:
    total: Dim = 0
    for size in sizes:
        total = total + size
    return total


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> AnyTensor:
    """The matrices with constant diagonals, of which c is the first column and r the first row.

    Args:
        c: columns, of shape [..., n].
        r: rows, of shape [..., m], of which the first element is not read; by default c.conj().

    Raises:
        ShapeError: an operand has no axis, or batch axes do not fit.

    >>> tn.linalg.toeplitz([1, 2, 3], [1, 4])
    Tensor([[1, 4],
            [2, 1],
            [3, 2]])
    """
    if r is None:
        return dispatch.apply(_hermitian_toeplitz, c)
    return dispatch.apply(_toeplitz, c, r)


@named("toeplitz")
def _toeplitz(at: Emitter[V], c: Operand[V], r: Operand[V]) -> V:
    """The matrices with constant diagonals; see `toeplitz`."""
    name = "toeplitz"
    column, row = promote(at, (c, r))
    for label, value in (("c", column), ("r", row)):
        if not at.ctx.meta(value).rank:
            raise ShapeError(f"{name}: {label} must have an axis, got {at.ctx.meta(value)}")
    lines = [rearrange.expand_dims(at, value, -2) for value in (column, row)]
    given = [at.ctx.meta(value) for value in (column, row)]
    lines = same_batch(at, name, *lines, given=given)
    lines = [rearrange.squeeze(at, line, -2) for line in lines]
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


@named("toeplitz")
def _hermitian_toeplitz(at: Emitter[V], c: Operand[V]) -> V:
    """The Hermitian matrices with first columns c."""
    return _toeplitz(at, c, elementwise.conj(at, c))
