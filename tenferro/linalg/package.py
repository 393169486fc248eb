"""`LINALG`: the ops of all topics, with their rules and runtimes."""

from __future__ import annotations

from tenferro.linalg.cholesky import Cholesky
from tenferro.linalg.determinant import Adjugate, Determinant, DeterminantPolynomial
from tenferro.linalg.eig import Eig
from tenferro.linalg.eigh import Eigh
from tenferro.linalg.lu import Lu, PivotsToPermutation
from tenferro.linalg.matrix_functions import Frechet, HermitianFunction, MatrixFunction
from tenferro.linalg.pinv import Pinv
from tenferro.linalg.qr import Qr, QrPivots
from tenferro.linalg.schur import Hessenberg, Schur
from tenferro.linalg.solve import Inverse, LuSolve
from tenferro.linalg.subspaces import BlockCoupled, BlockSylvester, EighBlock, SvdBlock
from tenferro.linalg.svd import Svd
from tenferro.linalg.svd_truncate import SvdTruncated
from tenferro.linalg.sylvester import Sylvester
from tenferro.linalg.triangular_solve import TriangularSolve, TridiagonalSolve
from tenferro.runtime import family_package

LINALG = family_package(
    "tenferro-linalg",
    TriangularSolve,
    TridiagonalSolve,
    Cholesky,
    Lu,
    PivotsToPermutation,
    LuSolve,
    Inverse,
    Svd,
    Determinant,
    Adjugate,
    DeterminantPolynomial,
    Eig,
    Eigh,
    Sylvester,
    MatrixFunction,
    Frechet,
    HermitianFunction,
    Qr,
    QrPivots,
    BlockSylvester,
    BlockCoupled,
    EighBlock,
    SvdBlock,
    Pinv,
    Schur,
    Hessenberg,
    SvdTruncated,
)
