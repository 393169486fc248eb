"""The op of a network whose shapes are not known when it is traced, and its derivatives.

The op has the network and the transforms applied to it. When sizes are known, the network is
lowered and the transforms are applied to the resulting graph. Gradients of all operands then share
intermediate contractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

from tenferro.core import Emitter, V
from tenferro.errors import DTypeError
from tenferro.ir import Dim, DType, NumpyArray, TensorMeta, make_meta, short_name
from tenferro.network.contraction import emit_network
from tenferro.network.planner import PLANNER, Specification, check_memory, options_of
from tenferro.network.subscripts import Labels, Sizes, Subscripts, build_size_dict
from tenferro.ops.extension import (
    ExtensionOp,
    FormulaOp,
    OutputMeta,
    Transform,
    evaluate_standard,
    family_id,
)
from tenferro.runtime import planned_model

__all__ = ["EinsumOp", "NetworkDerivative"]


@family_id(namespace="tenferro-einsum", name="einsum", version=1)
@dataclass(frozen=True)
class EinsumOp(ExtensionOp):
    """A network with the specification of its plan; the operands determine the sizes.

    It has one operand for each term in `inputs`.

    Attributes:
        inputs: labels of each operand, numbered by first occurrence.
        output: labels of the result.
        plan: the specification by which it is planned when sizes are known.
    """

    inputs: tuple[Labels, ...]
    output: Labels
    plan: Specification

    lowers_named_sizes: ClassVar[bool] = True
    contracts: ClassVar[bool] = True

    @property
    def input_count(self) -> int:
        return len(self.inputs)

    @property
    def output_count(self) -> int:
        return 1

    @property
    def subscripts(self) -> Subscripts:
        return Subscripts(self.inputs, self.output)

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The common dtype of the operands, and the sizes of the output's labels."""
        if len(set(input_dtypes)) != 1:
            names = ", ".join(short_name(dtype) for dtype in input_dtypes)
            raise DTypeError(f"einsum: operands have dtypes {names}; convert them to one")
        sizes = build_size_dict(self.subscripts, input_shapes)
        return [(input_dtypes[0], tuple(sizes[label] for label in self.output))]

    def planned(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[int, ...]]
    ) -> EinsumOp:
        """The network with the pairs of its plan for these sizes."""
        plan = pairs_at(self, input_dtypes[0], input_shapes)
        return self if plan is self.plan else replace(self, plan=plan)

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """Pairwise contractions; None if the plan needs sizes that are not known."""
        return emitted(self, builder, inputs, input_shapes)

    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        return evaluate_standard(self, inputs)


def pairs_at(op: EinsumOp, dtype: DType, shapes: Sequence[tuple[int, ...]]) -> Specification:
    """The plan for these sizes, as pairs.

    Raises:
        MemoryLimitError: the intermediates need more memory than the plan allows.
    """
    if op.plan[0] == "pairs":
        return op.plan
    tree = PLANNER.tree(op.subscripts, shapes, op.plan, costs=planned_model().costs)
    check_memory(tree, dtype.itemsize, options_of(op.plan).memory_limit)
    return ("pairs", tree.pairs)


def emitted(
    op: EinsumOp, at: Emitter[V], inputs: Sequence[V], shapes: Sequence[tuple[Dim, ...]]
) -> Sequence[V] | None:
    """Emit the contractions of a network.

    None if the plan needs sizes that are not known, or a label has two sizes that may differ.
    """
    subscripts = op.subscripts
    sizes = build_size_dict(subscripts, shapes)
    constant = [tuple(size for size in shape if isinstance(size, int)) for shape in shapes]
    plan = op.plan
    if constant == list(map(tuple, shapes)):
        plan = pairs_at(op, at.ctx.meta(inputs[0]).dtype, constant)
    elif plan[0] != "pairs" or not _agree(subscripts, shapes, sizes):
        return None
    return [emit_network(at, subscripts, sizes, plan[1], inputs)]


def _agree(subscripts: Subscripts, shapes: Sequence[tuple[Dim, ...]], sizes: Sizes) -> bool:
    """Whether each axis has the size of its label, or 1."""
    axes = zip(chain(*subscripts.inputs), chain(*shapes), strict=True)
    return all(size in (1, sizes[label]) for label, size in axes)


# Derivatives, of any order, of a network whose sizes are not yet known, as one op.


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
    contracts: ClassVar[bool] = True

    @property
    def network(self) -> EinsumOp:
        return EinsumOp(self.inputs, self.output, self.plan)

    @property
    def formula_inputs(self) -> int:
        return len(self.inputs)

    def formula_types(self, metas: Sequence[TensorMeta]) -> list[TensorMeta]:
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
