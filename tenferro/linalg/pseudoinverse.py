"""Pseudoinverses, least squares and ranks, over an emitter."""

from __future__ import annotations

import numpy as np

from tenferro.arrays import Expression, Operand, apply, rearrange
from tenferro.chainrules import Emitter, V
from tenferro.errors import ShapeError
from tenferro.families.linalg import Pinv, Svd, check_matrix, rows, sym
from tenferro.family import Extension, sizes_differ
from tenferro.linalg.operands import floating, matrix, same_batch, square
from tenferro.shape import TensorMeta


def pinv(
    at: Emitter[V], x: Operand[V], /, *, rtol: float | None = None, hermitian: bool = False
) -> V:
    """The pseudoinverse of x, for matrices of any rank.

    Its derivatives are those along matrices of equal rank, and exact where singular values are
    equal.

    Args:
        x: matrices, of shape [..., m, n].
        rtol: singular values up to this, relative to the largest, count as zero; by default the
            rounding error of the dtype times the larger of m and n.
        hermitian: read (x + xᴴ) / 2.

    Raises:
        ShapeError: x has fewer than two axes, or is hermitian but not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.pinv([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    Tensor([[0.5 , 0.  , 0.  ],
            [0.  , 0.  , 0.25]])
    """
    if hermitian:
        a = sym(Expression(at, square(at, "pinv", x)))
    else:
        a = Expression(at, matrix(at, "pinv", x))
    return a.emit_all(Extension(Pinv(rtol)))[0].value  # type: ignore[no-any-return]


def matrix_rank(
    at: Emitter[V], x: Operand[V], /, tol: float | None = None, *, rtol: float | None = None
) -> V:
    """The number of singular values above a threshold, as int64.

    Args:
        x: matrices, of shape [..., m, n].
        tol: the threshold.
        rtol: the threshold relative to the largest singular value; by default the rounding error
            of the dtype times the larger of m and n.

    Raises:
        ShapeError: x has fewer than two axes.
        DTypeError: x is of half precision.

    >>> tn.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    Tensor(1)
    """
    a = Expression(at, matrix(at, "matrix_rank", x))
    (s,) = a.emit_all(Extension(Svd(vectors=False)))
    return _rank(a, s, tol, rtol).value  # type: ignore[no-any-return]


def _rank(a: Expression, s: Expression, tol: float | None, rtol: float | None) -> Expression:
    """How many singular values of a are above the threshold."""
    if tol is not None:
        return (s > tol).astype("int64").sum(axis=-1)
    if s.shape[-1] == 0:
        return s.astype("int64").sum(axis=-1)
    largest = s.max(axis=-1, keepdims=True)
    if rtol is not None:
        return (s > largest * rtol).astype("int64").sum(axis=-1)
    eps = float(np.finfo(s.dtype).eps)
    m, n = a.shape[-2:]
    above = (s > largest * eps * m) & (s > largest * eps * n)
    return above.astype("int64").sum(axis=-1)


def lstsq(
    at: Emitter[V], a: Operand[V], b: Operand[V], /, *, rcond: float | None = None
) -> tuple[V, V, V, V]:
    """The solution, its residuals, the rank and the singular values; see `tn.linalg.lstsq`."""
    lhs, rhs = floating(at, "lstsq", a, b)
    left: TensorMeta = at.ctx.meta(lhs)
    right: TensorMeta = at.ctx.meta(rhs)
    _, m, _ = check_matrix("lstsq", left.dtype, left.exact_shape("lstsq", "a"))
    if not right.rank:
        raise ShapeError(f"lstsq: the right side must have an axis, got {right}")
    axis = -1 if right.rank == 1 else -2
    size = right.exact_shape("lstsq", "b")[axis]
    if sizes_differ(m, size):
        raise ShapeError(
            f"lstsq: lhs {left} and rhs {right} differ in rows (axis {axis}: {m} and {size})"
        )
    x0 = Expression(at, lhs)
    (s,) = x0.emit_all(Extension(Svd(vectors=False)))
    rank = _rank(x0, s, None, rcond)
    y = Expression(at, rhs)
    vector = right.rank == 1
    wide = rows(y) if vector else y
    lhs, rhs = same_batch(at, "lstsq", lhs, wide.value)
    matrices, sides = Expression(at, lhs), Expression(at, rhs)
    (inverse,) = matrices.emit_all(Extension(Pinv(rcond)))
    x = inverse @ sides
    rest = sides - matrices @ x
    residuals = (rest.conj() * rest).real.sum(axis=-2)
    if vector:
        x = apply(rearrange.squeeze, x, axis=-1)
    return x.value, residuals.value, rank.value, s.value
