"""The families of linear algebra. A matrix is the last two axes of an operand; others are a batch.

Read in this order: `types` (checks of operands), `pieces` (parts of formulas), then one file for
each family, with its ops and its derivative rules. The `kernels` compute them with NumPy and SciPy.
"""

from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.cholesky import Cholesky, CholeskyRule
from tenferro.families.linalg.pieces import sym, tril
from tenferro.families.linalg.triangular import (
    TriangularSolve,
    TriangularSolveRule,
    triangular_solve,
)
from tenferro.families.linalg.types import check_matrix, check_square
from tenferro.families.runtime import KernelRuntime
from tenferro.family import Package

_KERNELS: tuple[type[KernelOp], ...] = (TriangularSolve, Cholesky)

LINALG = Package(
    name="tenferro-linalg",
    ops=_KERNELS,
    rules=(TriangularSolveRule(), CholeskyRule()),
    runtimes=tuple(KernelRuntime(op.FAMILY_ID) for op in _KERNELS),
)

__all__ = [
    "LINALG",
    "Cholesky",
    "TriangularSolve",
    "check_matrix",
    "check_square",
    "sym",
    "triangular_solve",
    "tril",
]
