"""The family of tridiagonal systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.arrays import rearrange
from tenferro.arrays.notation import Expression, apply, expressions
from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.pieces import rows
from tenferro.families.linalg.types import check_dtype, check_matrix, check_same
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.shape import Dim, DType


@family_id(namespace="tenferro-linalg", name="tridiagonal_solve", version=1)
@dataclass(frozen=True)
class TridiagonalSolve(KernelOp):
    """X with T X = B for tridiagonal T. Inputs are its diagonals, of shape [..., n], and B.

    They are dl, d and du: T[i, i-1] = dl[i], T[i, i] = d[i] and T[i, i+1] = du[i]. The first of dl
    and the last of du are not read. All have equal batch sizes. NaN where T is singular.
    """

    input_count = 4
    output_count = 1
    kernel = "tenferro.families.linalg.kernels.equations:tridiagonal_solve"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of B."""
        name = "tridiagonal_solve"
        dtype = check_dtype(name, *input_dtypes)
        *diagonals, b = input_shapes
        batch, n, _ = check_matrix(name, dtype, b)
        for each in diagonals:
            check_same(name, "the axes of a diagonal and of B, less one,", len(each), len(b) - 1)
            for ours, theirs in zip((*batch, n), each, strict=True):
                check_same(name, "the sizes of B and of a diagonal", ours, theirs)
        return [(dtype, tuple(b))]


class TridiagonalSolveRule(ExtensionAdRule):
    """T⁻¹(dB − dT X); linear in B, with the adjoint T⁻ᴴ."""

    family_id = TridiagonalSolve.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The same system with another right side."""
        dl, d, du, _, x = expressions(at.emitter, (*at.primal, *at.out))
        *diagonals, db = expressions(at.emitter, at.tangent)
        if x.shape[-2] == 0:
            return (x.value,)
        parts = [] if db is None else [db]
        for tangent, moved in zip(diagonals, (shifted(x, 1), x, shifted(x, -1)), strict=True):
            if tangent is not None:
                parts.append(-(rows(tangent) * moved))
        right = parts[0]
        for part in parts[1:]:
            right = right + part
        (dx,) = dl.emit_all(Extension(op), d, du, right)
        return (dx.value,)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of B."""
        if any(at.active[:3]):
            return super().transpose_rule(op, at)
        dl, d, du, ct = expressions(at.emitter, (*at.inputs[:3], at.ct[0]))
        if d.shape[-1] == 0:
            return (None, None, None, ct.value)
        below, above = shifted(rows(du), 1)[..., 0], shifted(rows(dl), -1)[..., 0]
        (result,) = below.conj().emit_all(Extension(op), d.conj(), above.conj(), ct)
        return (None, None, None, result.value)


def shifted(x: Expression, by: int) -> Expression:
    """The rows of x moved down by one, or up for -1, with zeros in the free place."""
    widths = [(0, 0)] * (x.ndim - 2)
    kept = x[..., :-1, :] if by == 1 else x[..., 1:, :]
    border = (1, 0) if by == 1 else (0, 1)
    result: Expression = apply(rearrange.pad, kept, pad_width=[*widths, border, (0, 0)])
    return result
