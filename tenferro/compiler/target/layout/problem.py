"""The facts about a program that the choice of orders uses."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tenferro.compiler.target.layout.contraction import Contraction, contraction_of
from tenferro.compiler.target.pinned import Pinned
from tenferro.exec_ir import AxisMap, ExecInstruction, ExecProgram
from tenferro.ops import BroadcastInDim, DotGeneral, Transpose


class Problem:
    """A program of constant extents, and facts about it that are computed once.

    Attributes:
        inputs: the slots of the inputs, whose order is not chosen here.
        gathered: the inputs that devices may have to gather, since they are divided, and that are
            read several times: a copy in another order would be gathered too.
        sizes: how many elements of each value one device holds.
        contractions: the contractions, by the slot of their result.
    """

    def __init__(self, program: ExecProgram, pinned: Pinned | None = None) -> None:
        self.program = program
        self.shapes = [(meta.static_shape or ()) if meta else () for meta in program.slot_metas()]
        self._parts = None if pinned is None else pinned.parts(program)
        local = self.shapes
        if self._parts is not None:
            local = [self._parts.local(slot, shape) for slot, shape in enumerate(self.shapes)]
        self.sizes = [math.prod(shape) for shape in local]
        self.inputs = set(program.input_slots)
        self.contractions: dict[int, Contraction] = {
            step.output_slots[0]: contraction_of(step, local)
            for step in program.steps_of(DotGeneral)
        }
        self._once = {slot for slot, times in program.read_counts().items() if times == 1}
        divided = () if self._parts is None else filter(self._parts.is_divided, self.inputs)
        self.gathered = set(divided) - self._once
        self._axis_maps: dict[int, AxisMap | None] = {}
        self._pointwise: set[int] = set()
        self._unwritten: set[int] = set()
        for step in program.instructions:
            slot = step.output_slots[0]
            if len(step.output_slots) == 1:
                ranks = [self.rank(operand) for operand in step.input_slots]
                self._axis_maps[slot] = step.op.axis_map(ranks)
            if self._is_pointwise(step):
                self._pointwise.add(slot)
            if self._stays_unwritten(step):
                self._unwritten.update(step.output_slots)

    def _stays_unwritten(self, step: ExecInstruction) -> bool:
        if isinstance(step.op, BroadcastInDim):
            return True
        out = step.output_slots[0]
        if not (isinstance(step.op, Transpose) or out in self._pointwise):
            return False
        return out in self._once and all(slot in self._unwritten for slot in step.input_slots)

    def _is_pointwise(self, step: ExecInstruction) -> bool:
        shape = self.shapes[step.output_slots[0]]
        alike = all(self.shapes[slot] == shape for slot in step.input_slots)
        return step.op.pointwise and alike and len(step.output_slots) == 1

    def axis_map(self, step: ExecInstruction) -> AxisMap | None:
        """The result axes that a step's operand axes become; None if it needs natural orders."""
        return self._axis_maps.get(step.output_slots[0])

    def is_pointwise(self, step: ExecInstruction) -> bool:
        """Whether a step is pointwise, so that its operands may lie in any common order."""
        return step.output_slots[0] in self._pointwise

    def is_read_once(self, slot: int) -> bool:
        """Whether one step reads a value, once, or it is an output."""
        return slot in self._once

    def is_unwritten(self, slot: int) -> bool:
        """Whether a value is computed element by element from repeated ones, in any order."""
        return slot in self._unwritten

    def is_whole(self, slot: int, axes: Iterable[int]) -> bool:
        """Whether none of these axes of a value is divided among devices."""
        if self._parts is None:
            return True
        counts = self._parts.of(slot)
        return all(counts[axis] == 1 for axis in axes)

    def rank(self, slot: int) -> int:
        """Number of axes of a value."""
        return len(self.shapes[slot])

    def size(self, slot: int) -> int:
        """Number of elements of a value that one device holds."""
        return self.sizes[slot]
