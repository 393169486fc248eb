"""Linear algebra: `tn.linalg`, with the names of the Python array API, NumPy and SciPy.

A matrix is the last two axes of an array; all other axes are a batch. Float32, float64, complex64
and complex128 are kept; integers and bool become float64. Results of several arrays are named
tuples.

>>> lower = tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
>>> tn.linalg.solve_triangular(lower, [2.0, 5.0], lower=True)
Tensor([1., 2.])

Each file is one topic: its ops, with shape rule, NumPy kernel, derivative and batch rule, and the
functions that users call. In reading order:

- `arguments`: what all functions accept, and how they refuse the rest.
- `matrix_op`: pieces of formulas, kernels over batches, kinds of ops.
- `products`: `multi_dot`, `outer`, `trace`, `diagonal`, `block_diag` and `toeplitz`.
- `triangular_solve`: triangular and tridiagonal systems.
- `cholesky`: `cholesky`, `cho_factor` and `cho_solve`.
- `lu`: `lu`, `lu_factor` and `lu_solve`.
- `solve`: `solve`, `inv`, `tensorsolve` and `tensorinv`.
- `gauge`: `fix_phases` and `gauge_report`; what derivatives do where values are equal.
- `qr`: `qr`.
- `eigh`: `eigh`, `eigvalsh` and `eigh_tridiagonal`.
- `eig`: `eig` and `eigvals`.
- `schur`: `schur` and `hessenberg`.
- `svd`: `svd` and `svdvals`.
- `determinant`: `det` and `slogdet`.
- `divided_differences`: scalar functions and their divided differences.
- `sylvester`: Sylvester and Lyapunov equations.
- `matrix_functions`: `expm`, `logm`, `sqrtm`, `matrix_power` and `funm_hermitian`.
- `subspaces`: `eigh_block`, `svd_block`, `low_rank` and `polar`.
- `svd_truncate`: `svd_truncate`.
- `pinv`: `pinv`, `lstsq` and `matrix_rank`.
- `norms`: `norm`, `matrix_norm`, `vector_norm` and `cond`.
- `package`: the ops of all topics as one value.
"""

import typing as _typing

from tenferro.linalg.cholesky import *
from tenferro.linalg.determinant import *
from tenferro.linalg.eig import *
from tenferro.linalg.eigh import *
from tenferro.linalg.gauge import *
from tenferro.linalg.lu import *
from tenferro.linalg.matrix_functions import *
from tenferro.linalg.norms import *
from tenferro.linalg.package import LINALG as _LINALG
from tenferro.linalg.pinv import *
from tenferro.linalg.products import *
from tenferro.linalg.qr import *
from tenferro.linalg.schur import *
from tenferro.linalg.solve import *
from tenferro.linalg.subspaces import *
from tenferro.linalg.svd import *
from tenferro.linalg.svd_truncate import *
from tenferro.linalg.sylvester import *
from tenferro.linalg.triangular_solve import *
from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public
from tenferro.ops.functions.manipulation import matrix_transpose as matrix_transpose
from tenferro.ops.functions.products import cross as cross
from tenferro.ops.functions.products import matmul as matmul
from tenferro.ops.functions.products import tensordot as tensordot
from tenferro.ops.functions.products import vecdot as vecdot

ad_rules = _LINALG.ad_rules
register_runtime = _LINALG.register_runtime

if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars(), home="tenferro.linalg")
    __getattr__, __dir__ = _attributes("tenferro.linalg", __all__)
