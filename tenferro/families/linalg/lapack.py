"""Kernels of linear algebra on NumPy arrays, by SciPy and LAPACK; loaded when they first run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from tenferro.families.composite import evaluate_standard
from tenferro.families.linalg.cholesky import Cholesky
from tenferro.families.linalg.determinant import FIRST_LIMIT, SECOND_LIMIT, Adjugate, Determinant
from tenferro.families.linalg.eig import Eig, closeness
from tenferro.families.linalg.eigh import Eigh
from tenferro.families.linalg.lu import Lu, PivotsToPermutation
from tenferro.families.linalg.matrix_functions import MatrixFunction
from tenferro.families.linalg.pinv import Pinv
from tenferro.families.linalg.qr import Qr
from tenferro.families.linalg.schur import Hessenberg, Schur
from tenferro.families.linalg.solve import Inverse, LuSolve
from tenferro.families.linalg.subspaces import BlockCoupled, BlockSylvester
from tenferro.families.linalg.svd import Svd
from tenferro.families.linalg.sylvester import Sylvester
from tenferro.families.linalg.triangular_solve import TriangularSolve, TridiagonalSolve
from tenferro.ir import NumpyArray
from tenferro.ops.extension import ExtensionOp

# Kernels of single matrices applied to batches. A matrix that fails gives NaN, others do not.

Kernel = Callable[..., Sequence[Any]]


def over_batch(
    kernel: Kernel,
    arrays: Sequence[NumpyArray],
    ranks: Sequence[int],
    outputs: Sequence[NumpyArray],
) -> list[NumpyArray]:
    """Fill `outputs` with the results of `kernel` on each matrix of a batch.

    Where an input is not finite, or the kernel raises LinAlgError, inexact outputs are NaN and
    integer ones are left as they are.

    Args:
        kernel: takes one array for each input and returns one for each output.
        arrays: the inputs, of equal batch sizes.
        ranks: the number of axes of each input that are not batch axes.
        outputs: arrays to fill, with the same batch axes.
    """
    batch = arrays[0].shape[: arrays[0].ndim - ranks[0]]
    for index in np.ndindex(*batch):
        parts = [array[index] for array in arrays]
        results: Sequence[Any] | None = None
        if all(np.isfinite(part).all() for part in parts):
            try:
                results = kernel(*parts)
            except np.linalg.LinAlgError:
                results = None
        for number, output in enumerate(outputs):
            if results is not None:
                output[index] = results[number]
            elif output.dtype.kind in "fc":
                output[index] = np.nan
    return list(outputs)


def stacked(
    kernel: Kernel, arrays: Sequence[NumpyArray], outputs: Sequence[NumpyArray]
) -> list[NumpyArray]:
    """The results of a kernel of whole batches of matrices; matrix by matrix where it fails."""
    if all(np.isfinite(array).all() for array in arrays):
        try:
            results = kernel(*arrays)
        except np.linalg.LinAlgError:
            results = None
        if results is not None:
            return [
                np.asarray(result, dtype=output.dtype)
                for result, output in zip(results, outputs, strict=True)
            ]
    return over_batch(kernel, arrays, [2] * len(arrays), outputs)


# Linear systems of block derivatives, for coefficients that need not be diagonal.


def block_sylvester(
    op: BlockSylvester, c: NumpyArray, b: NumpyArray, right: NumpyArray
) -> list[NumpyArray]:
    """The solution of C X + sign · X B = R, as one system of all entries of X."""

    def one(c: NumpyArray, b: NumpyArray, right: NumpyArray) -> tuple[NumpyArray]:
        left = np.kron(c, np.eye(len(b))) + op.sign * np.kron(np.eye(len(c)), b.T)
        return (np.linalg.solve(left, right.reshape(-1, 1)).reshape(right.shape),)

    return over_batch(one, [c, b, right], [2, 2, 2], [np.empty_like(right)])


def coupled(
    op: BlockCoupled,
    b: NumpyArray,
    d: NumpyArray,
    right: NumpyArray,
    other: NumpyArray,
    *factors: NumpyArray,
) -> list[NumpyArray]:
    """The solution of X B − D Y = R, Y B − Dᴴ X = S, as one system of all entries of X and Y."""

    def one(
        b: NumpyArray, d: NumpyArray, right: NumpyArray, other: NumpyArray
    ) -> tuple[NumpyArray, NumpyArray]:
        m, n = d.shape
        middle = np.block([[np.zeros((m, m)), d], [np.conj(d.T), np.zeros((n, n))]])
        left = np.kron(np.eye(m + n), b.T) - np.kron(middle, np.eye(len(b)))
        both = np.concatenate([right, other])
        solution = np.linalg.solve(left, both.reshape(-1, 1)).reshape(both.shape)
        return solution[:m], solution[m:]

    outputs = [np.empty_like(right), np.empty_like(other)]
    return over_batch(one, [b, d, right, other], [2, 2, 2, 2], outputs)


# Triangular systems: by BLAS matrix by matrix, or row by row over a whole batch.

_TRANS = {"n": 0, "t": 1, "c": 2}

_SMALL = 8
"""Up to this size a call of BLAS takes longer than what it computes."""

_MANY = 4
"""How many matrices for each of their rows make a step over the batch worth its calls."""


def substituted(
    a: NumpyArray,
    b: NumpyArray,
    *,
    left: bool = True,
    lower: bool = False,
    trans: str = "n",
    unit: bool = False,
) -> NumpyArray:
    """X of op(A) X = B, or X op(A) = B. A zero on the diagonal gives infinities or NaN."""
    size, count = a.shape[-1], int(np.prod(b.shape[:-2]))
    if not b.size:
        return np.empty_like(b)
    if size <= _SMALL and count >= _MANY * size:
        t = a if trans == "n" else np.swapaxes(a, -1, -2)
        t = np.conj(t) if trans == "c" else t
        below = lower == (trans == "n")
        if left:
            return _row_by_row(t, b, below, unit)
        turned = _row_by_row(np.swapaxes(t, -1, -2), np.swapaxes(b, -1, -2), not below, unit)
        return np.ascontiguousarray(np.swapaxes(turned, -1, -2))
    trsm = scipy.linalg.get_blas_funcs("trsm", (a, b))
    options = {"side": int(not left), "lower": int(lower), "trans_a": _TRANS[trans]}
    result = np.empty_like(b)
    for index in np.ndindex(*b.shape[:-2]):
        result[index] = trsm(1.0, a[index], b[index], diag=int(unit), **options)
    return result


def _row_by_row(t: NumpyArray, b: NumpyArray, lower: bool, unit: bool) -> NumpyArray:
    """The solution of t X = B; t has no other elements than on one side of its diagonal."""
    x = np.array(b, order="C")
    size = t.shape[-1]
    with np.errstate(all="ignore"):
        for row in range(size) if lower else reversed(range(size)):
            if not unit:
                x[..., row, :] /= t[..., row, row, None]
            others = slice(row + 1, size) if lower else slice(row)
            x[..., others, :] -= t[..., others, row, None] * x[..., row, None, :]
    return x


# LU factorizations by LAPACK's getrf. A zero pivot is left in U.


def lu(op: Lu, a: NumpyArray) -> list[NumpyArray]:
    """The packed factors, the pivots and the permutation."""
    return list(factored(a))


def factored(a: NumpyArray) -> tuple[NumpyArray, NumpyArray, NumpyArray]:
    """The packed factors, the pivots and the permutation of matrices."""
    *batch, m, n = a.shape
    packed = np.empty_like(a)
    pivots = np.empty((*batch, min(m, n)), np.int32)
    (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (a,))
    if min(m, n):
        for index in np.ndindex(*batch):
            packed[index], pivots[index], _ = getrf(a[index])
    return packed, pivots, _permutations(pivots, m)


def pivots_to_permutation(op: PivotsToPermutation, pivots: NumpyArray) -> list[NumpyArray]:
    """The permutations."""
    n = pivots.shape[-1]
    return [_permutations(np.clip(pivots, 0, max(n - 1, 0)), n)]


def _permutations(pivots: NumpyArray, size: int) -> NumpyArray:
    """Where the rows 0, 1, … of each matrix come from, after all exchanges with pivots."""
    rows = np.empty((*pivots.shape[:-1], size), pivots.dtype)
    rows[...] = np.arange(size)
    for row in range(pivots.shape[-1]):
        pivot = pivots[..., row, None]
        exchanged = np.take_along_axis(rows, pivot, -1)
        np.put_along_axis(rows, pivot, rows[..., row, None], -1)
        rows[..., row] = exchanged[..., 0]
    return rows


def packed_of(a: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """The packed factors and the permutation of matrices."""
    packed, _, permutation = factored(a)
    return packed, permutation


def solved(
    packed: NumpyArray, permutation: NumpyArray, b: NumpyArray, trans: str = "n"
) -> NumpyArray:
    """op(A)⁻¹ b by the factors; infinities or NaN where A is singular."""
    rows = permutation[..., None]
    if trans == "n":
        half = substituted(packed, np.take_along_axis(b, rows, -2), lower=True, unit=True)
        return substituted(packed, half)
    half = substituted(packed, b, trans=trans)
    half = substituted(packed, half, lower=True, trans=trans, unit=True)
    result = np.empty_like(half)
    np.put_along_axis(result, rows, half, -2)
    return result


def inverse_of(packed: NumpyArray, permutation: NumpyArray) -> NumpyArray:
    """The inverses of matrices by their factors."""
    identity = np.eye(packed.shape[-1], dtype=packed.dtype)
    return solved(packed, permutation, np.broadcast_to(identity, packed.shape))


def parity(permutation: NumpyArray) -> NumpyArray:
    """The sign of permutations, by the number of inversions: 1 or -1, as float64."""
    later = permutation[..., None, :] < permutation[..., :, None]
    inversions = np.triu(later, 1).sum((-2, -1))
    return np.asarray(1.0 - 2.0 * (inversions % 2))


# Determinants by LU factors, and adjugates by the inverse or by singular values.


def determinant(op: Determinant, a: NumpyArray, *factors: NumpyArray) -> list[NumpyArray]:
    """The determinant, by factors of A that are computed here."""
    return determinant_by_factors(op, a, *packed_of(a))


def determinant_by_factors(
    op: Determinant, a: NumpyArray, packed: NumpyArray, permutation: NumpyArray
) -> list[NumpyArray]:
    """The determinant by the given factors."""
    diagonal = np.diagonal(packed, axis1=-2, axis2=-1)
    sign = parity(permutation).astype(a.dtype)
    with np.errstate(all="ignore"):
        if op.kind == "det":
            return [np.asarray(sign * diagonal.prod(-1))]
        sizes = np.abs(diagonal)
        phases = diagonal / np.where(sizes == 0, 1, sizes)
        return [np.asarray(sign * phases.prod(-1)), np.asarray(np.log(sizes).sum(-1))]


def adjugate(op: Adjugate, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
    """The adjugate, or its derivative, by the singular values of A: no division, for every A.

    A = U S Vᴴ has adj(A) = det(U Vᴴ) V adj(S) Uᴴ. Along F = Uᴴ E V, adj(S) changes by −P∘F off the
    diagonal, and by P diag(F) on it, where P_ij is the product of all s but s_i and s_j.
    """
    finite = np.isfinite(a).all((-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(finite, a, 0))
    phase = np.linalg.det(u @ vh)[..., None, None]
    v, uh = _adjoint(vh), _adjoint(u)
    if op.order == 0:
        inner = np.zeros_like(a)
        np.einsum("...ii->...i", inner)[...] = _leave_one_out(s)
    else:
        inner = _changed(s, uh @ rest[-1] @ v)
    result = np.where(finite, phase * (v @ inner @ uh), np.nan)
    return [result.astype(a.dtype)]


def adjugate_by_factors(op: Adjugate, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
    """The same by the factors where the matrix is far enough from singular ones.

    det(A) A⁻¹ by LU is adj(A) of a matrix that is within rounding of A: no digits are lost until
    the inverse overflows. In its derivative det (tr(A⁻¹E) A⁻¹ − A⁻¹EA⁻¹), terms that are larger by
    the condition number cancel.
    """
    packed, permutation, *direction = rest
    if a.shape[-1] == 1:
        return [np.zeros_like(a) if direction else np.ones_like(a)]
    (det,) = determinant_by_factors(Determinant(), a, packed, permutation)
    with np.errstate(all="ignore"):
        x = inverse_of(packed, permutation)
        result = _by_inverse(det[..., None, None], x, direction)
        condition = np.linalg.norm(a, axis=(-2, -1)) * np.linalg.norm(x, axis=(-2, -1))
    exponent = SECOND_LIMIT if op.order else FIRST_LIMIT
    near = ~(condition < float(np.finfo(a.dtype).eps) ** -exponent)
    if near.any():
        (exact,) = adjugate(op, a[near], *[array[near] for array in rest])
        result[near] = exact
    return [result]


def _by_inverse(det: NumpyArray, x: NumpyArray, direction: Sequence[NumpyArray]) -> NumpyArray:
    if not direction:
        return np.asarray(det * x)
    product = x @ direction[0]
    total = np.trace(product, axis1=-2, axis2=-1)[..., None, None]
    return np.asarray(det * (total * x - product @ x))


def _adjoint(x: NumpyArray) -> NumpyArray:
    return np.asarray(x.swapaxes(-1, -2).conj())


def _leave_one_out(s: NumpyArray) -> NumpyArray:
    """The product of all elements along the last axis but one, for each of them."""
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return np.asarray((before * after)[..., : s.shape[-1]])


def _changed(s: NumpyArray, f: NumpyArray) -> NumpyArray:
    """The change of the adjugate of diag(s) along F."""
    n = s.shape[-1]
    diagonal = np.eye(n, dtype=bool)
    without = np.where(diagonal, 1, s[..., None, :])
    pairs = np.where(diagonal, 0, _leave_one_out(without))
    on_it = (pairs * np.diagonal(f, axis1=-2, axis2=-1)[..., None, :]).sum(-1)
    return np.where(diagonal, on_it[..., None], -pairs * f)


# Solutions of matrix equations.


def sylvester(op: Sylvester, a: NumpyArray, b: NumpyArray, c: NumpyArray) -> list[NumpyArray]:
    """The solution by Schur forms (Bartels and Stewart, 1972)."""
    kernel = _stein if op.discrete else _sylvester
    with np.errstate(all="ignore"):
        return over_batch(
            lambda x, y, z: (kernel(x, y, z),), [a, b, c], [2, 2, 2], [np.empty_like(c)]
        )


def _sylvester(a: NumpyArray, b: NumpyArray, c: NumpyArray) -> NumpyArray:
    """X with a X + X b = c, by LAPACK's trsyl."""
    if not c.size:
        return c
    r, u = scipy.linalg.schur(a)
    s, v = scipy.linalg.schur(b.conj().T)
    right = u.conj().T @ c @ v
    trsyl = scipy.linalg.get_lapack_funcs("trsyl", (r, s, right))
    y, scale, info = trsyl(r, s, right, tranb="C")
    if info:  # common eigenvalues, which trsyl moves apart
        raise np.linalg.LinAlgError("singular")
    return np.asarray(u @ (y / scale) @ v.conj().T)


