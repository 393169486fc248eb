"""What stops gradients is left out where nothing is differentiated any more."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import StopGradient


@dataclass(frozen=True)
class StopGradientRemoval(Pass):
    """Replaces the result of a `StopGradient` by its operand.

    The operands of branches in a batch are selections between a value and the same value without a
    gradient. When these are the same, so are they and the value. A canonical program keeps them: it
    may still be differentiated.
    """

    name = "stop_gradient_removal"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without such ops."""
        if not program.has_op(StopGradient):
            return program

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            return operands[0] if isinstance(step.op, StopGradient) else None

        return Rewriter(program).run(rule)
