"""The families of linear algebra. A matrix is the last two axes of an operand; others are a batch.

Read in this order: `types` (checks of operands), `pieces` (parts of formulas), then one file for
each family, with its ops and its derivative rules. The `kernels` compute them with NumPy and SciPy.
"""

from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.block_solves import (
    BlockCoupled,
    BlockCoupledRule,
    BlockSylvester,
    BlockSylvesterRule,
)
from tenferro.families.linalg.blocks import (
    EighBlock,
    EighBlockRule,
    SvdBlock,
    SvdBlockRule,
    eigh_block,
    svd_block,
)
from tenferro.families.linalg.cholesky import Cholesky, CholeskyRule
from tenferro.families.linalg.clusters import Degeneracy, reflections
from tenferro.families.linalg.eigh import EIGH_RULE, Eigh, EighJvp, EighVjp
from tenferro.families.linalg.functions import (
    HermitianFunction,
    HermitianFunctionRule,
    hermitian_function,
)
from tenferro.families.linalg.pieces import sym, tril
from tenferro.families.linalg.rules import RULES, MatrixFormula
from tenferro.families.linalg.svd_factors import SvdFactors, SvdFactorsRule
from tenferro.families.linalg.triangular import (
    TriangularSolve,
    TriangularSolveRule,
    triangular_solve,
)
from tenferro.families.linalg.truncation import (
    SvdTruncated,
    SvdTruncatedRule,
    svd_factors,
    svd_truncated,
)
from tenferro.families.linalg.types import check_matrix, check_square
from tenferro.families.linear_formula import LinearFormulaRule
from tenferro.families.runtime import KernelRuntime, StandardRuntime
from tenferro.family import ExtensionOp, Package

_KERNELS: tuple[type[KernelOp], ...] = (TriangularSolve, Cholesky, Eigh, SvdFactors)
_FORMULAS: tuple[type[MatrixFormula], ...] = (EighJvp, EighVjp)
_EXPANDED: tuple[type[ExtensionOp], ...] = (
    HermitianFunction,
    EighBlock,
    SvdBlock,
    SvdTruncated,
    BlockSylvester,
    BlockCoupled,
)

for _rule in (
    TriangularSolveRule(),
    CholeskyRule(),
    EIGH_RULE,
    SvdFactorsRule(),
    HermitianFunctionRule(),
    EighBlockRule(),
    SvdBlockRule(),
    SvdTruncatedRule(),
    BlockSylvesterRule(),
    BlockCoupledRule(),
    *[LinearFormulaRule(formula) for formula in _FORMULAS],
):
    RULES.register_rule(_rule)

_kernel_runtimes = tuple(KernelRuntime(op.FAMILY_ID) for op in _KERNELS)

LINALG = Package(
    name="tenferro-linalg",
    ops=(*_KERNELS, *_FORMULAS, *_EXPANDED),
    rules=tuple(RULES),
    runtimes=(
        *_kernel_runtimes,
        *[StandardRuntime(op.FAMILY_ID, _kernel_runtimes) for op in (*_FORMULAS, *_EXPANDED)],
    ),
)

__all__ = [
    "LINALG",
    "BlockCoupled",
    "BlockSylvester",
    "Cholesky",
    "Degeneracy",
    "Eigh",
    "EighBlock",
    "EighJvp",
    "EighVjp",
    "HermitianFunction",
    "SvdBlock",
    "SvdFactors",
    "SvdTruncated",
    "TriangularSolve",
    "check_matrix",
    "check_square",
    "eigh_block",
    "hermitian_function",
    "reflections",
    "svd_block",
    "svd_factors",
    "svd_truncated",
    "sym",
    "triangular_solve",
    "tril",
]
