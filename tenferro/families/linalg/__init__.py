"""The families of linear algebra. A matrix is the last two axes of an operand; others are a batch.

Read in this order: `matrix_op` (checks of operands, parts of formulas), `degeneracy`, then one file
for each topic, with its ops and its derivative rules; `batching` has the batch rules. `lapack`
computes the ops with NumPy and SciPy.
"""

from tenferro.families.composite import (
    KernelOp,
    KernelRuntime,
    LinearFormulaRule,
    StandardRuntime,
    TransformRule,
)
from tenferro.families.linalg.batching import batch_rule
from tenferro.families.linalg.cholesky import *
from tenferro.families.linalg.cholesky import Cholesky, CholeskyRule
from tenferro.families.linalg.degeneracy import *
from tenferro.families.linalg.degeneracy import RULES, MatrixFormula
from tenferro.families.linalg.determinant import *
from tenferro.families.linalg.determinant import (
    Adjugate,
    AdjugateRule,
    Determinant,
    DeterminantPolynomial,
    DeterminantRule,
)
from tenferro.families.linalg.eig import *
from tenferro.families.linalg.eig import EIG_RULE, Eig, EigJvp
from tenferro.families.linalg.eigh import *
from tenferro.families.linalg.eigh import EIGH_RULE, Eigh, EighJvp, EighVjp
from tenferro.families.linalg.lu import *
from tenferro.families.linalg.lu import Lu, LuRule, PivotsToPermutation, PivotsToPermutationRule
from tenferro.families.linalg.matrix_functions import *
from tenferro.families.linalg.matrix_functions import (
    Frechet,
    HermitianFunction,
    HermitianFunctionRule,
    MatrixFunction,
    MatrixFunctionRule,
)
from tenferro.families.linalg.matrix_op import *
from tenferro.families.linalg.matrix_op import FactoredOp, FactoredRuntime
from tenferro.families.linalg.pinv import *
from tenferro.families.linalg.pinv import Pinv, PinvRule
from tenferro.families.linalg.qr import *
from tenferro.families.linalg.qr import QR_RULE, Qr, QrJvp, QrVjp
from tenferro.families.linalg.schur import *
from tenferro.families.linalg.schur import HESSENBERG_RULE, SCHUR_RULE, Hessenberg, Schur
from tenferro.families.linalg.solve import *
from tenferro.families.linalg.solve import Inverse, InverseRule, LuSolve, LuSolveRule
from tenferro.families.linalg.subspaces import *
from tenferro.families.linalg.subspaces import (
    BlockCoupled,
    BlockCoupledRule,
    BlockSylvester,
    BlockSylvesterRule,
    EighBlock,
    EighBlockRule,
    SvdBlock,
    SvdBlockRule,
)
from tenferro.families.linalg.svd import *
from tenferro.families.linalg.svd import SVD_RULE, Svd, SvdJvp, SvdVjp
from tenferro.families.linalg.svd_truncate import *
from tenferro.families.linalg.svd_truncate import SvdTruncated, SvdTruncatedRule
from tenferro.families.linalg.sylvester import *
from tenferro.families.linalg.sylvester import Sylvester, SylvesterRule
from tenferro.families.linalg.triangular_solve import *
from tenferro.families.linalg.triangular_solve import (
    TriangularSolve,
    TriangularSolveRule,
    TridiagonalSolve,
    TridiagonalSolveRule,
)
from tenferro.ops.extension import ExtensionOp, ExtensionRuntime, Package

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