def _stein(a: NumpyArray, b: NumpyArray, c: NumpyArray) -> NumpyArray:
    """X with X − a X b = c, column by column of the complex Schur forms."""
    if not c.size:
        return c
    r, u = scipy.linalg.schur(a, output="complex")
    s, v = scipy.linalg.schur(b, output="complex")
    right = u.conj().T @ c @ v
    y = np.zeros_like(right)
    eps = np.finfo(c.dtype).eps
    for k in range(len(s)):
        matrix = np.eye(len(r)) - s[k, k] * r
        size = max(1.0, float(np.abs(r).max() * np.abs(s).max()))
        if np.abs(np.diag(matrix)).min() <= eps * size:
            raise np.linalg.LinAlgError("singular")
        column = right[:, k] + r @ (y @ s[:, k])
        y[:, k] = scipy.linalg.solve_triangular(matrix, column)
    x = u @ y @ v.conj().T
    return np.asarray(x if c.dtype.kind == "c" else x.real)


def _quotient(b: NumpyArray, d: NumpyArray) -> NumpyArray:
    return b / d if d[0] != 0 else np.full_like(b, np.nan)


# Factorizations.


def cholesky(op: Cholesky, a: NumpyArray) -> list[NumpyArray]:
    """The lower factor, by LAPACK's potrf."""
    hermitian = (a + np.conj(a.swapaxes(-1, -2))) / 2
    return stacked(lambda x: (np.linalg.cholesky(x),), [hermitian], [np.empty_like(a)])


