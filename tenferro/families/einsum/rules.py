"""Derivative rules of the einsum families."""

from __future__ import annotations

from collections.abc import Sequence
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
from tenferro.ops import MUL, broadcast_like, full_like
from tenferro.shape import TensorMeta


class EinsumRule(ExtensionAdRule):
    """Rules of a network, which is linear in each operand. Its derivative has the same plan."""

    family_id = EinsumOp.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """One op that computes the tangent from those of all operands."""
        assert isinstance(op, EinsumOp)
        return _pushed(NetworkDerivative(op.inputs, op.output, op.plan, ()), at)


class TransformRule(ExtensionAdRule):
    """Rules of an op with transforms: its derivative has one more transform."""

    def __init__(self, family: type[NetworkDerivative | SlicedNetwork]) -> None:
        self._family = family

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The op with one more forward transform."""
        assert isinstance(op, NetworkDerivative | SlicedNetwork)
        return _pushed(op, at)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The op with a reverse transform in place of the forward one with active tangents."""
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
        results = _pulled(pulled, at, at.inputs[:count], cts)
        slots = (*([None] * count), *results)
        return tuple(ct if on else None for ct, on in zip(slots, at.active, strict=True))


def _pulled(
    op: NetworkDerivative | SlicedNetwork,
    at: TransposeSite[V],
    fixed: Sequence[V],
    cts: Sequence[V],
) -> tuple[V, ...]:
    """The cotangents that `op` computes from those of its results.

    If the result is of rank 0, the loop is run with cotangent 1, and its results are then
    multiplied by the cotangent. The loop thus does not depend on the value, and can be joined with
    the loop that computes it.
    """
    emitter = at.emitter
    if not (isinstance(op, SlicedNetwork) and _scales(op, [emitter.ctx.meta(ct) for ct in cts])):
        return emitter.emit_all(Extension(op), *fixed, *cts)
    (ct,) = cts
    results = emitter.emit_all(Extension(op), *fixed, full_like(emitter, 1, ct))
    metas = [emitter.ctx.meta(result) for result in results]
    factors = [broadcast_like(emitter, ct, meta, (), op.family_id) for meta in metas]
    return tuple(
        emitter.emit(MUL, result, factor) for result, factor in zip(results, factors, strict=True)
    )


def _scales(op: SlicedNetwork, cts: Sequence[TensorMeta]) -> bool:
    """Whether all results are proportional to a single cotangent of rank 0.

    After an earlier reverse transform they may instead be proportional to its conjugate.
    """
    kinds = [kind for kind, _ in op.transforms]
    return len(cts) == 1 and not cts[0].rank and kinds.count("vjp") == 1


def _pushed(op: NetworkDerivative | SlicedNetwork, at: JvpSite[V]) -> Slots[V]:
    active = tuple(tangent is not None for tangent in at.tangent)
    pushed = replace(op, transforms=(*op.transforms, ("jvp", active)))
    tangents = [tangent for tangent in at.tangent if tangent is not None]
    return tuple(at.emitter.emit_all(Extension(pushed), *at.primal, *tangents))
