"""LU factors, systems solved by them, and the permutations that their pivots mean."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np

from tenferro.errors import ConfigError, DTypeError, ShapeError, counted
from tenferro.ir import (
    INT32,
    AnyTensor,
    ArrayLike,
    NumpyArray,
    TensorMeta,
    assume_equal,
    dtype_kind,
    minimum,
)
from tenferro.linalg.arguments import (
    _pair,
    agreed,
    check_dtype,
    check_matrix,
    matrix,
    same_batch,
    shown_type,
    systems,
)
from tenferro.linalg.matrix_op import (
    concatenated,
    family,
    identity,
    padded,
    picked_rows,
    rows,
    scaled,
    scipy_linalg,
)
from tenferro.linalg.triangular_solve import substituted, transposition, triangular_solve
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
)
from tenferro.ops.functions import (
    apply,
    array_function,
    creation,
    emit,
    emit_all,
    manipulation,
    named,
    promote,
    reductions,
)
from tenferro.ops.functions.elementwise import where
from tenferro.ops.functions.manipulation import tril, triu
from tenferro.runtime import Tensor
from tenferro.transforms import TracedTensor

__all__ = ["LUFactorResult", "LUResult", "PermutedLUResult", "lu", "lu_factor", "lu_solve"]

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


def _tangent(packed: AnyTensor, da: AnyTensor) -> AnyTensor:
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
        result = concatenated(result, right, -1)
    if k != m:
        below = da[..., k:, :k] - packed[..., k:, :k] @ du
        below = triangular_solve(square, below, left=False, lower=False)
        result = padded(result, -2, 0, m - k) + padded(padded(below, -2, k, 0), -1, 0, n - k)
    return result


def lu_factors(a: AnyTensor) -> tuple[AnyTensor, AnyTensor, AnyTensor]:
    """The packed factors, the pivots and the permutation; see `Lu`."""
    packed, pivots, permutation = emit_all(Extension(Lu()), a)
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


class LUResult(NamedTuple):
    """a = p l u, for a permutation matrix p, which is real."""

    p: AnyTensor
    l: AnyTensor  # noqa: E741  # SciPy's name
    u: AnyTensor


class PermutedLUResult(NamedTuple):
    """a = pl u, where pl is p l."""

    pl: AnyTensor
    u: AnyTensor


@array_function(
    module="tenferro.linalg",
    results=lambda *parts: LUResult(*parts) if len(parts) == 3 else PermutedLUResult(*parts),
)
def lu(a: ArrayLike, permute_l: bool = False) -> LUResult | PermutedLUResult:
    """The factors of a = p l u by partial pivoting: l has a unit diagonal, u is upper triangular.

    Args:
        a: matrices, of shape [..., m, n]; with k = min(m, n), l is [..., m, k] and u [..., k, n].
        permute_l: return (p l, u) instead of (p, l, u).

    Raises:
        ShapeError: a has fewer than two axes.
        DTypeError: a is of half precision.

    >>> p, l, u = tn.linalg.lu([[1.0, 2.0], [2.0, 0.0]])
    >>> l, u
    (Tensor([[1. , 0. ],
            [0.5, 1. ]]), Tensor([[2., 0.],
            [0., 2.]]))
    """
    packed, _, permutation = lu_factors(matrix("lu", a))
    m, n = packed.shape[-2:]
    k = minimum(m, n)
    left = packed if k == n else packed[..., :, :k]
    ones = creation.eye(1, shape=(m, k), dtype=packed.dtype)
    lower = tril(left, -1) + ones
    upper = triu(packed if k == m else packed[..., :k, :])
    places = reductions.argsort(permutation)
    if permute_l:
        return PermutedLUResult(picked_rows(lower, places), upper)
    return LUResult(picked_rows(identity(packed.real), places), lower, upper)


# Systems solved by factors that users hold: `lu_factor`, `lu_solve` and the like.


class LUFactorResult(NamedTuple):
    """L below the diagonal and U on and above it, and LAPACK's pivots."""

    lu: AnyTensor
    piv: AnyTensor