def qr(op: Qr, a: NumpyArray) -> list[NumpyArray]:
    """R and Q, by LAPACK's geqrf."""
    *batch, m, n = a.shape
    k = m if op.mode == "complete" else min(m, n)
    upper, columns = np.empty((*batch, k, n), a.dtype), np.empty((*batch, m, k), a.dtype)
    if op.mode == "r":
        return stacked(lambda x: (np.linalg.qr(x, mode="r"),), [a], [upper])

    def kernel(x: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
        q, r = np.linalg.qr(x, mode="complete" if op.mode == "complete" else "reduced")
        return r, q

    return stacked(kernel, [a], [upper, columns])


# Eigenvalues, functions and unitary forms of general square matrices.


def eig(op: Eig, a: NumpyArray) -> list[NumpyArray]:
    """Values, vectors and the inverse of these, by LAPACK's geev and gesv."""
    dtype = np.result_type(a.dtype, np.complex64)
    shapes = [a.shape[:-1], a.shape, a.shape][: op.results]
    outputs = [np.empty(shape, dtype) for shape in shapes]
    if op.results == 1:
        return stacked(lambda x: (np.linalg.eigvals(x),), [a], outputs)
    results = stacked(lambda x: tuple(np.linalg.eig(x)), [a], outputs[:2])
    with np.errstate(invalid="ignore"):
        results[1] = with_real_pivots(results[1])
    if op.results == 3:
        results += stacked(lambda x: (np.linalg.inv(x),), [results[1]], outputs[2:])
    return results


def with_real_pivots(vectors: NumpyArray) -> NumpyArray:
    """The columns turned so that the largest entry, the first of several, is real and positive."""
    if not vectors.size:
        return vectors
    size = np.abs(vectors)
    near = size >= size.max(axis=-2, keepdims=True) * (1 - closeness(vectors.dtype))
    place = np.argmax(near, axis=-2)[..., None, :]
    pivot = np.take_along_axis(vectors, place, -2)
    turned: NumpyArray = vectors * (np.conj(pivot) / np.abs(pivot))
    np.put_along_axis(turned, place, np.abs(pivot).astype(vectors.dtype), -2)
    return turned


def matrix_function(op: MatrixFunction, a: NumpyArray) -> list[NumpyArray]:
    """The function by SciPy; NaN for each matrix without a result in the dtype."""
    if not a.size:
        return [a]
    function = _FUNCTIONS[op.name]
    with warnings.catch_warnings(record=True), np.errstate(all="ignore"):
        warnings.simplefilter("always")
        return over_batch(lambda x: (function(x),), [a], [2], [np.empty_like(a)])


def _log(a: NumpyArray) -> NumpyArray:
    wide = a.astype(np.result_type(a.dtype, np.float64))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = scipy.linalg.logm(wide)
    if any("exactly singular" in str(each.message) for each in caught):
        raise np.linalg.LinAlgError("singular")
    return _in_dtype(result, a.dtype)


def _sqrt(a: NumpyArray) -> NumpyArray:
    wide = a.astype(np.result_type(a.dtype, np.float64))
    result = scipy.linalg.sqrtm(wide)
    error = np.abs(result @ result - wide).max(initial=0)
    bound = 1e3 * len(a) * np.finfo(wide.dtype).eps * np.sum(np.abs(result) ** 2)
    if not error <= bound:  # a singular matrix may have no square root
        raise np.linalg.LinAlgError("no square root")
    return _in_dtype(result, a.dtype)


def _in_dtype(result: NumpyArray, dtype: Any) -> NumpyArray:
    """The result in a dtype, without an imaginary part for a real one.

    Raises:
        LinAlgError: it has one.
    """
    if dtype.kind == "f" and result.dtype.kind == "c":
        size = np.abs(result).max(initial=0)
        if not np.abs(result.imag).max(initial=0) <= 1e-8 * size:
            raise np.linalg.LinAlgError("not real")
        result = result.real
    return np.asarray(result, dtype)


_FUNCTIONS: dict[str, Callable[[NumpyArray], NumpyArray]] = {
    "exp": scipy.linalg.expm,
    "log": _log,
    "sqrt": _sqrt,
}


def unitary_form(op: Schur | Hessenberg, a: NumpyArray) -> list[NumpyArray]:
    """The form, and Q, by LAPACK's gees or gehrd."""
    kernel = _schur if isinstance(op, Schur) else _hessenberg
    outputs = [np.empty_like(a), np.empty_like(a)]
    return over_batch(kernel, [a], [2], outputs)[: op.output_count]


def _schur(a: NumpyArray) -> Sequence[NumpyArray]:
    return scipy.linalg.schur(a) if a.size else (a, a)


def _hessenberg(a: NumpyArray) -> Sequence[NumpyArray]:
    return scipy.linalg.hessenberg(a, calc_q=True) if a.size else (a, a)


# Ops of a Hermitian matrix that are formulas of its eigenvalues and eigenvectors.


def of_eigenvectors(
    op: ExtensionOp, a: NumpyArray, w: NumpyArray, v: NumpyArray, *others: NumpyArray
) -> list[NumpyArray]:
    """The formula, with the given factors of A if they are such, else with others."""
    if not _diagonalize(a, w, v):
        w, v = Eigh().eager_execute([a])
    return evaluate_standard(op, [a, w, v, *others])


def _diagonalize(a: NumpyArray, w: NumpyArray, v: NumpyArray) -> bool:
    """Whether (A + Aᴴ) / 2 = V diag(w) Vᴴ, and V is unitary, up to rounding."""
    tolerance = 100 * np.finfo(w.dtype).eps
    adjoint = np.conj(v.swapaxes(-1, -2))
    error = np.abs((v * w[..., None, :]) @ adjoint - (a + np.conj(a.swapaxes(-1, -2))) / 2)
    turned = np.abs(adjoint @ v - np.eye(v.shape[-1]))
    size = np.abs(w).max(axis=-1, initial=0.0)[..., None, None]
    return bool(np.all(error <= tolerance * size) and np.all(turned <= tolerance))


# Singular values, and what is computed from them.


def svd(op: Svd, a: NumpyArray) -> list[NumpyArray]:
    """Values and vectors, by LAPACK's gesdd."""
    (*batch, m, n), k = a.shape, min(a.shape[-2:])
    values = np.empty((*batch, k), np.finfo(a.dtype).dtype)
    if not op.vectors:
        return stacked(lambda x: (np.linalg.svd(x, compute_uv=False),), [a], [values])
    rows, columns = (m, n) if op.full_matrices else (k, k)
    left, right = np.empty((*batch, m, rows), a.dtype), np.empty((*batch, columns, n), a.dtype)

    def kernel(x: NumpyArray) -> tuple[NumpyArray, NumpyArray, NumpyArray]:
        u, s, vh = np.linalg.svd(x, full_matrices=op.full_matrices)
        return s, u, vh

    return stacked(kernel, [a], [values, left, right])


def pinv(op: Pinv, a: NumpyArray, *rtol: NumpyArray) -> list[NumpyArray]:
    """The pseudoinverse by singular values."""
    result = np.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if 0 in a.shape:
        return [result]

    def kernel(x: NumpyArray, *rtol: NumpyArray) -> tuple[NumpyArray]:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        cutoff = rtol[0][..., 0] if rtol else op.cutoff(x.shape[-2], x.shape[-1], s.dtype)
        kept = s > cutoff * s[..., :1]
        inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
        adjoint = np.conj(vh.swapaxes(-1, -2)) * inverse[..., None, :]
        return (adjoint @ np.conj(u.swapaxes(-1, -2)),)

    return stacked(kernel, [a, *[each[..., None, None] for each in rtol]], [result])


# Solutions of systems of equations.


def triangular_solve(op: TriangularSolve, a: NumpyArray, b: NumpyArray) -> list[NumpyArray]:
    """The solution. A zero on the diagonal gives infinities or NaN."""
    return [substituted(a, b, left=op.left, lower=op.lower, trans=op.trans, unit=op.unit)]


def tridiagonal_solve(
    op: TridiagonalSolve, lower: NumpyArray, main: NumpyArray, upper: NumpyArray, b: NumpyArray
) -> list[NumpyArray]:
    """The solution by LAPACK's gtsv."""
    (gtsv,) = scipy.linalg.get_lapack_funcs(("gtsv",), (main, b))
    result = np.empty_like(b)
    for index in np.ndindex(*main.shape[:-1]):
        if not b[index].size:
            continue
        if len(main[index]) == 1:
            with np.errstate(all="ignore"):
                result[index] = b[index] / main[index]
            continue
        *_, x, info = gtsv(lower[index][1:], main[index], upper[index][:-1], b[index])
        result[index] = x if info == 0 else np.nan
    return [result]


# Eigenvalues and singular values.


def eigh(op: Eigh, a: NumpyArray) -> list[NumpyArray]:
    """Values and vectors, by LAPACK's syevd."""
    hermitian = (a + np.conj(a.swapaxes(-1, -2))) / 2
    values = np.empty(a.shape[:-1], np.finfo(a.dtype).dtype)
    if not op.vectors:
        return stacked(lambda x: (np.linalg.eigvalsh(x),), [hermitian], [values])
    return stacked(lambda x: tuple(np.linalg.eigh(x)), [hermitian], [values, np.empty_like(a)])


# Solutions and inverses by LU or Cholesky factors.

_FORWARD, _BACKWARD = TriangularSolve(), TriangularSolve(trans="c")


def lu_solve(op: LuSolve, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
    """The solution, by factors of A that are computed here."""
    factors = packed_of(a) if op.kind == "gen" else cholesky(Cholesky(), a)
    return lu_solve_by_factors(op, a, *factors, rest[-1])


def lu_solve_by_factors(op: LuSolve, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
    """The solution by the given factors."""
    *factors, b = rest
    if op.kind == "gen":
        packed, permutation = factors
        return [solved(packed, permutation, b, op.trans)]
    (lower,) = factors
    return triangular_solve(_BACKWARD, lower, *triangular_solve(_FORWARD, lower, b))


def inverse(op: Inverse, a: NumpyArray, *factors: NumpyArray) -> list[NumpyArray]:
    """The inverse, by factors of A that are computed here."""
    return inverse_by_factors(op, a, *packed_of(a))


def inverse_by_factors(
    op: Inverse, a: NumpyArray, packed: NumpyArray, permutation: NumpyArray
) -> list[NumpyArray]:
    """The inverse by the given factors."""
    return [inverse_of(packed, permutation)]


# Ops that take the singular values and vectors of an operand as hints.


def of_factors(
    op: ExtensionOp,
    a: NumpyArray,
    s: NumpyArray,
    u: NumpyArray,
    vh: NumpyArray,
    *others: NumpyArray,
) -> list[NumpyArray]:
    """The formula, with the given factors of A if they are such, else with others."""
    if not _decompose(a, s, u, vh):
        s, u, vh = Svd().eager_execute([a])
    return evaluate_standard(op, [a, s, u, vh, *others])


def _decompose(a: NumpyArray, s: NumpyArray, u: NumpyArray, vh: NumpyArray) -> bool:
    """Whether A = U diag(s) Vᴴ, with isometries U and V, up to rounding."""
    tolerance = 100 * np.finfo(s.dtype).eps
    one = np.eye(s.shape[-1])
    left = np.abs(np.conj(u.swapaxes(-1, -2)) @ u - one)
    right = np.abs(vh @ np.conj(vh.swapaxes(-1, -2)) - one)
    error = np.abs((u * s[..., None, :]) @ vh - a)
    size = np.abs(s).max(axis=-1, initial=0.0)[..., None, None]
    close = np.all(left <= tolerance) and np.all(right <= tolerance)
    return bool(close and np.all(error <= tolerance * size))
