"""Linear algebra: `tn.linalg`, with the names of the Python array API, NumPy and SciPy.

A matrix is the last two axes of an array; all other axes are a batch. Float32, float64, complex64
and complex128 are kept; integers and bool become float64. Results of several arrays are named
tuples.

>>> lower = tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
>>> tn.linalg.solve_triangular(lower, [2.0, 5.0], lower=True)
Tensor([1., 2.])

Each file is one topic, with its functions and their results. In reading order:

- `arguments`: what all functions accept, and how they refuse the rest.
- `products`: `multi_dot`, `outer`, `trace`, `diagonal`, `block_diag` and `toeplitz`.
- `solve`: `solve`, `inv`, triangular, tridiagonal and tensor systems.
- `determinant`: `det`, `slogdet` and `matrix_power`.
- `factorizations`: `cholesky`, `lu`, `qr`, `schur` and `hessenberg`; `lu_factor` and `cho_factor`.
- `spectra`: `eigh`, `eig` and `svd`, and values without vectors.
- `gauge`: `fix_phases` and `gauge_report`, for losses of single vectors.
- `subspaces`: `eigh_block`, `svd_block`, `low_rank` and `polar`.
- `svd_truncate`: `svd_truncate`.
- `matrix_functions`: `expm`, `logm`, `sqrtm` and `funm_hermitian`.
- `pinv`: `pinv`, `lstsq` and `matrix_rank`.
- `norms`: `norm`, `matrix_norm`, `vector_norm` and `cond`.
- `sylvester`: Sylvester and Lyapunov.

A function there whose first parameter is an emitter is made public here. One with named results is
public itself; what it does stands below it, under its name with an underscore.
"""

from functools import partial
from typing import TYPE_CHECKING

from tenferro.families.linalg import LINALG
from tenferro.linalg import (
    determinant,
    factorizations,
    gauge,
    matrix_functions,
    norms,
    products,
    spectra,
    subspaces,
    sylvester,
)
from tenferro.linalg import solve as _solve
from tenferro.linalg.determinant import *
from tenferro.linalg.factorizations import *
from tenferro.linalg.gauge import *
from tenferro.linalg.matrix_functions import *
from tenferro.linalg.pinv import *
from tenferro.linalg.products import *
from tenferro.linalg.solve import solve as solve_solve
from tenferro.linalg.spectra import *
from tenferro.linalg.subspaces import *
from tenferro.linalg.svd_truncate import *
from tenferro.missing_names import refusal
from tenferro.ops.extension import ExtensionRegistry, ExtensionRuleSet, register_runtimes, rules_of
from tenferro.ops.functions import manipulation
from tenferro.ops.functions import products as _products
from tenferro.transforms import array_function

__all__ = [
    "CholeskyFactorResult",
    "EigResult",
    "EighBlockResult",
    "EighResult",
    "EighTridiagonalResult",
    "ExpmFrechetResult",
    "GaugeReport",
    "HessenbergResult",
    "LUFactorResult",
    "LUResult",
    "LstsqResult",
    "PermutedLUResult",
    "PolarResult",
    "QRResult",
    "SVDBlockResult",
    "SVDResult",
    "SchurResult",
    "SlogdetResult",
    "ad_rules",
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigh_block",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "expm",
    "expm_frechet",
    "fix_phases",
    "funm_hermitian",
    "gauge_report",
    "hessenberg",
    "inv",
    "logm",
    "low_rank",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "polar",
    "qr",
    "register_runtime",
    "schur",
    "slogdet",
    "solve",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svd_block",
    "svd_truncate",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "toeplitz",
    "trace",
    "tridiagonal_solve",
    "vecdot",
    "vector_norm",
]


def ad_rules() -> ExtensionRuleSet:
    """A new set of the derivative rules of these families; every context has these rules."""
    return rules_of([LINALG])


def register_runtime(registry: ExtensionRegistry) -> None:
    """Register the runtimes of these families; for `register_extension(register_runtime)`.

    Executors do not need it: they have them.
    """
    register_runtimes([LINALG], registry)


_public = partial(array_function, module="tenferro.linalg")

cholesky = _public(factorizations.cholesky)
det = _public(determinant.det)
eigvals = _public(spectra.eigvals)
expm = _public(matrix_functions.expm)
funm_hermitian = _public(matrix_functions.funm_hermitian)
inv = _public(_solve.inv)
logm = _public(matrix_functions.logm)
low_rank = _public(subspaces.low_rank)
matrix_power = _public(determinant.matrix_power)
solve = _public(solve_solve)
solve_continuous_lyapunov = _public(sylvester.solve_continuous_lyapunov)
solve_discrete_lyapunov = _public(sylvester.solve_discrete_lyapunov)
solve_sylvester = _public(sylvester.solve_sylvester)
solve_triangular = _public(_solve.solve_triangular)
sqrtm = _public(matrix_functions.sqrtm)
tensorinv = _public(_solve.tensorinv)
tensorsolve = _public(_solve.tensorsolve)
tridiagonal_solve = _public(_solve.tridiagonal_solve)
svdvals = _public(spectra.svdvals)
fix_phases = _public(gauge.fix_phases)
cond = _public(norms.cond)
matrix_norm = _public(norms.matrix_norm)
vector_norm = _public(norms.vector_norm)
norm = _public(norms.norm)
matmul = _public(_products.matmul)
tensordot = _public(_products.tensordot)
vecdot = _public(_products.vecdot)
cross = _public(_products.cross)
outer = _public(products.outer)
trace = _public(products.trace)
diagonal = _public(products.diagonal)
matrix_transpose = _public(manipulation.matrix_transpose)


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__ = refusal("tenferro.linalg", __all__)
