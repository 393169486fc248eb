"""The family of LU factorizations, and the one of permutations that their pivots mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.core import JvpSite, Slots, V
from tenferro.errors import DTypeError, ShapeError
from tenferro.families.composite import KernelOp
from tenferro.families.linalg.matrix_op import (
    check_dtype,
    check_matrix,
    padded,
    picked_rows,
    tril,
    triu,
)
from tenferro.families.linalg.triangular_solve import triangular_solve
from tenferro.ir import INT32, Dim, DType, TensorMeta, minimum
from tenferro.ops.extension import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops.functions import Expression, apply, expressions, manipulation

__all__ = ["Lu", "PivotsToPermutation", "lu"]


@family_id(namespace="tenferro-linalg", name="lu", version=1)
@dataclass(frozen=True)
class Lu(KernelOp):
    """A = P L U by partial pivoting, for A of shape [..., m, n] with k = min(m, n).

    The outputs are: L below the diagonal, whose own diagonal is one, and U on and above it, in one
    array of the type of A; LAPACK's pivots, int32 of shape [..., k], where row i was exchanged with
    row pivots[i]; and the permutation, int32 of shape [..., m], with A[permutation] = L U.
    """

    input_count = 1
    output_count = 3
    kernel = "tenferro.families.linalg.lapack:lu"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types of the factors, the pivots and the permutation."""
        dtype = check_dtype("lu", *input_dtypes)
        batch, m, n = check_matrix("lu", dtype, input_shapes[0])
        pivots = (INT32, (*batch, minimum(m, n)))
        return [(dtype, tuple(input_shapes[0])), pivots, (INT32, (*batch, m))]


@family_id(namespace="tenferro-linalg", name="pivots_to_permutation", version=1)
@dataclass(frozen=True)
class PivotsToPermutation(KernelOp):
    """The permutation of [0, ..., n) that LAPACK's n pivots mean, as int32.

    A pivot out of range counts as the nearest one in range.
    """

    input_count = 1
    output_count = 1
    kernel = "tenferro.families.linalg.lapack:pivots_to_permutation"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of the pivots."""
        meta = TensorMeta.of(input_dtypes[0], tuple(input_shapes[0]))
        if input_dtypes[0] != INT32:
            raise DTypeError(
                f"lu_solve: pivots must be int32, got {meta}; convert them with astype(tn.int32)"
            )
        if not input_shapes[0]:
            raise ShapeError(f"lu_solve: takes pivots [..., n], got {meta}")
        return [(INT32, tuple(input_shapes[0]))]


def lu(a: Expression) -> tuple[Expression, Expression, Expression]:
    """The packed factors, the pivots and the permutation; see `Lu`."""
    packed, pivots, permutation = a.emit_all(Extension(Lu()))
    return packed, pivots, permutation


class LuRule(ExtensionAdRule):
    """L̇ = L tril₋₁(M) and U̇ = triu(M) U with M = L⁻¹ Pᵀ dA U⁻¹; see `_tangent`."""

    family_id = Lu.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The tangent of the packed factors; pivots have none."""
        packed, _, permutation, da = expressions(at.emitter, (*at.out, at.tangent[0]))
        return (_tangent(packed, picked_rows(da, permutation)).value, None, None)


class PivotsToPermutationRule(ExtensionAdRule):
    """Integers have no tangents."""

    family_id = PivotsToPermutation.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """None."""
        return (None,)


def _tangent(packed: Expression, da: Expression) -> Expression:
    """The tangent of the packed factors, from the tangent of A with its rows permuted.

    The leading square block is as stated above. A tall A has the rows L₂ = A₂ U⁻¹ below it, and a
    wide A the columns U₂ = L⁻¹ A₂ to its right. Either may be empty: which of them is not need not
    be known yet.
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
        result = _joined(result, right, -1)
    if k != m:
        below = da[..., k:, :k] - packed[..., k:, :k] @ du
        below = triangular_solve(square, below, left=False, lower=False)
        result = padded(result, -2, 0, m - k) + padded(padded(below, -2, k, 0), -1, 0, n - k)
    return result


def _joined(a: Expression, b: Expression, axis: int) -> Expression:
    result: Expression = apply(manipulation.concat, a, b, axis=axis)
    return result
