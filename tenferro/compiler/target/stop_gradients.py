"""What is there for derivatives is left out where nothing is differentiated any more."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter


@dataclass(frozen=True)
class StopGradientRemoval(Pass):
    """Replaces the result of an op that is there for derivatives only by its operand.

    The operands of branches in a batch are selections between a value and the same value without a
    gradient. When these are the same, so are they and the value. A canonical program keeps them: it
    may still be differentiated.
    """

    name = "stop_gradient_removal"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without such ops."""
        if not any(op_type.for_derivatives for op_type in program.op_types):
            return program

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            return operands[0] if step.op.for_derivatives else None

        return Rewriter(program).run(rule)
