"""The family of tridiagonal systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.arrays import Expression, expressions
from tenferro.chainrules import JvpSite, Slots, TransposeSite, V, add_terms
from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.pieces import padded, rows
from tenferro.families.linalg.types import check_dtype, check_matrix, check_same
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.shape import Dim, DType


@family_id(namespace="tenferro-linalg", name="tridiagonal_solve", version=1)
@dataclass(frozen=True)
class TridiagonalSolve(KernelOp):
    """X with T X = B; NaN where elimination meets a zero pivot.

    The inputs are the lower, main and upper diagonal of T, each of shape [..., n], and B. Row i of
    T has lower[i], main[i] and upper[i]; lower[0] and upper[n - 1] are not read.
    """

    input_count = 4
    output_count = 1
    kernel = "tenferro.families.linalg.kernels.solving:tridiagonal_solve"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of B."""
        name = "tridiagonal_solve"
        dtype = check_dtype(name, *input_dtypes)
        *diagonals, b = input_shapes
        batch, n, _ = check_matrix(name, dtype, b)
        for diagonal in diagonals:
            check_same(name, "the axes of a diagonal", len(batch) + 1, len(diagonal))
            for ours, theirs in zip((*batch, n), diagonal, strict=True):
                check_same(name, "the sizes of a diagonal and of B", ours, theirs)
        return [(dtype, tuple(b))]


class TridiagonalSolveRule(ExtensionAdRule):
    """T⁻¹(dB − dT X); linear in B, with the adjoint T⁻ᴴ."""

    family_id = TridiagonalSolve.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The same system with another right side."""
        *diagonals, _ = expressions(at.emitter, at.primal)
        *changes, db = expressions(at.emitter, at.tangent)
        x = Expression(at.emitter, at.out[0])
        terms = [
            -(rows(change) * moved(x, by, -2))
            for change, by in zip(changes, (1, 0, -1), strict=True)
            if change is not None
        ]
        right = add_terms(at.emitter, [None if db is None else db.value, *_values(terms)])
        return (None if right is None else at.emit(Extension(op), *_values(diagonals), right),)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of B."""
        if any(at.active[:3]):
            return super().transpose_rule(op, at)
        lower, main, upper, ct = expressions(at.emitter, (*at.inputs[:3], at.ct[0]))
        turned = moved(upper.conj(), 1, -1)
        (x,) = turned.emit_all(Extension(op), main.conj(), moved(lower.conj(), -1, -1), ct)
        return (None, None, None, x.value)


def _values(terms: Sequence[Expression]) -> list[V]:
    return [term.value for term in terms]


def moved(x: Expression, by: int, axis: int) -> Expression:
    """x moved along an axis towards its end, with zeros for what comes in."""
    return padded(x, axis, by, -by) if by else x
