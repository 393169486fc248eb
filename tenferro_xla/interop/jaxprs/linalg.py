"""Factorizations and solutions of matrices, and Fourier transforms, as extension families."""

from __future__ import annotations

from typing import Any

from tenferro.core import GlobalValKey
from tenferro.fft.op import Fft, points
from tenferro.ir import Exact
from tenferro.linalg.cholesky import Cholesky
from tenferro.linalg.eigh import Eigh
from tenferro.linalg.lu import Lu, PivotsToPermutation
from tenferro.linalg.matrix_op import hermitian
from tenferro.linalg.qr import Qr
from tenferro.linalg.svd import Svd
from tenferro.linalg.triangular_solve import TriangularSolve
from tenferro.ops import CONJ
from tenferro.ops.extension import Extension
from tenferro.ops.functions import Expression
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, integers

_KINDS = {"FFT": "c2c", "IFFT": "c2c inverse", "RFFT": "r2c", "IRFFT": "c2r"}


def _hermitian(at: Reader, x: GlobalValKey, lower: bool) -> GlobalValKey:
    """The Hermitian matrix with the lower or upper triangle of x, which is all that JAX reads."""
    whole: Any = Expression(at, x)
    result: Any = hermitian(whole if lower else whole.H)
    key: GlobalValKey = result.value
    return key


def _eigh(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    if equation.params.get("subset_by_index") is not None:
        raise at.refuse(equation, "of some of the eigenvalues has no counterpart")
    x = _hermitian(at, operands[0], bool(equation.params["lower"]))
    values, vectors = at.emit_all(Extension(Eigh()), x)
    return [vectors, values]


def _svd(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params = equation.params
    if params.get("subset_by_index") is not None:
        raise at.refuse(equation, "of some of the singular values has no counterpart")
    vectors = bool(params["compute_uv"])
    op = Svd(bool(params["full_matrices"]) and vectors, vectors=vectors)
    return at.emit_all(Extension(op), operands[0])


def _qr(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params = equation.params
    if params["pivoting"]:
        raise at.refuse(equation, "with pivoting has no counterpart")
    op = Qr("complete" if params["full_matrices"] else "reduced")
    triangle, columns = at.emit_all(Extension(op), operands[0])
    return [columns, triangle]


def _permutation(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    if equation.invars[0].aval.shape != equation.outvars[0].aval.shape:
        raise at.refuse(equation, "of fewer pivots than rows has no counterpart")
    return at.emit(Extension(PivotsToPermutation()), operands[0])


def _triangular_solve(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    params, (a, b) = equation.params, operands
    if params["conjugate_a"] and not params["transpose_a"]:
        a = at.emit(CONJ, a)
    op = TriangularSolve(
        left=bool(params["left_side"]),
        lower=bool(params["lower"]),
        trans=("c" if params["conjugate_a"] else "t") if params["transpose_a"] else "n",
        unit=bool(params["unit_diagonal"]),
    )
    return at.emit(Extension(op), a, b)


def _fft(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """The transform along the last axes; the inverse ones divide by the number of points."""
    lengths = integers(equation.params["fft_lengths"])
    name = str(getattr(equation.params["fft_type"], "name", equation.params["fft_type"])).upper()
    kind = _KINDS[name.rpartition(".")[2]]
    scale = "inverse" if kind in ("c2c inverse", "c2r") else "none"
    source = [points(at, Exact(lengths[-1]))] if kind == "c2r" else []
    return at.emit(Extension(Fft(kind, len(lengths), scale)), *operands, *source)


TABLE: dict[str, Translation] = {
    "cholesky": lambda at, equation, operands: at.emit(
        Extension(Cholesky()), _hermitian(at, operands[0], lower=True)
    ),
    "eigh": _eigh,
    "fft": _fft,
    "lu": lambda at, equation, operands: at.emit_all(Extension(Lu()), operands[0]),
    "lu_pivots_to_permutation": _permutation,
    "qr": _qr,
    "svd": _svd,
    "triangular_solve": _triangular_solve,
}
