"""The families of determinants and of adjugates, by LU factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.arrays import Expression, apply, elementwise, expressions, filling, values_of
from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.families.linalg.factored import FactoredOp, check_factored
from tenferro.families.linalg.lu import lu
from tenferro.families.linalg.lu_solve import Inverse
from tenferro.families.linalg.pieces import scaled, trace
from tenferro.families.linalg.types import REAL_OF, check_same
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.shape import Dim, DType


@family_id(namespace="tenferro-linalg", name="determinant", version=1)
@dataclass(frozen=True)
class Determinant(FactoredOp):
    """det A, or its sign and the logarithm of its modulus, for A, its LU factors and permutation.

    Attributes:
        kind: `"det"` or `"slogdet"`.
    """

    kind: str = "det"

    input_count = 3
    kernel = "tenferro.families.linalg.kernels.determinants:determinant"
    by_factors = "tenferro.families.linalg.kernels.determinants:determinant_by_factors"

    @property
    def output_count(self) -> int:
        """One, or two for `"slogdet"`."""
        return 1 if self.kind == "det" else 2

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """One number for each matrix."""
        dtype, batch, _ = check_factored(self.kind, input_dtypes, input_shapes)
        return [(dtype, batch), (REAL_OF[dtype], batch)][: self.output_count]


@family_id(namespace="tenferro-linalg", name="adjugate", version=1)
@dataclass(frozen=True)
class Adjugate(FactoredOp):
    """The adjugate of A, or its derivative along E; right for singular matrices too.

    The inputs are A, its packed LU factors, its permutation, and E for order 1. adj(A) is the
    matrix with A adj(A) = det(A), of rank one where A lacks one rank and zero where it lacks more.

    Attributes:
        order: 0, or 1 for the derivative.
    """

    order: int = 0

    output_count = 1
    kernel = "tenferro.families.linalg.kernels.determinants:adjugate"
    by_factors = "tenferro.families.linalg.kernels.determinants:adjugate_by_factors"

    @property
    def input_count(self) -> int:
        """A, its factors, and E for order 1."""
        return 3 + self.order

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of A."""
        dtype, batch, n = check_factored("det", input_dtypes[:3], input_shapes[:3])
        for direction in input_shapes[3:]:
            for ours, theirs in zip((*batch, n, n), direction, strict=True):
                check_same("det", "the sizes of A and E", ours, theirs)
        return [(dtype, tuple(input_shapes[0]))]


FIRST_LIMIT, SECOND_LIMIT, THIRD_LIMIT = 3 / 4, 1 / 3, 1 / 4
"""Exponents of 1/ε: beyond these condition numbers (of Frobenius) the formulas with A⁻¹ for the
first, second and third derivative of det lose too many digits; see the kernel of `adjugate`."""


def determinant(a: Expression, kind: str) -> tuple[Expression, ...]:
    """The outputs of `Determinant`, by the LU factors of A."""
    packed, _, permutation = lu(a)
    return a.emit_all(Extension(Determinant(kind)), packed, permutation)


class DeterminantRule(ExtensionAdRule):
    """tr(adj(A) dA) for the determinant, tr(A⁻¹ dA) for its logarithm."""

    family_id = Determinant.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The formulas. A tangent turns the sign of a complex determinant only."""
        assert isinstance(op, Determinant)
        if at.tangent[0] is None:
            return (None,) * op.output_count
        a, packed, permutation, da = expressions(at.emitter, (*at.primal, at.tangent[0]))
        family = Adjugate() if op.kind == "det" else Inverse()
        (matrix,) = a.emit_all(Extension(family), packed, permutation)
        change = (matrix.mT * da).sum((-2, -1))
        if op.kind == "det":
            return (change.value,)
        growth: Expression = apply(elementwise.real, change)
        if a.dtype.kind != "c":
            return (None, growth.value)
        sign = Expression(at.emitter, at.out[0])
        return values_of((sign * (change - growth.astype(a.dtype)), growth))


class AdjugateRule(ExtensionAdRule):
    """One order more. Order 2 is a formula with A⁻¹: NaN where A is near a singular matrix."""

    family_id = Adjugate.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The derivative along dA; for order 1 also along the change of the direction."""
        assert isinstance(op, Adjugate)
        first = Extension(Adjugate(1))
        a, packed, permutation, *_ = values = expressions(at.emitter, at.primal)
        da, *changes = expressions(at.emitter, (at.tangent[0], *at.tangent[3:]))
        terms = []
        if da is not None:
            along = a.emit_all(first, packed, permutation, da)[0] if op.order == 0 else None
            terms.append(_second(values, da) if along is None else along)
        terms += [
            a.emit_all(first, packed, permutation, change)[0]
            for change in changes
            if change is not None
        ]
        return (sum(terms[1:], terms[0]).value if terms else None,)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of E is D adj(A)[ctᴴ]ᴴ, for tr(D adj(A)[E] F) is symmetric in E and F."""
        if any(at.active[:3]):
            return super().transpose_rule(op, at)
        a, *factors, ct = expressions(at.emitter, (*at.inputs[:3], at.ct[0]))
        (result,) = a.emit_all(Extension(op), *factors, ct.H)
        return (None, None, None, result.H.value)


def _second(values: Sequence[Expression], g: Expression) -> Expression:
    """The second derivative of adj(A) = det(A) A⁻¹ along E and G."""
    a, packed, permutation, e = values
    (x,) = a.emit_all(Extension(Inverse()), packed, permutation)
    (det,) = a.emit_all(Extension(Determinant()), packed, permutation)
    xe, xg = x @ e, x @ g
    te, tg = trace(xe), trace(xg)
    xexg = xe @ xg
    result = scaled(te * tg - trace(xexg), x) + (xexg + xg @ xe) @ x
    result = result - (scaled(tg, xe) + scaled(te, xg)) @ x
    return scaled(det * _usable(a, x), result)


def _usable(a: Expression, x: Expression) -> Expression:
    """One for each matrix that is far enough from singular ones; else NaN. Zero for 1 × 1."""

    def squares(y: Expression) -> Expression:
        size: Expression = apply(elementwise.abs, y)
        return (size * size).sum((-2, -1))

    limit = float(np.finfo(a.dtype).eps) ** -THIRD_LIMIT
    is_far = (squares(a) * squares(x)) < limit**2
    one: Expression = apply(filling.ones_like, is_far, dtype=a.dtype)
    count = squares(apply(filling.ones_like, a))
    one = one * (count > 1).astype(a.dtype)
    result: Expression = apply(elementwise.where, is_far, one, one * float("nan"))
    return result
