"""Factorizations, over an emitter."""

from __future__ import annotations

from tenferro.arrays import Expression, Operand
from tenferro.chainrules import Emitter, V
from tenferro.errors import ConfigError
from tenferro.families.linalg import Cholesky, Degeneracy, Eigh, reflections, tril
from tenferro.family import Extension
from tenferro.linalg.operands import square


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
    degeneracy.checked("eigh")
    if triangle not in (None, "L", "U"):
        raise ConfigError(f"eigh: UPLO must be 'L' or 'U', got {triangle!r}")
    a = Expression(at, square(at, "eigh", x))
    if triangle is not None or not symmetrize_input:
        a = hermitian(a.H if triangle == "U" else a)
    op = Extension(Eigh(degeneracy.mode, degeneracy.width))
    values, vectors = a.emit_all(op)
    if degeneracy.mode == "project":
        vectors = vectors @ reflections(degeneracy.same(values), vectors.dtype)
    return values.value, vectors.value


def eigvalsh(at: Emitter[V], x: Operand[V], /, *, triangle: str | None = None) -> V:
    """Eigenvalues; see `tn.linalg.eigvalsh`."""
    return eigh(at, x, triangle=triangle)[0]


def hermitian(a: Expression) -> Expression:
    """The Hermitian matrix with the lower triangle of a."""
    return tril(a) + tril(a, -1).H
