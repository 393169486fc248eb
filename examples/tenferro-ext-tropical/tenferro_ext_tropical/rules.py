"""Derivative rules: the subgradient of the unique winner."""

from __future__ import annotations

from typing import Any

from tenferro.extension import (
    ExtensionAdRule,
    ExtensionRuleSet,
    JvpSite,
    Slots,
    TransposeSite,
    apply,
    inline,
)
from tenferro_ext_tropical.batching import ContractionBatchRule
from tenferro_ext_tropical.ops import TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp


class EinsumRule(ExtensionAdRule):
    """The tangent of a result is that of the product that wins it."""

    family_id = TropicalEinsum.FAMILY_ID

    def linearize(self, op: Any, at: JvpSite[Any]) -> Slots[Any]:
        """One `einsum_jvp` of the tangents that are not None."""
        operands = tuple([i for i, tangent in enumerate(at.tangent) if tangent is not None])
        jvp = TropicalEinsumJvp(op.kind, op.lhs, op.rhs, op.output, operands)
        tangents = [tangent for tangent in at.tangent if tangent is not None]
        return (inline(at, lambda *values: apply(jvp, *values), *at.primal, *tangents),)


class EinsumJvpRule(ExtensionAdRule):
    """Linear in the tangents. Small changes of operands keep the winners: no derivative by them."""

    family_id = TropicalEinsumJvp.FAMILY_ID

    def linearize(self, op: Any, at: JvpSite[Any]) -> Slots[Any]:
        """The op itself, of the tangents of its tangents."""
        lhs, rhs = at.primal[:2]
        given = dict(zip(op.operands, at.tangent[2:], strict=True))
        operands = tuple([i for i, tangent in given.items() if tangent is not None])
        if not operands:
            return (None,)
        jvp = TropicalEinsumJvp(op.kind, op.lhs, op.rhs, op.output, operands)
        tangents = [given[i] for i in operands]
        return (inline(at, lambda *values: apply(jvp, *values), lhs, rhs, *tangents),)

    def transpose_rule(self, op: Any, at: TransposeSite[Any]) -> Slots[Any]:
        """`einsum_vjp`, for the tangents that are active."""
        lhs, rhs = at.inputs[:2]
        places = [i for i, active in enumerate(at.active[2:]) if active]
        cotangents: list[Any] = [None] * len(at.inputs)
        if at.ct[0] is None or not places:
            return tuple(cotangents)
        operands = tuple([op.operands[i] for i in places])
        vjp = TropicalEinsumVjp(op.kind, op.lhs, op.rhs, op.output, operands)
        found = inline(at, lambda *values: apply(vjp, *values), lhs, rhs, at.ct[0])
        for i, cotangent in zip(places, found if len(places) > 1 else [found], strict=True):
            cotangents[2 + i] = cotangent
        return tuple(cotangents)


def tropical_ad_rules() -> ExtensionRuleSet:
    """A fresh set with the derivative rules of `einsum` and `einsum_jvp`, and all batch rules.

    `PACKAGE` has them too.

    `einsum_vjp` is terminal and has no rule: its derivative raises `UnsupportedADRuleError`.

    >>> import tenferro as tn, tenferro_ext_tropical as tropical
    >>> ctx = tn.AdContext.builder().with_extension_rules(tropical_ad_rules()).build()
    >>> longest = lambda a, b: tropical.einsum("i,i->", a, b)
    >>> tn.jit(tn.grad(longest, ad_context=ctx))(tn.Tensor([1.0, 5.0]), tn.Tensor([3.0, 0.0]))
    Tensor([0., 1.])
    """
    rules = ExtensionRuleSet()
    rules.register_rule(EinsumRule())
    rules.register_rule(EinsumJvpRule())
    for family in (TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp):
        rules.register_batch_rule(ContractionBatchRule(family))
    return rules