@array_function(module="tenferro.linalg", results=LUFactorResult)
def lu_factor(a: ArrayLike) -> LUFactorResult:
    """The packed LU factors of square matrices and LAPACK's pivots, for `lu_solve`.

    Row i was exchanged with row piv[i], in order of i.

    Args:
        a: matrices, of shape [..., m, n].

    Raises:
        ShapeError: a has fewer than two axes.
        DTypeError: a is of half precision.

    >>> tn.linalg.lu_solve(tn.linalg.lu_factor([[2.0, 1.0], [1.0, 3.0]]), [3.0, 4.0])
    Tensor([1., 1.])
    """
    packed, pivots, _ = lu_factors(matrix("lu_factor", a))
    return LUFactorResult(packed, pivots)


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike], b: ArrayLike, trans: int | str = 0
) -> AnyTensor:
    """The solution x of op(a) x = b, by the factors of a.

    Args:
        lu_and_piv: what `lu_factor` returns for square a.
        b: right sides, of shape [..., n, k], or one vector of shape [n].
        trans: op(a) is a for 0 or "N", aᵀ for 1 or "T", aᴴ for 2 or "C".

    Pivots outside of 0 … n - 1 raise an error. Where they are traced, and so not known, the
    solution is NaN for each matrix with such a pivot.

    Raises:
        ShapeError: a is not square, b does not have its number of rows, or there are not as many
            pivots.
        DTypeError: an operand is of half precision, or pivots are not int32.
        ConfigError: `trans` is none of these, or a pivot is out of range.

    >>> tn.linalg.lu_solve(tn.linalg.lu_factor([[0.0, 2.0], [1.0, 0.0]]), [3.0, 4.0], trans=1)
    Tensor([2., 3.])
    """
    op = transposition("lu_solve", trans)
    packed, pivots = _pair("lu_solve", "lu_and_piv", lu_and_piv)
    known = not isinstance(pivots, TracedTensor)
    if known:
        _check_pivots(packed, pivots)
    return apply(_lu_solve, packed, pivots, b, trans=op, in_range=known)


def _check_pivots(packed: AnyTensor, pivots: AnyTensor) -> None:
    """Raise ConfigError if a pivot is no row. Other mistakes are found when the op is emitted."""
    places = pivots.numpy() if isinstance(pivots, Tensor) else np.asarray(pivots)
    if dtype_kind(places.dtype) not in "iu" or not places.size or not places.ndim:
        return
    wrong = places[(places < 0) | (places >= places.shape[-1])]
    if wrong.size:
        raise ConfigError(
            f"lu_solve: pivots {shown_type(pivots)} of {shown_type(packed)} must be from 0 to "
            f"{places.shape[-1] - 1}, got {wrong[0]}; pass what lu_factor returns"
        )


@named("lu_solve")
def _lu_solve(
    packed: AnyTensor, pivots: AnyTensor, b: AnyTensor, trans: str, in_range: bool
) -> AnyTensor:
    a, x, restore = systems("lu_solve", packed, b, repeat=False)
    (exchanges,) = promote((pivots,))
    permutation = emit(Extension(PivotsToPermutation()), exchanges)
    metas = [value.meta for value in (a, x, exchanges)]
    n, count = a.shape[-1], exchanges.shape[-1]
    lu, piv = metas[0], metas[2]
    agreed(
        n,
        count,
        f"lu_solve: lu {lu} has {counted(n, 'row')}, but piv {piv} has {counted(count, 'pivot')}",
    )
    assume_equal(n, count, f"lu_solve: lu {lu} and piv {piv}")
    a, x, column = same_batch("lu_solve", a, x, rows(permutation), types=metas)
    places = manipulation.squeeze(column, -1)
    if trans == "n":
        half = triangular_solve(a, picked_rows(x, places), unit=True)
        result = triangular_solve(a, half, lower=False)
    else:
        half = triangular_solve(a, x, lower=False, trans=trans)
        half = triangular_solve(a, half, unit=True, trans=trans)
        result = picked_rows(half, reductions.argsort(places))
    if not in_range:
        inside = (exchanges >= 0) & (exchanges < count)
        result = scaled(where(inside.all(axis=-1), 1.0, nan).astype(result.dtype), result)
    return restore(result)
