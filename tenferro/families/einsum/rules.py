"""Derivative rules of the einsum families."""

from __future__ import annotations

from dataclasses import replace

from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.families.einsum.derivative import NetworkDerivative
from tenferro.families.einsum.op import EinsumOp
from tenferro.families.einsum.sliced import SlicedNetwork
from tenferro.family import (
    Extension,
    ExtensionAdRule,
    ExtensionOp,
)


class EinsumRule(ExtensionAdRule):
    """A network is linear in each operand; its derivative keeps its plan."""

    family_id = EinsumOp.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """One op for the tangents through all operands."""
        assert isinstance(op, EinsumOp)
        return _pushed(NetworkDerivative(op.inputs, op.output, op.plan, ()), at)


class TransformRule(ExtensionAdRule):
    """The derivative of an op that holds its transforms is one transform more."""

    def __init__(self, family: type[NetworkDerivative | SlicedNetwork]) -> None:
        self._family = family

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """A forward transform more."""
        assert isinstance(op, NetworkDerivative | SlicedNetwork)
        return _pushed(op, at)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The reverse transform in the place of the forward one, whose tangents are active."""
        assert isinstance(op, NetworkDerivative | SlicedNetwork)
        if not op.transforms:
            return super().transpose_rule(op, at)
        *before, (kind, mask) = op.transforms
        count = len(at.inputs) - sum(mask)
        if kind != "jvp" or any(at.active[:count]):
            return super().transpose_rule(op, at)
        live = tuple(ct is not None for ct in at.ct)
        selected = () if all(live) else (("select", live),)
        pulled = replace(op, transforms=(*before, *selected, ("vjp", mask)))
        cts = [ct for ct in at.ct if ct is not None]
        results = at.emitter.emit_all(Extension(pulled), *at.inputs[:count], *cts)
        found = (*([None] * count), *results)
        return tuple(ct if on else None for ct, on in zip(found, at.active, strict=True))


def _pushed(op: NetworkDerivative | SlicedNetwork, at: JvpSite[V]) -> Slots[V]:
    active = tuple(tangent is not None for tangent in at.tangent)
    pushed = replace(op, transforms=(*op.transforms, ("jvp", active)))
    tangents = [tangent for tangent in at.tangent if tangent is not None]
    return tuple(at.emitter.emit_all(Extension(pushed), *at.primal, *tangents))
