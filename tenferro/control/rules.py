"""How the derivatives of a `Custom` op are taken."""

from __future__ import annotations

from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.control.graphs import inlined, transposed_through
from tenferro.control.interfaces import Ruled
from tenferro.exec_ir import Handle


class Rule(Handle):
    """The derivative rules of a `Custom` op. They are asked for when a derivative is taken."""

    def linearize(self, op: Ruled, at: JvpSite[V]) -> Slots[V]:
        """Tangents of the outputs; see `PrimitiveOp`."""
        raise AssertionError(f"{self}: has no linearize rule")

    def transpose_rule(self, op: Ruled, at: TransposeSite[V]) -> Slots[V]:
        """Cotangents of the active operands, in which the op is linear: those of its body."""
        return transposed_through(
            at, op.body.input_metas, lambda emitter, operands: inlined(emitter, op.body, operands)
        )

    def check_computed(self) -> None:
        """Raise the error of an op that has no values, but can be transposed."""
