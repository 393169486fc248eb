"""Factorizations, over an emitter."""

from __future__ import annotations

from tenferro.arrays import Expression, Operand, apply, elementwise, sorting
from tenferro.chainrules import Emitter, V
from tenferro.errors import ConfigError
from tenferro.families.linalg import (
    Cholesky,
    Degeneracy,
    Eigh,
    Qr,
    Svd,
    columns,
    generic_bases,
    reflections,
    rows,
    signs,
    tril,
)
from tenferro.family import Extension
from tenferro.linalg.operands import matrix, square
from tenferro.ops import Iota
from tenferro.shape import INT64


def cholesky(
    at: Emitter[V], x: Operand[V], /, *, upper: bool = False, symmetrize_input: bool = True
) -> V:
    """The lower triangular L with L Lᴴ = x, for Hermitian positive definite x.

    The result is NaN for each matrix that is not positive definite.

    Args:
        x: matrices, of shape [..., n, n].
        upper: return the upper triangular U = Lᴴ instead.
        symmetrize_input: read (x + xᴴ) / 2, so that gradients are Hermitian. Otherwise only one
            triangle is read, the lower one, or the upper one if `upper`.

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    Tensor([[2., 0.],
            [1., 2.]])
    """
    a = Expression(at, square(at, "cholesky", x))
    if not symmetrize_input:
        read = a.H if upper else a
        a = hermitian(read)
    (lower,) = a.emit_all(Extension(Cholesky()))
    return (lower.H if upper else lower).value  # type: ignore[no-any-return]


def eigh(
    at: Emitter[V],
    x: Operand[V],
    /,
    *,
    triangle: str | None = None,
    symmetrize_input: bool = True,
    degeneracy: Degeneracy = Degeneracy(),  # noqa: B008  # immutable
) -> tuple[V, V]:
    """Eigenvalues and eigenvectors; see `tn.linalg.eigh`."""
    a = _triangle(at, "eigh", x, triangle, symmetrize_input)
    op = Extension(Eigh(degeneracy.mode, degeneracy.width))
    values, vectors = a.emit_all(op)
    if degeneracy.mode == "project":
        vectors = vectors @ reflections(degeneracy.same(values), vectors.dtype)
    return values.value, vectors.value


def eigvalsh(at: Emitter[V], x: Operand[V], /, *, triangle: str | None = None) -> V:
    """Eigenvalues; see `tn.linalg.eigvalsh`."""
    a = _triangle(at, "eigvalsh", x, triangle, symmetrize_input=True)
    return a.emit_all(Extension(Eigh()))[0].value  # type: ignore[no-any-return]


def _triangle(
    at: Emitter[V], name: str, x: Operand[V], triangle: str | None, symmetrize_input: bool
) -> Expression:
    """The Hermitian matrix whose eigenvalues are asked for, or one that stands for it."""
    if triangle not in (None, "L", "U"):
        raise ConfigError(f"{name}: UPLO must be 'L' or 'U', got {triangle!r}")
    a = Expression(at, square(at, name, x))
    if triangle is None and symmetrize_input:
        return a
    return hermitian(a.H if triangle == "U" else a)


def svd(
    at: Emitter[V],
    x: Operand[V],
    /,
    *,
    full_matrices: bool = True,
    degeneracy: Degeneracy = Degeneracy(),  # noqa: B008  # immutable
) -> tuple[V, V, V]:
    """U, the singular values, and Vᴴ; see `tn.linalg.svd`."""
    a = Expression(at, matrix(at, "svd", x))
    op = Extension(Svd(full_matrices, degeneracy.mode, degeneracy.width))
    s, u, vh = a.emit_all(op)
    if degeneracy.mode == "project" and s.shape[-1] != 0:
        u, v = generic_bases(degeneracy, s, u, vh.H)
        vh = v.H
    return u.value, s.value, vh.value


def svdvals(at: Emitter[V], x: Operand[V], /) -> V:
    """Singular values, descending.

    The gradient is NaN for a loss that depends on single ones of equal values, or on a value that
    is 0, where it has no derivative.

    Args:
        x: matrices, of shape [..., m, n].

    Raises:
        ShapeError: x has fewer than two axes.
        DTypeError: x is of half precision.

    >>> tn.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]])
    Tensor([2., 1.])
    """
    a = Expression(at, matrix(at, "svdvals", x))
    return a.emit_all(Extension(Svd()))[0].value  # type: ignore[no-any-return]


MODES = ("reduced", "complete", "r")


def qr(
    at: Emitter[V], x: Operand[V], /, *, mode: str = "reduced", positive: bool = False
) -> tuple[V, V]:
    """Q and R; see `tn.linalg.qr`."""
    if mode not in MODES:
        raise ConfigError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    a = Expression(at, matrix(at, "qr", x))
    r, q = a.emit_all(Extension(Qr("reduced" if mode == "r" else mode)))
    if positive:
        sign = signs(r)
        q, r = q * columns(sign), r * rows(sign)
    return q.value, r.value


def qr_r(at: Emitter[V], x: Operand[V], /, *, positive: bool = False) -> V:
    """R alone; see `tn.linalg.qr`."""
    return qr(at, x, mode="r", positive=positive)[1]


def hermitian(a: Expression) -> Expression:
    """The Hermitian matrix with the lower triangle of a."""
    return tril(a) + tril(a, -1).H


def fix_phases(at: Emitter[V], v: Operand[V], /) -> V:
    """The columns of v, each multiplied by the phase that makes its largest entry real positive.

    A loss of eigenvectors or singular vectors so fixed has a derivative, although their phases are
    arbitrary. A column of zeros is returned as it is.

    Args:
        v: matrices, of shape [..., m, n].

    Raises:
        ShapeError: v has fewer than two axes.
        DTypeError: v is of half precision.

    >>> tn.linalg.fix_phases([[1.0, 0.6], [-2.0, 0.8]])
    Tensor([[-1. ,  0.6],
            [ 2. ,  0.8]])
    """
    x = Expression(at, matrix(at, "fix_phases", v))
    if 0 in x.shape:
        return x.value  # type: ignore[no-any-return]
    place = apply(sorting.argmax, apply(elementwise.abs, x), axis=-2, keepdims=True)
    index = rows(Expression(at, at.emit(Iota(INT64, x.shape[-2]))))
    entry = apply(elementwise.where, index == place, x, 0.0).sum(axis=-2, keepdims=True)
    phase = apply(elementwise.sign, apply(elementwise.where, entry == 0, 1.0, entry))
    return (x * phase.conj()).value  # type: ignore[no-any-return]
