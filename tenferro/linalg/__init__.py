"""Linear algebra: `tn.linalg`, with the names of the Python array API, NumPy and SciPy.

A matrix is the last two axes of an array; all other axes are a batch. Float32, float64, complex64
and complex128 are kept; integers and bool become float64. Results of several arrays are named
tuples.

>>> lower = tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
>>> tn.linalg.solve_triangular(lower, [2.0, 5.0], lower=True)
Tensor([1., 2.])
"""

from functools import partial
from typing import NamedTuple

from tenferro import arrays
from tenferro.dispatch import apply, array_function
from tenferro.families.linalg import Degeneracy
from tenferro.linalg import factors, norms, products, pseudoinverse, solving
from tenferro.linalg.decompositions import LstsqResult, QRResult, SVDResult, lstsq, qr, svd
from tenferro.linalg.gauge import GaugeReport, gauge_report
from tenferro.linalg.products import multi_dot
from tenferro.typing import AnyTensor, ArrayLike

_public = partial(array_function, module="tenferro.linalg")

cholesky = _public(factors.cholesky)
solve_triangular = _public(solving.solve_triangular)
svdvals = _public(factors.svdvals)
fix_phases = _public(factors.fix_phases)
pinv = _public(pseudoinverse.pinv)
matrix_rank = _public(pseudoinverse.matrix_rank)
cond = _public(norms.cond)
matrix_norm = _public(norms.matrix_norm)
vector_norm = _public(norms.vector_norm)
norm = _public(norms.norm)
matmul = _public(arrays.products.matmul)
tensordot = _public(arrays.products.tensordot)
vecdot = _public(arrays.products.vecdot)
cross = _public(arrays.products.cross)
outer = _public(products.outer)
trace = _public(products.trace)
diagonal = _public(products.diagonal)
matrix_transpose = _public(arrays.rearrange.matrix_transpose)


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
            not depend on the basis of equal eigenvalues nor on single ones; else NaN. "broaden" is
            finite always, with 1/g written as g/(g² + width), and not exact.
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
        degeneracy=Degeneracy(degenerate, width),
    )
    return EighResult(values, vectors)


def eigvalsh(x: ArrayLike, /, UPLO: str | None = None) -> AnyTensor:  # noqa: N803
    """Eigenvalues, ascending, of Hermitian matrices; see `eigh`.

    >>> tn.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
    Tensor([1., 3.])
    """
    return apply(factors.eigvalsh, x, triangle=UPLO)


__all__ = [
    "EighResult",
    "GaugeReport",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "cholesky",
    "cond",
    "cross",
    "diagonal",
    "eigh",
    "eigvalsh",
    "fix_phases",
    "gauge_report",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
