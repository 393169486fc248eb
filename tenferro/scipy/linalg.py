"""`jax.scipy.linalg`: the functions of `tn.linalg`, with SciPy's defaults where they differ.

`eigh` takes no second matrix, and `qr` does not pivot. `MISSING` lists what is not there.

>>> tn.scipy.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
Tensor([[2., 1.],
        [0., 2.]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenferro import linalg
from tenferro.errors import ConfigError
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.linalg import (
    block_diag,
    cho_factor,
    cho_solve,
    det,
    eigh_tridiagonal,
    expm,
    expm_frechet,
    hessenberg,
    inv,
    lu,
    lu_factor,
    lu_solve,
    polar,
    schur,
    solve,
    solve_sylvester,
    solve_triangular,
    sqrtm,
    svd,
    toeplitz,
)
from tenferro.missing_names import refusal

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "hessenberg",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "polar",
    "qr",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]


def cholesky(a: ArrayLike, lower: bool = False) -> AnyTensor:
    """The triangular factor of positive definite matrices, of shape [..., n, n]; the upper one.

    Args:
        a: matrices of shape [..., n, n].
        lower: whether to return the lower factor.

    >>> cholesky([[4.0, 2.0], [2.0, 5.0]], lower=True)
    Tensor([[2., 0.],
            [1., 2.]])
    """
    return linalg.cholesky(a, upper=not lower)


def eigh(
    a: ArrayLike, *, lower: bool = True, eigvals_only: bool = False
) -> AnyTensor | linalg.EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices, as `tn.linalg.eigh`.

    Args:
        a: matrices of shape [..., n, n], of which one triangle is read.
        lower: whether it is the lower one.
        eigvals_only: whether to return the values alone.

    >>> eigh([[2.0, 0.0], [0.0, 1.0]], eigvals_only=True)
    Tensor([1., 2.])
    """
    triangle = "L" if lower else "U"
    if eigvals_only:
        return linalg.eigvalsh(a, triangle)
    return linalg.eigh(a, triangle)


def qr(a: ArrayLike, *, mode: str = "full") -> linalg.QRResult | tuple[AnyTensor]:
    """Q and R of matrices of shape [..., m, n].

    Args:
        a: the matrices.
        mode: `"full"`: Q is square; `"economic"`: it has min(m, n) columns; `"r"`: R of the
            full form alone, in a tuple.

    Raises:
        ConfigError: there is no such mode.

    >>> q, r = qr([[3.0], [4.0]], mode="economic")
    >>> q.shape, r.shape
    ((2, 1), (1, 1))
    """
    if mode == "economic":
        return linalg.qr(a, mode="reduced")
    if mode not in ("full", "r"):
        raise ConfigError(f"qr: mode must be one of full, economic, r, got {mode!r}")
    result = linalg.qr(a, mode="complete")
    return result if mode == "full" else (result.R,)


_MATRICES = "tn.asarray takes the matrix that scipy.linalg makes"
_RARE = "it is not there yet; write it with tn.linalg.schur or tn.linalg.qr"
MISSING: dict[str, str] = {
    **dict.fromkeys(
        (
            *("circulant", "companion", "convolution_matrix", "dft", "fiedler"),
            *("fiedler_companion", "hadamard", "hankel", "helmert", "hilbert", "invhilbert"),
            *("invpascal", "leslie", "pascal"),
        ),
        _MATRICES,
    ),
    **dict.fromkeys(("funm", "qr_multiply", "rsf2csf"), _RARE),
}
"""Names of `jax.scipy.linalg`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__ = refusal("tenferro.scipy.linalg", __all__, MISSING)
