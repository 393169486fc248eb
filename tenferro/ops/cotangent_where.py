"""CotangentWhere: the operands of branches of which each entry of a batch takes one."""

from __future__ import annotations

from tenferro.chainrules import JvpSite, Slots, TransposeSite, V, each_active
from tenferro.errors import DTypeError
from tenferro.exec_ir import Array, Conjugation, payload
from tenferro.ops.base import StdTensorOp, check_same_shape
from tenferro.ops.broadcast_reduce import zeros_like
from tenferro.ops.compare import SELECT
from tenferro.shape import BOOL, TensorMeta


@payload
class CotangentWhere(StdTensorOp, name="cotangent_where"):
    """The first operand, to which cotangents flow only where the second, a bool, is true.

    For values whose results are not read elsewhere: a zero cotangent times a coefficient that is
    infinite there would be NaN. It is linear, so that the value may be a tangent.
    """

    n_inputs = 2
    pointwise = True
    for_derivatives = True
    conjugation = Conjugation.EXACT

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The type of the first operand."""
        value, taken = metas
        if taken.dtype != BOOL:
            raise DTypeError(f"cotangent_where: the second operand must be bool, got {taken}")
        if value.dims is None or value.dims != taken.dims:
            text = f"value {value} and bools {taken} must have equal shapes"
            check_same_shape(self.name, value, taken, text)
        return value

    def numpy(self, value: Array, taken: Array) -> Array:
        """The value."""
        return value

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in the value."""
        tangent = at.tangent[0]
        return (None if tangent is None else at.emit(self, tangent, at.primal[1]),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, and zero where it does not flow."""
        taken = at.inputs[1]
        return each_active(
            at,
            lambda ct: at.emit(SELECT, taken, ct, zeros_like(at.emitter, ct)),
            lambda ct: None,
        )
