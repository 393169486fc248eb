"""The families of linear algebra. A matrix is the last two axes of an operand; others are a batch.

Read in this order: `types` (checks of operands), `pieces` (parts of formulas), then one file for
each family, with its ops and its derivative rules. The `kernels` compute them with NumPy and SciPy.
"""

from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.cholesky import Cholesky, CholeskyRule
from tenferro.families.linalg.clusters import Degeneracy, reflections
from tenferro.families.linalg.eig import EIG_RULE, Eig, EigJvp, closeness
from tenferro.families.linalg.eigh import EIGH_RULE, Eigh, EighJvp, EighVjp
from tenferro.families.linalg.functions import Frechet, MatrixFunction, MatrixFunctionRule
from tenferro.families.linalg.pieces import columns, embedded, rows, sym, tril
from tenferro.families.linalg.rules import RULES, MatrixFormula
from tenferro.families.linalg.schur import HESSENBERG_RULE, SCHUR_RULE, Hessenberg, Schur
from tenferro.families.linalg.sylvester import Sylvester, SylvesterRule, sylvester
from tenferro.families.linalg.triangular import (
    TriangularSolve,
    TriangularSolveRule,
    triangular_solve,
)
from tenferro.families.linalg.tridiagonal import TridiagonalSolve, TridiagonalSolveRule
from tenferro.families.linalg.types import COMPLEX_OF, check_matrix, check_square
from tenferro.families.linear_formula import LinearFormulaRule
from tenferro.families.runtime import KernelRuntime, StandardRuntime
from tenferro.family import Package

_KERNELS: tuple[type[KernelOp], ...] = (
    *(TriangularSolve, Cholesky, Eigh),
    *(Eig, MatrixFunction, Sylvester, TridiagonalSolve, Schur, Hessenberg),
)
_FORMULAS: tuple[type[MatrixFormula], ...] = (EighJvp, EighVjp, EigJvp, Frechet)

for _rule in (
    TriangularSolveRule(),
    CholeskyRule(),
    EIGH_RULE,
    *(EIG_RULE, MatrixFunctionRule(), SylvesterRule(), TridiagonalSolveRule()),
    *(SCHUR_RULE, HESSENBERG_RULE),
    *[LinearFormulaRule(formula) for formula in _FORMULAS],
):
    RULES.register_rule(_rule)

_kernel_runtimes = tuple(KernelRuntime(op.FAMILY_ID) for op in _KERNELS)

LINALG = Package(
    name="tenferro-linalg",
    ops=(*_KERNELS, *_FORMULAS),
    rules=tuple(RULES),
    runtimes=(
        *_kernel_runtimes,
        *[StandardRuntime(op.FAMILY_ID, _kernel_runtimes) for op in _FORMULAS],
    ),
)

__all__ = [
    "COMPLEX_OF",
    "LINALG",
    "RULES",
    "Cholesky",
    "Degeneracy",
    "Eig",
    "EigJvp",
    "Eigh",
    "EighJvp",
    "EighVjp",
    "Frechet",
    "Hessenberg",
    "MatrixFunction",
    "Schur",
    "Sylvester",
    "TriangularSolve",
    "TridiagonalSolve",
    "check_matrix",
    "check_square",
    "closeness",
    "columns",
    "embedded",
    "reflections",
    "rows",
    "sylvester",
    "sym",
    "triangular_solve",
    "tril",
]
