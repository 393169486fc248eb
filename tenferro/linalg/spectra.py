"""Eigenvalue problems."""

from __future__ import annotations

from typing import NamedTuple

from tenferro.dispatch import apply
from tenferro.linalg import factors
from tenferro.linalg.operands import degeneracy
from tenferro.typing import AnyTensor, ArrayLike


class EighResult(NamedTuple):
    """Of `eigh`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


def eigh(
    x: ArrayLike,
    /,
    UPLO: str | None = None,  # noqa: N803  # NumPy's name
    symmetrize_input: bool = True,
    *,
    degenerate: str = "nan",
    width: float = 1e-12,
) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors, as columns, of Hermitian matrices.

    Derivatives of losses that depend on the phase of an eigenvector are NaN. So are those of losses
    that depend on single values or vectors where eigenvalues are equal.

    Args:
        x: matrices, of shape [..., n, n].
        UPLO: read only the lower ("L") or upper ("U") triangle.
        symmetrize_input: read (x + xᴴ) / 2. Otherwise only the lower triangle is read.
        degenerate: the derivative where eigenvalues are equal. "nan" is NaN unless the loss depends
            only on eigenvalues, and equally on equal ones. "project" takes as equal what differs by
            less than the square root of the precision, and gives the derivative of a loss that does
            not depend on the basis of equal eigenvalues nor on single ones; else NaN. This check
            cannot see a loss in which these vectors have an effect at other matrices only.
            "broaden" is finite always, with 1/g written as g/(g² + width), and not exact.
        width: of "broaden".

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.
        ConfigError: there is no such `degenerate` or `UPLO`.

    >>> tn.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues
    Tensor([1., 3.])
    """
    values, vectors = apply(
        factors.eigh,
        x,
        triangle=UPLO,
        symmetrize_input=symmetrize_input,
        degeneracy=degeneracy("eigh", degenerate, width),
    )
    return EighResult(values, vectors)


def eigvalsh(x: ArrayLike, /, UPLO: str | None = None) -> AnyTensor:  # noqa: N803
    """Eigenvalues, ascending, of Hermitian matrices; see `eigh`.

    >>> tn.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
    Tensor([1., 3.])
    """
    return apply(factors.eigvalsh, x, triangle=UPLO)
