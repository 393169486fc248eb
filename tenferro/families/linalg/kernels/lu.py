"""LU factorizations by LAPACK's getrf. A zero pivot is left in U."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from tenferro.exec_ir import Array
from tenferro.families.linalg.lu import Lu, PivotsToPermutation


def lu(op: Lu, a: Array) -> list[Array]:
    """The packed factors, the pivots and the permutation."""
    return list(factored(a))


def factored(a: Array) -> tuple[Array, Array, Array]:
    """The packed factors, the pivots and the permutation of matrices."""
    *batch, m, n = a.shape
    packed = np.empty_like(a)
    pivots = np.empty((*batch, min(m, n)), np.int32)
    permutation = np.empty((*batch, m), np.int32)
    (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (a,))
    for index in np.ndindex(*batch):
        if min(m, n):
            packed[index], pivots[index], _ = getrf(a[index])
        permutation[index] = _permutation(pivots[index].tolist(), m)
    return packed, pivots, permutation


def pivots_to_permutation(op: PivotsToPermutation, pivots: Array) -> list[Array]:
    """The permutations."""
    result = np.empty_like(pivots)
    for index in np.ndindex(*pivots.shape[:-1]):
        result[index] = _permutation(pivots[index].tolist(), pivots.shape[-1])
    return [result]


def _permutation(pivots: list[int], size: int) -> list[int]:
    rows = list(range(size))
    for row, pivot in enumerate(pivots):
        rows[row], rows[pivot] = rows[pivot], rows[row]
    return rows


def packed_of(a: Array) -> tuple[Array, Array]:
    """The packed factors and the permutation of matrices."""
    packed, _, permutation = factored(a)
    return packed, permutation


def solved(packed: Array, permutation: Array, b: Array, trans: str = "n") -> Array:
    """op(A)⁻¹ b by the factors; infinities or NaN where A is singular."""
    trsm = scipy.linalg.get_blas_funcs("trsm", (packed, b))
    result = np.empty_like(b)
    for index in np.ndindex(*b.shape[:-2]):
        if b[index].size:
            result[index] = _solved(trsm, packed[index], permutation[index], b[index], trans)
    return result


def inverse_of(packed: Array, permutation: Array) -> Array:
    """The inverses of matrices by their factors."""
    identity = np.eye(packed.shape[-1], dtype=packed.dtype)
    return solved(packed, permutation, np.broadcast_to(identity, packed.shape))


def _solved(trsm: Any, packed: Array, permutation: Array, b: Array, trans: str) -> Array:
    if trans == "n":
        half = trsm(1.0, packed, b[permutation], lower=1, diag=1)
        return np.asarray(trsm(1.0, packed, half))
    code = {"t": 1, "c": 2}[trans]
    half = trsm(1.0, packed, b, trans_a=code)
    half = trsm(1.0, packed, half, lower=1, diag=1, trans_a=code)
    result = np.empty_like(half)
    result[permutation] = half
    return np.asarray(result)


def parity(permutation: Array) -> Array:
    """The sign of permutations, by the number of inversions: 1 or -1, as float64."""
    later = permutation[..., None, :] < permutation[..., :, None]
    inversions = np.triu(later, 1).sum((-2, -1))
    return np.asarray(1.0 - 2.0 * (inversions % 2))
