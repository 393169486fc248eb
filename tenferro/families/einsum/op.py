"""The einsum family: a network as one op, for shapes that are not known when it is traced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.chainrules import Emitter, V
from tenferro.errors import DTypeError
from tenferro.exec_ir import Array
from tenferro.families.einsum.lowering import emit_network
from tenferro.families.reference import evaluate_standard
from tenferro.family import ExtensionOp, OutputMeta, family_id
from tenferro.planning import (
    PLANNER,
    Labels,
    Planner,
    Specification,
    Subscripts,
    build_size_dict,
    check_memory,
    options_of,
)
from tenferro.shape import Dim, DType, short_name


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

    @property
    def input_count(self) -> int:
        """The number of terms."""
        return len(self.inputs)

    @property
    def output_count(self) -> int:
        """One."""
        return 1

    @property
    def subscripts(self) -> Subscripts:
        """The network."""
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

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """Pairwise contractions; None if the plan needs sizes that are not known."""
        return emitted(self, builder, inputs, input_shapes, PLANNER)

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Run the contractions of the plan on NumPy arrays."""
        return evaluate_standard(self, inputs)


def emitted(
    op: EinsumOp,
    at: Emitter[V],
    inputs: Sequence[V],
    shapes: Sequence[tuple[Dim, ...]],
    planner: Planner,
) -> Sequence[V] | None:
    """Emit the contractions of a network; None if the plan needs sizes that are not known."""
    subscripts = op.subscripts
    sizes = build_size_dict(subscripts, shapes)
    constants = [tuple(size for size in shape if isinstance(size, int)) for shape in shapes]
    if op.plan[0] == "pairs":
        pairs = op.plan[1]
    elif all(len(sizes) == len(shape) for sizes, shape in zip(constants, shapes, strict=True)):
        tree = planner.tree(subscripts, constants, op.plan)
        limit = options_of(op.plan).memory_limit
        check_memory(tree, at.ctx.meta(inputs[0]).dtype.itemsize, limit)
        pairs = tree.pairs
    else:
        return None
    return [emit_network(at, subscripts, sizes, pairs, inputs)]
