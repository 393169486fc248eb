"""Ops that are replaced by a formula, with derivative rules that do not differentiate it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from tenferro.arrays import Expression, expressions, values_of
from tenferro.chainrules import Emitter, KeyEmitter, V
from tenferro.families.kernels import KernelOp
from tenferro.ops import full, replay, shape_context
from tenferro.shape import Dim, DType, fresh_input, make_meta


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
        metas = [builder.ctx.meta(value) for value in inputs]
        types = self.infer_output_meta(input_dtypes, input_shapes)
        at = KeyEmitter(shape_context())
        keys = [fresh_input(meta, f"x{i}") for i, meta in enumerate(metas)]
        if all(0 in shape for _, shape in types):
            outputs = [full(at, 0, make_meta(dtype, tuple(shape))) for dtype, shape in types]
        else:
            outputs = list(values_of(self.formula(*expressions(at, keys))))
        results = replay(builder, outputs, dict(zip(keys, inputs, strict=True)))
        return [value for value in results if value is not None]
