"""LU factorizations by LAPACK's getrf. A zero pivot is left in U."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tenferro.exec_ir import Array
from tenferro.families.linalg.kernels.substitution import substituted
from tenferro.families.linalg.lu import Lu, PivotsToPermutation


def lu(op: Lu, a: Array) -> list[Array]:
    """The packed factors, the pivots and the permutation."""
    return list(factored(a))


def factored(a: Array) -> tuple[Array, Array, Array]:
    """The packed factors, the pivots and the permutation of matrices."""
    *batch, m, n = a.shape
    packed = np.empty_like(a)
    pivots = np.empty((*batch, min(m, n)), np.int32)
    (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (a,))
    if min(m, n):
        for index in np.ndindex(*batch):
            packed[index], pivots[index], _ = getrf(a[index])
    return packed, pivots, _permutations(pivots, m)


def pivots_to_permutation(op: PivotsToPermutation, pivots: Array) -> list[Array]:
    """The permutations."""
    n = pivots.shape[-1]
    return [_permutations(np.clip(pivots, 0, max(n - 1, 0)), n)]


def _permutations(pivots: Array, size: int) -> Array:
    """Where the rows 0, 1, … of each matrix come from, after all exchanges with pivots."""
    rows = np.empty((*pivots.shape[:-1], size), pivots.dtype)
    rows[...] = np.arange(size)
    for row in range(pivots.shape[-1]):
        pivot = pivots[..., row, None]
        exchanged = np.take_along_axis(rows, pivot, -1)
        np.put_along_axis(rows, pivot, rows[..., row, None], -1)
        rows[..., row] = exchanged[..., 0]
    return rows


def packed_of(a: Array) -> tuple[Array, Array]:
    """The packed factors and the permutation of matrices."""
    packed, _, permutation = factored(a)
    return packed, permutation


def solved(packed: Array, permutation: Array, b: Array, trans: str = "n") -> Array:
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


def inverse_of(packed: Array, permutation: Array) -> Array:
    """The inverses of matrices by their factors."""
    identity = np.eye(packed.shape[-1], dtype=packed.dtype)
    return solved(packed, permutation, np.broadcast_to(identity, packed.shape))


def parity(permutation: Array) -> Array:
    """The sign of permutations, by the number of inversions: 1 or -1, as float64."""
    later = permutation[..., None, :] < permutation[..., :, None]
    inversions = np.triu(later, 1).sum((-2, -1))
    return np.asarray(1.0 - 2.0 * (inversions % 2))
