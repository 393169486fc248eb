"""Derivative rules of the einsum families."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.families.einsum.derivative import NetworkDerivative
from tenferro.families.einsum.op import EinsumOp
from tenferro.families.einsum.sliced import SlicedNetwork
from tenferro.families.formula import TransformRule, pushed
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp
from tenferro.ops import MUL, broadcast_like, full_like
from tenferro.shape import TensorMeta


class EinsumRule(ExtensionAdRule):
    """Rules of a network, which is linear in each operand. Its derivative has the same plan."""

    family_id = EinsumOp.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """One op that computes the tangent from those of all operands."""
        assert isinstance(op, EinsumOp)
        return pushed(NetworkDerivative(op.inputs, op.output, op.plan, ()), at)


class SlicedRule(TransformRule):
    """Rules of a sliced network and its transforms."""

    def __init__(self) -> None:
        super().__init__(SlicedNetwork)

    def cotangents(
        self, op: ExtensionOp, at: TransposeSite[V], fixed: Sequence[V], cts: Sequence[V]
    ) -> tuple[V, ...]:
        """The cotangents by one loop.

        If the result is of rank 0, the loop is run with cotangent 1, and its results are then
        multiplied by the cotangent. The loop thus does not depend on the value, and can be joined
        with the loop that computes it.
        """
        emitter = at.emitter
        assert isinstance(op, SlicedNetwork)
        if not _scales(op, [emitter.ctx.meta(ct) for ct in cts]):
            return super().cotangents(op, at, fixed, cts)
        (ct,) = cts
        results = emitter.emit_all(Extension(op), *fixed, full_like(emitter, 1, ct))
        metas = [emitter.ctx.meta(result) for result in results]
        factors = [broadcast_like(emitter, ct, meta, (), op.family_id) for meta in metas]
        return tuple(
            emitter.emit(MUL, result, factor)
            for result, factor in zip(results, factors, strict=True)
        )


def _scales(op: SlicedNetwork, cts: Sequence[TensorMeta]) -> bool:
    """Whether all results are proportional to a single cotangent of rank 0.

    After an earlier reverse transform they may instead be proportional to its conjugate.
    """
    kinds = [kind for kind, _ in op.transforms]
    return len(cts) == 1 and not cts[0].rank and kinds.count("vjp") == 1
