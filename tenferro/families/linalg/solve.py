"""The family of systems of equations, solved by factors, and the one of inverses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.core import JvpSite, Slots, TransposeSite, V
from tenferro.families.linalg.lu import lu
from tenferro.families.linalg.matrix_op import (
    FactoredOp,
    check_dtype,
    check_factored,
    check_matrix,
    check_same,
    sym,
)
from tenferro.ir import Dim, DType
from tenferro.ops.extension import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops.functions import Expression, expressions

__all__ = ["Inverse", "LuSolve", "inverse", "lu_solve"]


@family_id(namespace="tenferro-linalg", name="lu_solve", version=1)
@dataclass(frozen=True)
class LuSolve(FactoredOp):
    """X with op(A) X = B; infinities or NaN where A is singular.

    The inputs are A, its packed LU factors, its permutation, and B; for the kind `"pos"`, A, its
    Cholesky factor and B, and A stands for its Hermitian part.

    Attributes:
        trans: op(A) is A for `"n"`, Aᵀ for `"t"`, Aᴴ for `"c"`.
        kind: `"gen"`, or `"pos"` for positive definite A, with `trans="n"`.
    """

    trans: str = "n"
    kind: str = "gen"

    output_count = 1
    kernel = "tenferro.families.linalg.lapack:lu_solve"
    by_factors = "tenferro.families.linalg.lapack:lu_solve_by_factors"

    @property
    def input_count(self) -> int:
        """A, its factors, and B."""
        return 4 if self.kind == "gen" else 3

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of B."""
        dtype, batch, n = check_factored("solve", input_dtypes[:-1], input_shapes[:-1])
        check_dtype("solve", dtype, input_dtypes[-1])
        batch_b, rows, _ = check_matrix("solve", dtype, input_shapes[-1])
        check_same("solve", "the batch axes", len(batch), len(batch_b))
        for ours, theirs in zip((*batch, n), (*batch_b, rows), strict=True):
            check_same("solve", "the sizes of A and B", ours, theirs)
        return [(dtype, tuple(input_shapes[-1]))]


@family_id(namespace="tenferro-linalg", name="inverse", version=1)
@dataclass(frozen=True)
class Inverse(FactoredOp):
    """A⁻¹, of A, its packed LU factors and its permutation; infinities or NaN if A is singular."""

    input_count = 3
    output_count = 1
    kernel = "tenferro.families.linalg.lapack:inverse"
    by_factors = "tenferro.families.linalg.lapack:inverse_by_factors"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of A."""
        dtype, _, _ = check_factored("inv", input_dtypes, input_shapes)
        return [(dtype, tuple(input_shapes[0]))]


def lu_solve(a: Expression, b: Expression, *, trans: str = "n") -> Expression:
    """The solution of op(A) X = B, by the LU factors of A."""
    packed, _, permutation = lu(a)
    trans = "t" if trans == "c" and a.dtype.kind != "c" else trans
    (x,) = a.emit_all(Extension(LuSolve(trans)), packed, permutation, b)
    return x


def inverse(a: Expression) -> Expression:
    """A⁻¹, by the LU factors of A."""
    packed, _, permutation = lu(a)
    (x,) = a.emit_all(Extension(Inverse()), packed, permutation)
    return x


class LuSolveRule(ExtensionAdRule):
    """op(A)⁻¹(dB − op(dA) X), by the same factors; linear in B, with the adjoint op(A)⁻ᴴ."""

    family_id = LuSolve.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The same system with another right side."""
        assert isinstance(op, LuSolve)
        da, db = at.tangent[0], at.tangent[-1]
        if da is None and db is None:
            return (None,)
        a, *factors = expressions(at.emitter, at.primal[:-1])
        x, da, db = expressions(at.emitter, (at.out[0], da, db))
        right = db
        if da is not None:
            product = _applied(op, da) @ x
            right = -product if db is None else db - product
        (dx,) = a.emit_all(Extension(op), *factors, right)
        return (dx.value,)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of B."""
        assert isinstance(op, LuSolve)
        if any(at.active[:-1]):
            return super().transpose_rule(op, at)
        a, *factors = expressions(at.emitter, at.inputs[:-1])
        ct = Expression(at.emitter, at.ct[0])
        if op.kind == "pos":
            adjoint, conjugated = op, False
        elif a.dtype.kind != "c":
            adjoint, conjugated = replace(op, trans="t" if op.trans == "n" else "n"), False
        else:  # the adjoint of Aᵀ is the conjugate of A
            adjoint = replace(op, trans="c" if op.trans == "n" else "n")
            conjugated = op.trans == "t"
        (result,) = a.emit_all(Extension(adjoint), *factors, ct.conj() if conjugated else ct)
        return (*[None] * (len(at.active) - 1), (result.conj() if conjugated else result).value)


def _applied(op: LuSolve, da: Expression) -> Expression:
    """op(dA)."""
    if op.kind == "pos":
        return sym(da)
    if op.trans == "n":
        return da
    return da.H if op.trans == "c" else da.mT


class InverseRule(ExtensionAdRule):
    """−A⁻¹ dA A⁻¹: two products, which no further solution can be cheaper than."""

    family_id = Inverse.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The formula."""
        if at.tangent[0] is None:
            return (None,)
        x, da = expressions(at.emitter, (at.out[0], at.tangent[0]))
        return ((-(x @ da @ x)).value,)
