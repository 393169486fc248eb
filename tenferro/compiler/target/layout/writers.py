"""Two targets of the rewriting: a new program, and an estimate of what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from tenferro.compiler.target.costs import DeviceCosts
from tenferro.exec_ir import ExecBuilder, ExecInstruction, ExecOp, ExecProgram
from tenferro.ops import BroadcastInDim, DotGeneral, ReduceSum, Transpose
from tenferro.shape import DType, TensorMeta

Shape = tuple[int, ...]


class Writer(Protocol):
    """The target that `LayoutRewrite` writes to; values are numbered."""

    def input(self, meta: TensorMeta) -> int:
        """An input of the program."""

    def begin(self, step: ExecInstruction) -> None:
        """Note that what is written next replaces this step."""

    def shape(self, value: int) -> Shape:
        """The shape of a value."""

    def transpose(self, value: int, perm: Shape) -> int:
        """A value with its axes moved."""

    def broadcast(self, value: int, shape: Shape, dims: Shape, in_memory: bool) -> int:
        """A value repeated; `in_memory` if it is written to memory."""

    def contract(self, dot: DotGeneral, lhs: int, rhs: int, seconds: float) -> int:
        """A contraction; `seconds` is its additional time compared to the best form."""

    def reduce(self, axes: Shape, value: int) -> int:
        """A sum over some axes."""

    def pointwise(self, step: ExecInstruction, operands: Sequence[int]) -> int:
        """A pointwise step."""

    def other(
        self, op: ExecOp, operands: Sequence[int], order: Shape | None = None
    ) -> tuple[int, ...]:
        """Any other op; `order` is that of the axes of its only result, if not the natural one."""


class ProgramWriter:
    """Writes a program."""

    def __init__(self) -> None:
        self._builder = ExecBuilder()
        self._site: str | None = None

    def input(self, meta: TensorMeta) -> int:
        """A new input."""
        return self._builder.input(meta)

    def begin(self, step: ExecInstruction) -> None:
        """Remember the step."""
        self._site = step.site

    def shape(self, value: int) -> Shape:
        """As it was inferred."""
        return self._builder.metas[value].static_shape or ()

    def transpose(self, value: int, perm: Shape) -> int:
        """A `Transpose`."""
        return self.other(Transpose(perm), [value])[0]

    def broadcast(self, value: int, shape: Shape, dims: Shape, in_memory: bool) -> int:
        """A `BroadcastInDim`."""
        return self.other(BroadcastInDim(shape, dims), [value])[0]

    def contract(self, dot: DotGeneral, lhs: int, rhs: int, seconds: float) -> int:
        """The `DotGeneral`."""
        return self.other(dot, [lhs, rhs])[0]

    def reduce(self, axes: Shape, value: int) -> int:
        """A `ReduceSum`."""
        return self.other(ReduceSum(axes), [value])[0]

    def pointwise(self, step: ExecInstruction, operands: Sequence[int]) -> int:
        """The op itself."""
        return self._builder.add(step.op, operands, step.site)[0]

    def other(
        self, op: ExecOp, operands: Sequence[int], order: Shape | None = None
    ) -> tuple[int, ...]:
        """The op itself."""
        return self._builder.add(op, operands, self._site)

    def build(self, outputs: Sequence[int]) -> ExecProgram:
        """What was written."""
        return self._builder.build(outputs)


class Estimate:
    """Adds up what the program would cost.

    Attributes:
        seconds: the cost of everything that depends on the order of axes.
        spent: the same by step, as the slot of its result: the cost of the step, of moving its
            operands, and of moving its result.
    """

    def __init__(self, costs: DeviceCosts) -> None:
        self.costs = costs
        self.seconds = 0.0
        self.spent: dict[int, float] = {}
        self._makers: list[int | None] = []
        self._types: list[tuple[DType, Shape]] = []
        self._step: ExecInstruction | None = None

    def input(self, meta: TensorMeta) -> int:
        """Its type."""
        return self._new(meta.dtype, meta.static_shape or ())

    def begin(self, step: ExecInstruction) -> None:
        """Remember the step."""
        self._step = step

    def shape(self, value: int) -> Shape:
        """The shape, computed from those of the operands."""
        return self._types[value][1]

    def transpose(self, value: int, perm: Shape) -> int:
        """Adds the seconds for moving the value."""
        dtype, shape = self._types[value]
        loaded = self._makers[value] is None
        self._spend(self.costs.moving(dtype, math.prod(shape), loaded), value)
        return self._new(dtype, tuple([shape[axis] for axis in perm]))

    def broadcast(self, value: int, shape: Shape, dims: Shape, in_memory: bool) -> int:
        """Adds the seconds for writing the value, if it is written."""
        dtype = self._types[value][0]
        if in_memory:
            self._spend(self.costs.writing(dtype, math.prod(shape)), value)
        return self._new(dtype, shape)

    def contract(self, dot: DotGeneral, lhs: int, rhs: int, seconds: float) -> int:
        """Adds `seconds`."""
        (dtype, left), (_, right) = self._types[lhs], self._types[rhs]
        self._spend(seconds, None)
        shape = [left[axis] for axis in dot.lhs_batch]
        shape += [left[axis] for axis in dot.lhs_free(len(left))]
        shape += [right[axis] for axis in dot.rhs_free(len(right))]
        return self._new(dtype, tuple(shape))

    def reduce(self, axes: Shape, value: int) -> int:
        """Adds nothing: the cost does not depend on the order of axes."""
        dtype, shape = self._types[value]
        return self._new(dtype, tuple([n for axis, n in enumerate(shape) if axis not in axes]))

    def pointwise(self, step: ExecInstruction, operands: Sequence[int]) -> int:
        """Adds nothing: the cost does not depend on the order of axes."""
        return self._new(step.dtype, self.shape(operands[0]))

    def other(
        self, op: ExecOp, operands: Sequence[int], order: Shape | None = None
    ) -> tuple[int, ...]:
        """Adds nothing: the cost does not depend on the order of axes."""
        assert self._step is not None
        if order is None:
            metas = self._step.output_metas
            return tuple([self._new(meta.dtype, meta.static_shape or ()) for meta in metas])
        shape = self._step.output_metas[0].static_shape or ()
        return (self._new(self._step.dtype, tuple([shape[axis] for axis in order])),)

    def _spend(self, seconds: float, value: int | None) -> None:
        self.seconds += seconds
        for slot in {self._maker(), None if value is None else self._makers[value]}:
            if slot is not None:
                self.spent[slot] = self.spent.get(slot, 0.0) + seconds

    def _maker(self) -> int | None:
        return None if self._step is None else self._step.output_slots[0]

    def _new(self, dtype: DType, shape: Shape) -> int:
        self._types.append((dtype, shape))
        self._makers.append(self._maker())
        return len(self._types) - 1
