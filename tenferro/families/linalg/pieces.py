"""Pieces of matrix formulas. ᴴ is the adjoint; a matrix is the last two axes of a value."""

from __future__ import annotations

from tenferro.arrays import Expression, apply, creation, elementwise, products, rearrange, repeated
from tenferro.ops import EmbedDiag, Gather, GatherDynamicSliceSizes, Pad, scalar
from tenferro.shape import Dim, Exact, InputDim, is_complex, symbol


def sym(x: Expression) -> Expression:
    """The Hermitian part, (x + xᴴ) / 2."""
    return (x + x.H) * 0.5


def skew(x: Expression) -> Expression:
    """The skew-Hermitian part, (x − xᴴ) / 2."""
    return (x - x.H) * 0.5


def tril(x: Expression, k: int = 0) -> Expression:
    """The part on and below diagonal k."""
    result: Expression = apply(rearrange.tril, x, k=k)
    return result


def triu(x: Expression, k: int = 0) -> Expression:
    """The part on and above diagonal k."""
    result: Expression = apply(rearrange.triu, x, k=k)
    return result


def diagonal(x: Expression) -> Expression:
    """The main diagonals, along the last axis."""
    result: Expression = apply(rearrange.diagonal, x, axis1=-2, axis2=-1)
    return result


def embedded(d: Expression) -> Expression:
    """The diagonal matrices with d, of shape [..., n], on their diagonals."""
    (result,) = d.emit_all(EmbedDiag(d.ndim - 1, d.ndim))
    return result


def real_part(x: Expression) -> Expression:
    """The real part, in the real dtype."""
    result: Expression = apply(elementwise.real, x)
    return result


def real(x: Expression) -> Expression:
    """The real part, in the dtype of x."""
    return real_part(x).astype(x.dtype)


def tril0(x: Expression) -> Expression:
    """The lower triangle with half of the real part of the diagonal."""
    if not is_complex(x.dtype):
        return (tril(x) + tril(x, -1)) * 0.5
    return tril(x, -1) + embedded(real(diagonal(x)) * 0.5)


def mirrored(x: Expression) -> Expression:
    """The Hermitian matrix with the upper triangle of x and the real part of its diagonal."""
    upper = triu(x, 1)
    if not is_complex(x.dtype):
        return triu(x) + upper.H
    return upper + upper.H + embedded(real(diagonal(x)))


def columns(d: Expression) -> Expression:
    """d, of shape [..., n], as [..., 1, n]: it scales columns."""
    result: Expression = apply(rearrange.expand_dims, d, axis=-2)
    return result


def rows(d: Expression) -> Expression:
    """d, of shape [..., n], as [..., n, 1]: it scales rows."""
    result: Expression = apply(rearrange.expand_dims, d, axis=-1)
    return result


def trace(x: Expression) -> Expression:
    """The sums of the diagonals, without the last two axes."""
    result: Expression = apply(products.trace, x, axis1=-2, axis2=-1)
    return result


def scaled(factor: Expression, x: Expression) -> Expression:
    """x, of shape [..., m, n], times one number for each matrix, of shape [...]."""
    return rows(rows(factor)) * x


def identity(like: Expression) -> Expression:
    """Identity matrices with the batch axes, rows and dtype of `like`."""
    extents = like.meta.extents
    n = like.shape[-2]
    one = creation.eye(like.emitter, 1, shape=(n, n), dtype=like.dtype)
    whole = repeated(like.emitter, "eye", one, (*extents[:-2], extents[-2], extents[-2]))
    return Expression(like.emitter, whole)


def padded(x: Expression, axis: int, before: Dim, after: Dim) -> Expression:
    """x with so many zeros before and after it along an axis; negative numbers cut off."""
    low: list[Dim] = [0] * x.ndim
    high: list[Dim] = [0] * x.ndim
    low[axis], high[axis] = before, after
    zero = Expression(x.emitter, x.emitter.emit(scalar(0, x.dtype)))
    (result,) = x.emit_all(Pad(tuple(low), tuple(high), (0,) * x.ndim), zero)
    return result


def picked_rows(x: Expression, places: Expression) -> Expression:
    """The rows of x, of shape [..., m, n], at integers of shape [..., k], all different."""
    rank = x.ndim
    columns = x.meta.extents[-1]
    known = isinstance(columns, Exact) and isinstance(columns.dim, int)
    size = columns.dim if known else symbol(InputDim(0, rank - 1))  # type: ignore[union-attr]
    batch = tuple(range(rank - 2))
    op = (Gather if known else GatherDynamicSliceSizes)(
        offset_dims=(rank - 1,),
        collapsed_slice_dims=(rank - 2,),
        start_index_map=(rank - 2,),
        index_vector_dim=rank - 1,
        slice_sizes=(*(1 for _ in batch), 1, size),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
        unique=True,
    )
    (result,) = x.emit_all(op, places)
    return result
