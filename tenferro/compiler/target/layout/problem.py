"""A program as the choice of orders sees it."""

from __future__ import annotations

import math
from collections import Counter

from tenferro.compiler.target.layout.contraction import Contraction, contraction_of
from tenferro.exec_ir import AxisMap, ExecInstruction, ExecProgram
from tenferro.ops import BroadcastInDim, DotGeneral, Transpose


class Problem:
    """A program of constant extents, with what is asked of it again and again.

    Attributes:
        inputs: their slots; their order nobody chooses.
        contractions: the contractions, by the slot of their result.
    """

    def __init__(self, program: ExecProgram) -> None:
        self.program = program
        self.shapes = [(meta.static_shape or ()) if meta else () for meta in program.slot_metas()]
        self.sizes = [math.prod(shape) for shape in self.shapes]
        self.inputs = set(program.input_slots)
        self.contractions: dict[int, Contraction] = {
            step.output_slots[0]: contraction_of(step, self.shapes)
            for step in program.instructions
            if isinstance(step.op, DotGeneral)
        }
        self._axis_maps = {
            step.output_slots[0]: step.op.axis_map([self.rank(slot) for slot in step.input_slots])
            for step in program.instructions
            if len(step.output_slots) == 1
        }
        self._pointwise = {
            step.output_slots[0] for step in program.instructions if self._is_pointwise(step)
        }
        read = Counter(slot for step in program.instructions for slot in step.input_slots)
        read.update(program.output_slots)
        self._once = {slot for slot, times in read.items() if times == 1}
        self._unwritten: set[int] = set()
        for step in program.instructions:
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
        return step.op.pointwise and all(self.shapes[slot] == shape for slot in step.input_slots)

    def axis_map(self, step: ExecInstruction) -> AxisMap | None:
        """Where the axes of a step's operands go; None where it needs their natural orders."""
        return self._axis_maps.get(step.output_slots[0])

    def is_pointwise(self, step: ExecInstruction) -> bool:
        """Whether a step treats every element alike, so that any common order will do."""
        return step.output_slots[0] in self._pointwise

    def is_read_once(self, slot: int) -> bool:
        """Whether one step reads a value, once, or it is an output."""
        return slot in self._once

    def is_unwritten(self, slot: int) -> bool:
        """Whether a value is made of repeated ones element by element, in any order."""
        return slot in self._unwritten

    def rank(self, slot: int) -> int:
        """Number of axes of a value."""
        return len(self.shapes[slot])

    def size(self, slot: int) -> int:
        """Number of elements of a value."""
        return self.sizes[slot]
