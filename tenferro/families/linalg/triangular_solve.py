"""The family of triangular systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.core import JvpSite, Slots, TransposeSite, V, add_terms
from tenferro.families.composite import KernelOp
from tenferro.families.linalg.matrix_op import (
    check_dtype,
    check_matrix,
    check_same,
    check_square,
    padded,
    rows,
    tril,
    triu,
)
from tenferro.ir import Dim, DType
from tenferro.ops.extension import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops.functions import Expression, expressions

__all__ = ["TriangularSolve", "TridiagonalSolve", "triangular_solve"]


# The family of triangular systems of equations.

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
    kernel = "tenferro.families.linalg.lapack:triangular_solve"

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


# The family of tridiagonal systems of equations.


@family_id(namespace="tenferro-linalg", name="tridiagonal_solve", version=1)
@dataclass(frozen=True)
class TridiagonalSolve(KernelOp):
    """X with T X = B; NaN where elimination meets a zero pivot.

    The inputs are the lower, main and upper diagonal of T, each of shape [..., n], and B. Row i of
    T has lower[i], main[i] and upper[i]; lower[0] and upper[n - 1] are not read.
    """

    input_count = 4
    output_count = 1
    kernel = "tenferro.families.linalg.lapack:tridiagonal_solve"

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
