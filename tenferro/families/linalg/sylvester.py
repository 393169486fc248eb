"""The family of linear matrix equations with a matrix on either side of the unknown one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.core import JvpSite, Slots, TransposeSite, V
from tenferro.families.composite import KernelOp
from tenferro.families.linalg.matrix_op import check_dtype, check_matrix, check_same, check_square
from tenferro.ir import Dim, DType
from tenferro.ops.extension import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops.functions import Expression, expressions

__all__ = ["Sylvester", "sylvester"]


@family_id(namespace="tenferro-linalg", name="sylvester", version=1)
@dataclass(frozen=True)
class Sylvester(KernelOp):
    """X with A X + X B = C, or X − A X B = C. Inputs A, B and C have equal batch sizes.

    NaN where the equation is singular, or so close to it that the precision does not suffice.

    Attributes:
        discrete: whether it is X − A X B = C, also called Stein's equation.
    """

    discrete: bool = False

    input_count = 3
    output_count = 1
    kernel = "tenferro.families.linalg.lapack:sylvester"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of C."""
        name = "solve_sylvester"
        dtype = check_dtype(name, *input_dtypes)
        batch, m = check_square(name, dtype, input_shapes[0])
        batch_b, n = check_square(name, dtype, input_shapes[1])
        batch_c, rows, columns = check_matrix(name, dtype, input_shapes[2])
        for others in (batch_b, batch_c):
            check_same(name, "the batch axes", len(batch), len(others))
            for ours, theirs in zip(batch, others, strict=True):
                check_same(name, "batch sizes", ours, theirs)
        check_same(name, "the rows of A and C", m, rows)
        check_same(name, "the columns of B and C", n, columns)
        return [(dtype, tuple(input_shapes[2]))]


def sylvester(a: Expression, b: Expression, c: Expression, *, discrete: bool = False) -> Expression:
    """The solution of a matrix equation; see `Sylvester`."""
    (x,) = a.emit_all(Extension(Sylvester(discrete)), b, c)
    return x


class SylvesterRule(ExtensionAdRule):
    """The same equation with another right side; linear in C, with Aᴴ and Bᴴ in the adjoint."""

    family_id = Sylvester.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The solution for dC − dA X − X dB, or for dC + dA X B + A X dB."""
        assert isinstance(op, Sylvester)
        a, b, _, x, da, db, dc = expressions(at.emitter, (*at.primal, *at.out, *at.tangent))
        parts = [] if dc is None else [dc]
        if da is not None:
            parts.append(da @ x @ b if op.discrete else -(da @ x))
        if db is not None:
            parts.append(a @ x @ db if op.discrete else -(x @ db))
        right = parts[0]
        for part in parts[1:]:
            right = right + part
        return (sylvester(a, b, right, discrete=op.discrete).value,)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of C."""
        assert isinstance(op, Sylvester)
        if at.active[0] or at.active[1]:
            return super().transpose_rule(op, at)
        a, b, ct = expressions(at.emitter, (*at.inputs[:2], at.ct[0]))
        return (None, None, sylvester(a.H, b.H, ct, discrete=op.discrete).value)
