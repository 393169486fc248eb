"""Factorizations and solutions of matrices, and Fourier transforms, as extension families."""

from __future__ import annotations

from typing import Any

from tenferro import lax
from tenferro import numpy as tn
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
from tenferro.transforms import fori_loop
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, integers, of_function

_KINDS = {"FFT": "c2c", "IFFT": "c2c inverse", "RFFT": "r2c", "IRFFT": "c2r"}


def _hermitian(at: Reader, x: GlobalValKey, lower: bool) -> GlobalValKey:
    """The Hermitian matrix with the lower or upper triangle of x, which is all that JAX reads."""
    whole: Any = Expression(at, x)
    result: Any = hermitian(whole if lower else whole.H)
    key: GlobalValKey = result.value
    return key


def _eigh(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    subset = equation.params.get("subset_by_index")
    x = _hermitian(at, operands[0], bool(equation.params["lower"]))
    values, vectors = at.emit_all(Extension(Eigh()), x)
    return [_part(at, vectors, subset), _part(at, values, subset)]


def _part(
    at: Reader, x: GlobalValKey, subset: tuple[int, int] | None, axis: int = -1
) -> GlobalValKey:
    """The entries along an axis from one number up to another, without it."""
    if subset is None:
        return x
    return at.apply(lambda value: lax.slice_in_dim(value, *subset, axis=axis), x)[0]


def _svd(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params, subset = equation.params, equation.params.get("subset_by_index")
    vectors = bool(params["compute_uv"])
    op = Svd(bool(params["full_matrices"]) and vectors, vectors=vectors)
    found = at.emit_all(Extension(op), operands[0])
    if not vectors:
        return [_part(at, found[0], subset)]
    values, left, right = found
    return [_part(at, values, subset), _part(at, left, subset), _part(at, right, subset, -2)]


def _qr(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params = equation.params
    if params["pivoting"]:
        full = bool(params["full_matrices"])
        return at.apply(lambda x: lax.linalg.qr(x, pivoting=True, full_matrices=full), operands[0])
    op = Qr("complete" if params["full_matrices"] else "reduced")
    triangle, columns = at.emit_all(Extension(op), operands[0])
    return [columns, triangle]


def _permutation(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    if equation.invars[0].aval.shape != equation.outvars[0].aval.shape:
        size = int(equation.params["permutation_size"])
        return at.apply(
            lambda pivots: lax.linalg.lu_pivots_to_permutation(pivots, size), operands[0]
        )[0]
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


def _eig(params: Any, x: Any) -> Any:
    return lax.linalg.eig(
        x,
        compute_left_eigenvectors=params["compute_left_eigenvectors"],
        compute_right_eigenvectors=params["compute_right_eigenvectors"],
    )


def _schur(params: Any, x: Any) -> Any:
    return lax.linalg.schur(
        x,
        compute_schur_vectors=params["compute_schur_vectors"],
        sort_eig_vals=params["sort_eig_vals"],
        select_callable=params["select_callable"],
    )


def _packed(params: Any, x: Any) -> Any:
    """LAPACK's packed QR: R, and below its diagonal the v of reflections 1 - tau v vᴴ; the taus.

    The v begin with 1, which is not stored.
    """
    rows, columns = x.shape[-2:]
    count = min(rows, columns)
    row = tn.arange(rows)

    def reflected(k: Any, state: Any) -> Any:
        a, taus = state
        column = tn.take(a, k, axis=-1, mode="clip")
        first = tn.take(column, k, axis=-1, mode="clip")[..., None]
        below = tn.where(row > k, column, 0)
        rest = tn.sum(tn.abs(below) ** 2, axis=-1, keepdims=True)
        is_done = (rest == 0) & (tn.imag(first) == 0)
        length = tn.sqrt(tn.where(is_done, 1, tn.abs(first) ** 2 + rest))
        beta = tn.where(tn.real(first) > 0, -length, length).astype(x.dtype)
        tau = tn.where(is_done, 0, (beta - first) / beta)
        v = tn.where(row == k, 1, below / tn.where(is_done, 1, first - beta))
        v = tn.where(is_done, (row == k).astype(x.dtype), v)[..., None]
        right = (tn.arange(columns) > k).astype(x.dtype)
        moved = a - tau.conj()[..., None] * (v @ (v.conj().mT @ (a * right)))
        packed = tn.where(
            row == k, tn.where(is_done, first, beta), tn.where(row > k, v[..., 0], column)
        )
        own = tn.arange(columns) == k
        taus = tn.where(tn.arange(count) == k, tau, taus)
        return tn.where(own, packed[..., None], moved), taus

    return fori_loop(0, count, reflected, (x, tn.zeros_like(x[..., 0, :count])))


TABLE: dict[str, Translation] = {
    "cholesky": lambda at, equation, operands: at.emit(
        Extension(Cholesky()), _hermitian(at, operands[0], lower=True)
    ),
    "cholesky_update": of_function(lambda p, r, w: lax.linalg.cholesky_update(r, w)),
    "eig": of_function(_eig),
    "eigh": _eigh,
    "fft": _fft,
    "geqrf": of_function(_packed),
    "householder_product": of_function(lambda p, a, taus: lax.linalg.householder_product(a, taus)),
    "lu": lambda at, equation, operands: at.emit_all(Extension(Lu()), operands[0]),
    "lu_pivots_to_permutation": _permutation,
    "ormqr": of_function(
        lambda p, a, taus, c: lax.linalg.ormqr(a, taus, c, left=p["left"], transpose=p["transpose"])
    ),
    "qr": _qr,
    "schur": of_function(_schur),
    "svd": _svd,
    "symmetric_product": of_function(
        lambda p, a, c: lax.linalg.symmetric_product(a, c, alpha=p["alpha"], beta=p["beta"])
    ),
    "tridiagonal_solve": of_function(
        lambda p, *operands: lax.linalg.tridiagonal_solve(
            *operands, perturb_singular=p["perturb_singular"]
        )
    ),
    "triangular_solve": _triangular_solve,
}
