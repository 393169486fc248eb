"""CheckpointName: a name that policies of checkpoints know a value by."""

from __future__ import annotations

from tenferro.chainrules import JvpSite, Slots, V
from tenferro.exec_ir import Array, payload
from tenferro.ops.base import StdTensorOp
from tenferro.shape import TensorMeta


@payload
class CheckpointName(StdTensorOp, name="checkpoint_name"):
    """The operand, under a name by which derivatives may be told to save it."""

    tag: str

    pointwise = True
    moves = True
    view = True
    for_derivatives = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type."""
        return x

    def numpy(self, x: Array) -> Array:
        """The operand."""
        return x

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent of the operand, which has no name."""
        return at.tangent
