"""Common subexpressions: each value computed once."""

from __future__ import annotations

from tenferro.compiler.passes.protocol import Needs
from tenferro.compiler.slot_emitter import SlotEmitter
from tenferro.exec_ir import ExecProgram
from tenferro.ops import Elementwise


class CommonSubexpressions:
    """Value numbering: of instructions with one op on the same operands, the first one stays.

    The linear mode of graph nodes is gone from an execution program, so that a primal value and a
    coefficient that reads alike meet here. Needs nothing of extents.
    """

    name = "common_subexpressions"
    needs = Needs.RANKS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with later copies of an instruction replaced by the first."""
        emitter = SlotEmitter(program)
        known: dict[tuple[bytes, tuple[int, ...]], tuple[int, ...]] = {}
        for step in program.instructions:
            operands = emitter.begin(step)
            op = step.op
            key = operands
            if isinstance(op, Elementwise) and op.commutative and operands[0] > operands[1]:
                key = operands[::-1]
            first = known.setdefault((op.identity, key), step.output_slots)
            if first is step.output_slots:
                emitter.keep(step, operands)
            else:
                emitter.define(step, *first)
        return emitter.build()
