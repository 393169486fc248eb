"""Ops that are replaced by a formula, with derivative rules that do not differentiate it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from tenferro.arrays import Expression, expressions, values_of
from tenferro.chainrules import Emitter, KeyEmitter, V
from tenferro.computegraph import GlobalValKey
from tenferro.families.kernels import KernelOp
from tenferro.ops import emit_graph, full, shape_context
from tenferro.shape import Dim, DType, make_meta


class ExpandedOp(KernelOp):
    """An op with a formula, in which some inputs may be factors of others.

    The op is a function of the others: factors only save a factorization, and rules do not read
    their tangents. The formula reads the factors, and holds where they are those of the others. The
    kernel, which is the reference implementation, does not depend on them.
    """

    @abstractmethod
    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """The outputs, each input being an `Expression`. No output is empty."""

    def expanded(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The ops of the formula; zeros if all outputs are empty."""
        types = self.infer_output_meta(input_dtypes, input_shapes)

        def outputs(keys: Sequence[GlobalValKey]) -> Sequence[GlobalValKey]:
            at = KeyEmitter(shape_context())
            if all(0 in shape for _, shape in types):
                return [full(at, 0, make_meta(dtype, tuple(shape))) for dtype, shape in types]
            return values_of(self.formula(*expressions(at, keys)))

        return emit_graph(builder, inputs, outputs)
