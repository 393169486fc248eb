"""The derivatives of determinants: adjugates, then those of a polynomial."""

from __future__ import annotations

from tenferro.arrays import Expression, apply, elementwise, expressions, values_of
from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.families.linalg.determinant import Adjugate, Determinant
from tenferro.families.linalg.determinant_polynomial import second_change
from tenferro.families.linalg.lu_solve import Inverse
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp


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
    """One order more. From order 2 on they are derivatives of a polynomial, det A."""

    family_id = Adjugate.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The derivative along dA; for order 1 also along the change of the direction."""
        assert isinstance(op, Adjugate)
        first = Extension(Adjugate(1))
        a, packed, permutation, *directions = expressions(at.emitter, at.primal)
        da, *changes = expressions(at.emitter, (at.tangent[0], *at.tangent[3:]))
        terms = []
        if da is not None:
            along = a.emit_all(first, packed, permutation, da)[0] if op.order == 0 else None
            terms.append(second_change(a, directions[0], da) if along is None else along)
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
