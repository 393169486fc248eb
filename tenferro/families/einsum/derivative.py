"""Derivatives, of any order, of a network whose sizes are not yet known, as one op.

The op has the network and the transforms applied to it. When sizes are known, the network is
lowered and the transforms are applied to the resulting graph. Gradients of all operands then share
intermediate contractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.chainrules import Emitter, V
from tenferro.families.einsum.op import EinsumOp, emitted, pairs_at
from tenferro.families.formula import FormulaOp, Transform
from tenferro.family import family_id
from tenferro.shape import Dim, DType, TensorMeta, make_meta


@family_id(namespace="tenferro-einsum", name="derivative", version=1)
@dataclass(frozen=True)
class NetworkDerivative(FormulaOp):
    """Transforms of a network. The payload determines the number of operands.

    Attributes:
        inputs, output, plan: the network, as in `EinsumOp`.
        transforms: the transforms, in order.
    """

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    plan: tuple[object, ...]
    transforms: tuple[Transform, ...]

    formula_outputs = 1

    @property
    def network(self) -> EinsumOp:
        """The network that is differentiated."""
        return EinsumOp(self.inputs, self.output, self.plan)

    @property
    def formula_inputs(self) -> int:
        """The number of terms."""
        return len(self.inputs)

    def formula_types(self, metas: Sequence[TensorMeta]) -> list[TensorMeta]:
        """The type of the network's result."""
        dtypes, shapes = zip(*[(m.dtype, m.exact_shape()) for m in metas], strict=True)
        ((dtype, shape),) = self.network.infer_output_meta(dtypes, shapes)
        return [make_meta(dtype, tuple(shape))]

    def planned(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[int, ...]]
    ) -> NetworkDerivative:
        """The same of the network with the pairs of its plan for these sizes."""
        shapes = input_shapes[: len(self.inputs)]
        plan = pairs_at(self.network, input_dtypes[0], shapes)
        return self if plan is self.plan else replace(self, plan=plan)

    def emit_formula(self, at: Emitter[V], inputs: Sequence[V]) -> Sequence[V] | None:
        """The contractions of the network; None if its plan needs sizes that are not known."""
        shapes = [at.ctx.meta(value).exact_shape() for value in inputs]
        return emitted(self.network, at, inputs, shapes)

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The contractions of the network, with the transforms applied."""
        return self.expanded(builder, inputs, input_dtypes, input_shapes)
