"""LU factors, what is solved by them, and the permutations that their pivots mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenferro.errors import DTypeError, ShapeError
from tenferro.families.linalg.lapack import scipy_linalg
from tenferro.families.linalg.matrix_op import (
    check_dtype,
    check_matrix,
    family,
    joined,
    padded,
    picked_rows,
    tril,
    triu,
)
from tenferro.families.linalg.triangular_solve import substituted, triangular_solve
from tenferro.ir import INT32, NumpyArray, TensorMeta, minimum
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
)
from tenferro.ops.functions import Expression

__all__ = ["Lu", "PivotsToPermutation", "lu"]


# Kernels by LAPACK's getrf. A zero pivot is left in U.


def factored(a: NumpyArray) -> tuple[NumpyArray, NumpyArray, NumpyArray]:
    """The packed factors, the pivots and the permutation of matrices."""
    *batch, m, n = a.shape
    packed = np.empty_like(a)
    pivots = np.empty((*batch, min(m, n)), np.int32)
    (getrf,) = scipy_linalg().get_lapack_funcs(("getrf",), (a,))
    if min(m, n):
        for index in np.ndindex(*batch):
            packed[index], pivots[index], _ = getrf(a[index])
    return packed, pivots, _permutations(pivots, m)


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


# The ops.


@family(name="lu")
@dataclass(frozen=True)
class Lu(FamilyOp):
    """A = P L U by partial pivoting, for A of shape [..., m, n] with k = min(m, n).

    The outputs are: L below the diagonal, whose own diagonal is one, and U on and above it, in one
    array of the type of A; LAPACK's pivots, int32 of shape [..., k], where row i was exchanged with
    row pivots[i]; and the permutation, int32 of shape [..., m], with A[permutation] = L U.
    """

    input_count = 1
    output_count = 3

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("lu", *input_dtypes)
        batch, m, n = check_matrix("lu", dtype, input_shapes[0])
        pivots = (INT32, (*batch, minimum(m, n)))
        return [(dtype, tuple(input_shapes[0])), pivots, (INT32, (*batch, m))]

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        return list(factored(a))

    def jvp(self, at: FormulaSite) -> Terms:
        """The tangent of the packed factors; pivots have none."""
        (packed, _, permutation), (da,) = at.results, at.tangents
        return [_tangent(packed, picked_rows(da, permutation)), None, None]


def _tangent(packed: Expression, da: Expression) -> Expression:
    """The tangent of the packed factors, from the tangent of A with its rows permuted.

    The leading square block is L̇ = L tril₋₁(M) and U̇ = triu(M) U with M = L⁻¹ Pᵀ dA U⁻¹. A tall A
    has the rows L₂ = A₂ U⁻¹ below it, and a wide A the columns U₂ = L⁻¹ A₂ to its right. Either may
    be empty: which of them is not need not be known yet.
    """
    m, n = packed.shape[-2:]
    k = minimum(m, n)
    square = packed if m == n else packed[..., :k, :k]
    half = triangular_solve(square, da if m == n else da[..., :k, :k], unit=True)
    inner = triangular_solve(square, half, left=False, lower=False)
    lower_part = tril(inner, -1)
    dl = lower_part + tril(square, -1) @ lower_part
    du = triu(inner) @ triu(square)
    result = dl + du
    if k != n:
        right = da[..., :k, k:] - dl @ packed[..., :k, k:]
        right = triangular_solve(square, right, unit=True)
        result = joined(result, right, -1)
    if k != m:
        below = da[..., k:, :k] - packed[..., k:, :k] @ du
        below = triangular_solve(square, below, left=False, lower=False)
        result = padded(result, -2, 0, m - k) + padded(padded(below, -2, k, 0), -1, 0, n - k)
    return result


def lu(a: Expression) -> tuple[Expression, Expression, Expression]:
    """The packed factors, the pivots and the permutation; see `Lu`."""
    packed, pivots, permutation = a.emit_all(Extension(Lu()))
    return packed, pivots, permutation


@family(name="pivots_to_permutation")
@dataclass(frozen=True)
class PivotsToPermutation(FamilyOp):
    """The permutation of [0, ..., n) that LAPACK's n pivots mean, as int32.

    A pivot out of range counts as the nearest one in range.
    """

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        meta = TensorMeta.of(input_dtypes[0], tuple(input_shapes[0]))
        if input_dtypes[0] != INT32:
            raise DTypeError(
                f"lu_solve: pivots must be int32, got {meta}; convert them with astype(tn.int32)"
            )
        if not input_shapes[0]:
            raise ShapeError(f"lu_solve: takes pivots [..., n], got {meta}")
        return [(INT32, tuple(input_shapes[0]))]

    def kernel(self, pivots: NumpyArray) -> list[NumpyArray]:
        n = pivots.shape[-1]
        return [_permutations(np.clip(pivots, 0, max(n - 1, 0)), n)]

    def jvp(self, at: FormulaSite) -> Terms:
        """Integers have no tangents."""
        return [None]
