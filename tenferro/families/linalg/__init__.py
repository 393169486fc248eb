"""The families of linear algebra. A matrix is the last two axes of an operand; others are a batch.

Read in this order: `types` (checks of operands), `pieces` (parts of formulas), then one file for
each family, with its ops and its derivative rules; `batching` has the batch rules. The `kernels`
compute the ops with NumPy and SciPy.
"""

from tenferro.families.formula import TransformRule
from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.batching import batch_rule
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
from tenferro.families.linalg.determinant import (
    FIRST_LIMIT,
    SECOND_LIMIT,
    Adjugate,
    Determinant,
    determinant,
)
from tenferro.families.linalg.determinant_polynomial import DeterminantPolynomial
from tenferro.families.linalg.determinant_rules import AdjugateRule, DeterminantRule
from tenferro.families.linalg.eig import EIG_RULE, Eig, EigJvp, closeness
from tenferro.families.linalg.eigh import EIGH_RULE, Eigh, EighJvp, EighVjp
from tenferro.families.linalg.factored import FactoredOp, FactoredRuntime
from tenferro.families.linalg.functions import Frechet, MatrixFunction, MatrixFunctionRule
from tenferro.families.linalg.hermitian_functions import (
    HermitianFunction,
    HermitianFunctionRule,
    hermitian_derivative,
    hermitian_function,
)
from tenferro.families.linalg.lu import (
    Lu,
    LuRule,
    PivotsToPermutation,
    PivotsToPermutationRule,
    lu,
)
from tenferro.families.linalg.lu_solve import (
    Inverse,
    InverseRule,
    LuSolve,
    LuSolveRule,
    inverse,
    lu_solve,
)
from tenferro.families.linalg.pieces import (
    columns,
    diagonal,
    embedded,
    identity,
    picked_rows,
    real_part,
    rows,
    scaled,
    sym,
    tril,
    triu,
)
from tenferro.families.linalg.pinv import Pinv, PinvRule
from tenferro.families.linalg.qr import QR_RULE, Qr, QrJvp, QrVjp, signs
from tenferro.families.linalg.rules import RULES, MatrixFormula
from tenferro.families.linalg.schur import HESSENBERG_RULE, SCHUR_RULE, Hessenberg, Schur
from tenferro.families.linalg.singular import generic_bases
from tenferro.families.linalg.svd import SVD_RULE, Svd
from tenferro.families.linalg.svd_derivative import SvdJvp, SvdVjp
from tenferro.families.linalg.sylvester import Sylvester, SylvesterRule, sylvester
from tenferro.families.linalg.triangular import (
    TriangularSolve,
    TriangularSolveRule,
    triangular_solve,
)
from tenferro.families.linalg.tridiagonal import TridiagonalSolve, TridiagonalSolveRule
from tenferro.families.linalg.truncation import (
    SvdTruncated,
    SvdTruncatedRule,
    kept_triplets,
    svd_factors,
    svd_truncated,
)
from tenferro.families.linalg.types import COMPLEX_OF, REAL_OF, check_matrix, check_square
from tenferro.families.linear_formula import LinearFormulaRule
from tenferro.families.runtime import KernelRuntime, StandardRuntime
from tenferro.family import ExtensionOp, ExtensionRuntime, Package

_KERNELS: tuple[type[KernelOp], ...] = (
    TriangularSolve,
    Cholesky,
    Lu,
    PivotsToPermutation,
    TridiagonalSolve,
    Eigh,
    Eig,
    MatrixFunction,
    Sylvester,
    Schur,
    Hessenberg,
    Svd,
    Qr,
    Pinv,
)
_FACTORED: tuple[type[FactoredOp], ...] = (LuSolve, Inverse, Determinant, Adjugate)
_FORMULAS: tuple[type[MatrixFormula], ...] = (
    EighJvp,
    EighVjp,
    EigJvp,
    Frechet,
    SvdJvp,
    SvdVjp,
    QrJvp,
    QrVjp,
)
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
    LuRule(),
    TridiagonalSolveRule(),
    PivotsToPermutationRule(),
    LuSolveRule(),
    InverseRule(),
    DeterminantRule(),
    AdjugateRule(),
    EIGH_RULE,
    EIG_RULE,
    MatrixFunctionRule(),
    SylvesterRule(),
    SCHUR_RULE,
    HESSENBERG_RULE,
    SVD_RULE,
    QR_RULE,
    PinvRule(),
    HermitianFunctionRule(),
    EighBlockRule(),
    SvdBlockRule(),
    SvdTruncatedRule(),
    BlockSylvesterRule(),
    BlockCoupledRule(),
    TransformRule(DeterminantPolynomial),
    *[LinearFormulaRule(formula) for formula in _FORMULAS],
):
    RULES.register_rule(_rule)

_runtimes: tuple[ExtensionRuntime, ...] = (
    *[KernelRuntime(op.FAMILY_ID) for op in _KERNELS],
    *[FactoredRuntime(op) for op in _FACTORED],
)

_BY_FORMULA: tuple[type[ExtensionOp], ...] = (*_FORMULAS, DeterminantPolynomial, *_EXPANDED)
_FAMILIES: tuple[type[ExtensionOp], ...] = (*_KERNELS, *_FACTORED, *_BY_FORMULA)

for _family in _FAMILIES:
    RULES.register_batch_rule(batch_rule(_family))

LINALG = Package(
    name="tenferro-linalg",
    ops=_FAMILIES,
    rules=tuple(RULES),
    runtimes=(
        *_runtimes,
        *[StandardRuntime(op.FAMILY_ID, _runtimes) for op in _BY_FORMULA],
    ),
    batch_rules=RULES.batch_rules,
)

__all__ = [
    "COMPLEX_OF",
    "FIRST_LIMIT",
    "LINALG",
    "REAL_OF",
    "RULES",
    "SECOND_LIMIT",
    "Adjugate",
    "BlockCoupled",
    "BlockSylvester",
    "Cholesky",
    "Degeneracy",
    "Determinant",
    "DeterminantPolynomial",
    "Eig",
    "EigJvp",
    "Eigh",
    "EighBlock",
    "EighJvp",
    "EighVjp",
    "Frechet",
    "HermitianFunction",
    "Hessenberg",
    "Inverse",
    "Lu",
    "LuSolve",
    "MatrixFunction",
    "Pinv",
    "PivotsToPermutation",
    "Qr",
    "QrJvp",
    "QrVjp",
    "Schur",
    "Svd",
    "SvdBlock",
    "SvdJvp",
    "SvdTruncated",
    "SvdVjp",
    "Sylvester",
    "TriangularSolve",
    "TridiagonalSolve",
    "check_matrix",
    "check_square",
    "closeness",
    "columns",
    "determinant",
    "diagonal",
    "eigh_block",
    "embedded",
    "generic_bases",
    "hermitian_derivative",
    "hermitian_function",
    "identity",
    "inverse",
    "kept_triplets",
    "lu",
    "lu_solve",
    "picked_rows",
    "real_part",
    "reflections",
    "rows",
    "scaled",
    "signs",
    "svd_block",
    "svd_factors",
    "svd_truncated",
    "sylvester",
    "sym",
    "triangular_solve",
    "tril",
    "triu",
]
