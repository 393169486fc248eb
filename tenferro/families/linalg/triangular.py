"""The family of triangular systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.arrays import Expression, expressions
from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.pieces import tril, triu
from tenferro.families.linalg.types import check_dtype, check_matrix, check_same, check_square
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.shape import Dim, DType

_ADJOINT = {"n": "c", "c": "n"}


@family_id(namespace="tenferro-linalg", name="triangular_solve", version=1)
@dataclass(frozen=True)
class TriangularSolve(KernelOp):
    """X with op(A) X = B, or X op(A) = B, for triangular A. Inputs A and B have equal batch sizes.

    Attributes:
        left: whether A stands on the left of X.
        lower: whether the lower triangle of A is read; the other one is not.
        trans: op(A) is A for `"n"`, Aᵀ for `"t"`, Aᴴ for `"c"`.
        unit: whether the diagonal of A is taken as ones.
    """

    left: bool = True
    lower: bool = True
    trans: str = "n"
    unit: bool = False

    input_count = 2
    output_count = 1
    kernel = "tenferro.families.linalg.kernels.solving:triangular_solve"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of B."""
        name = "solve_triangular"
        dtype = check_dtype(name, *input_dtypes)
        a, b = input_shapes
        batch, n = check_square(name, dtype, a)
        batch_b, rows, columns = check_matrix(name, dtype, b)
        check_same(name, "the batch axes", len(batch), len(batch_b))
        for ours, theirs in zip(batch, batch_b, strict=True):
            check_same(name, "batch sizes", ours, theirs)
        check_same(name, "the sizes of A and B", n, rows if self.left else columns)
        return [(dtype, tuple(b))]


def triangular_solve(
    a: Expression,
    b: Expression,
    *,
    left: bool = True,
    lower: bool = True,
    trans: str = "n",
    unit: bool = False,
) -> Expression:
    """The solution of a triangular system; see `TriangularSolve`."""
    trans = "t" if trans == "c" and a.dtype.kind != "c" else trans
    (x,) = a.emit_all(Extension(TriangularSolve(left, lower, trans, unit)), b)
    return x


class TriangularSolveRule(ExtensionAdRule):
    """op(A)⁻¹(dB − op(dA) X); linear in B, with the adjoint op(A)⁻ᴴ."""

    family_id = TriangularSolve.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The same system with another right side."""
        assert isinstance(op, TriangularSolve)
        a, _, x, da, db = expressions(at.emitter, (*at.primal, *at.out, *at.tangent))
        right = db
        if da is not None:
            moved = _transposed(_triangle(op, da), op.trans)
            product = moved @ x if op.left else x @ moved
            right = -product if db is None else db - product
        (dx,) = a.emit_all(Extension(op), right)
        return (dx.value,)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of B."""
        assert isinstance(op, TriangularSolve)
        if at.active[0]:
            return super().transpose_rule(op, at)
        a, ct = expressions(at.emitter, (at.inputs[0], at.ct[0]))
        if a.dtype.kind != "c":
            flipped = replace(op, trans="t" if op.trans == "n" else "n")
            (result,) = a.emit_all(Extension(flipped), ct)
        elif op.trans == "t":  # the adjoint of Aᵀ is the conjugate of A
            (result,) = a.emit_all(Extension(replace(op, trans="n")), ct.conj())
            result = result.conj()
        else:
            (result,) = a.emit_all(Extension(replace(op, trans=_ADJOINT[op.trans])), ct)
        return (None, result.value)


def _triangle(op: TriangularSolve, x: Expression) -> Expression:
    """The part of x that the op reads."""
    return tril(x, -int(op.unit)) if op.lower else triu(x, int(op.unit))


def _transposed(x: Expression, trans: str) -> Expression:
    """op(x)."""
    if trans == "n":
        return x
    return x.H if trans == "c" else x.mT
