"""Common subexpressions: each value computed once."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter


@dataclass(frozen=True)
class CommonSubexpressions(Pass):
    """Value numbering: of instructions with one op on the same operands, the first one stays.

    An execution program does not hold the linear mode of graph nodes. So a primal value and an
    equal coefficient of a derivative are merged here. Works for any extents.
    """

    name = "common_subexpressions"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with later copies of an instruction replaced by the first."""
        steps = program.instructions
        if len({_value(step, step.input_slots) for step in steps}) == len(steps):
            return program  # no copies, so that no operand changes
        known: dict[Value, tuple[int, ...]] = {}

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            first = known.setdefault(_value(step, operands), step.output_slots)
            return None if first is step.output_slots else first

        return Rewriter(program).run(rule)


Value = tuple[bytes, tuple[int, ...]]
"""What is computed: an op, on operands."""


def _value(step: ExecInstruction, operands: tuple[int, ...]) -> Value:
    op = step.op
    if op.commutative and operands[0] > operands[1]:
        operands = operands[::-1]
    return op.identity, operands
