"""The families of linear algebra. A matrix is the last two axes of an operand; others are a batch.

Read in this order: `matrix_op` (checks of operands, parts of formulas, kinds of ops), `lapack`
(kernels over batches), `degeneracy`, then one file for each topic: its ops, each with shape rule,
kernel, derivatives and batch rule.
"""

from tenferro.families.composite import family_package
from tenferro.families.linalg.cholesky import *
from tenferro.families.linalg.degeneracy import *
from tenferro.families.linalg.determinant import *
from tenferro.families.linalg.eig import *
from tenferro.families.linalg.eigh import *
from tenferro.families.linalg.lu import *
from tenferro.families.linalg.matrix_functions import *
from tenferro.families.linalg.matrix_op import *
from tenferro.families.linalg.pinv import *
from tenferro.families.linalg.qr import *
from tenferro.families.linalg.schur import *
from tenferro.families.linalg.solve import *
from tenferro.families.linalg.subspaces import *
from tenferro.families.linalg.svd import *
from tenferro.families.linalg.svd_truncate import *
from tenferro.families.linalg.sylvester import *
from tenferro.families.linalg.triangular_solve import *

__all__ = [
    "COMPLEX_OF",
    "FIRST_LIMIT",
    "LINALG",
    "REAL_OF",
    "SECOND_LIMIT",
    "Adjugate",
    "BlockCoupled",
    "BlockSylvester",
    "Cholesky",
    "Degeneracy",
    "Determinant",
    "DeterminantPolynomial",
    "Eig",
    "Eigh",
    "EighBlock",
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
    "Schur",
    "Svd",
    "SvdBlock",
    "SvdTruncated",
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

LINALG = family_package(
    "tenferro-linalg",
    TriangularSolve,
    TridiagonalSolve,
    Cholesky,
    Lu,
    PivotsToPermutation,
    LuSolve,
    Inverse,
    Determinant,
    Adjugate,
    DeterminantPolynomial,
    Eigh,
    Eig,
    Svd,
    Qr,
    Schur,
    Hessenberg,
    Sylvester,
    Pinv,
    MatrixFunction,
    Frechet,
    HermitianFunction,
    BlockSylvester,
    BlockCoupled,
    EighBlock,
    SvdBlock,
    SvdTruncated,
)
"""The ops of linear algebra, each with its derivatives, kernel and batch rule."""
