"""Pieces of matrix formulas. ᴴ is the adjoint; a matrix is the last two axes of a value."""

from __future__ import annotations

from tenferro.arrays import Expression, apply, elementwise, rearrange
from tenferro.ops import EmbedDiag


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
    return tril(x, -1) + embedded(real(diagonal(x)) * 0.5)


def copyltu(x: Expression) -> Expression:
    """The Hermitian matrix with the lower triangle of x and the real part of its diagonal."""
    lower = tril(x, -1)
    return lower + lower.H + embedded(real(diagonal(x)))


def columns(d: Expression) -> Expression:
    """d, of shape [..., n], as [..., 1, n]: it scales columns."""
    result: Expression = apply(rearrange.expand_dims, d, axis=-2)
    return result


def rows(d: Expression) -> Expression:
    """d, of shape [..., n], as [..., n, 1]: it scales rows."""
    result: Expression = apply(rearrange.expand_dims, d, axis=-1)
    return result
