"""CheckpointName: a name that policies of checkpoints know a value by."""

from __future__ import annotations

from tenferro.chainrules import JvpSite, Slots, V
from tenferro.exec_ir import payload
from tenferro.ops.base import Unchanged


@payload
class CheckpointName(Unchanged, name="checkpoint_name"):
    """The operand, under a name by which derivatives may be told to save it."""

    tag: str

    pointwise = True
    moves = True
    view = True
    for_derivatives = True

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent of the operand, which has no name."""
        return at.tangent
