"""The families of linear algebra. A matrix is the last two axes of an operand; others are a batch.

Read in this order: `types` (checks of operands), `pieces` (parts of formulas), then one file for
each family, with its ops and its derivative rules. The `kernels` compute them with NumPy and SciPy.
"""

from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.cholesky import Cholesky, CholeskyRule
from tenferro.families.linalg.clusters import Degeneracy, reflections
from tenferro.families.linalg.eigh import EIGH_RULE, Eigh, EighJvp, EighVjp
from tenferro.families.linalg.pieces import columns, diagonal, rows, sym, tril
from tenferro.families.linalg.pinv import Pinv, PinvRule
from tenferro.families.linalg.qr import QR_RULE, Qr, QrJvp, QrVjp, signs
from tenferro.families.linalg.rules import RULES, MatrixFormula
from tenferro.families.linalg.singular import generic_bases
from tenferro.families.linalg.svd import SVD_RULE, Svd
from tenferro.families.linalg.svd_derivative import SvdJvp, SvdVjp
from tenferro.families.linalg.triangular import (
    TriangularSolve,
    TriangularSolveRule,
    triangular_solve,
)
from tenferro.families.linalg.types import check_matrix, check_square
from tenferro.families.linear_formula import LinearFormulaRule
from tenferro.families.runtime import KernelRuntime, StandardRuntime
from tenferro.family import Package

_KERNELS: tuple[type[KernelOp], ...] = (TriangularSolve, Cholesky, Eigh, Svd, Qr, Pinv)
_FORMULAS: tuple[type[MatrixFormula], ...] = (EighJvp, EighVjp, SvdJvp, SvdVjp, QrJvp, QrVjp)

for _rule in (
    TriangularSolveRule(),
    CholeskyRule(),
    EIGH_RULE,
    SVD_RULE,
    QR_RULE,
    PinvRule(),
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
    "LINALG",
    "RULES",
    "Cholesky",
    "Degeneracy",
    "Eigh",
    "EighJvp",
    "EighVjp",
    "Pinv",
    "Qr",
    "QrJvp",
    "QrVjp",
    "Svd",
    "SvdJvp",
    "SvdVjp",
    "TriangularSolve",
    "check_matrix",
    "check_square",
    "columns",
    "diagonal",
    "generic_bases",
    "reflections",
    "rows",
    "signs",
    "sym",
    "triangular_solve",
    "tril",
]
