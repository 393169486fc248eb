"""Checkpointed programs are written out where nothing is differentiated any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.control import Checkpointed
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter


@dataclass(frozen=True)
class CheckpointInlining(Pass):
    """Writes the body in place of a `Checkpointed`, unless it computes values again, late.

    A late one stays an op: passes and compilers then do not make one value of what it computes and
    of what was computed before.

    Attributes:
        late: whether late ones are written out too.
    """

    late: bool = False

    name = "checkpoint_inlining"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with these bodies in their places."""
        if not program.has_op(Checkpointed):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if not isinstance(step.op, Checkpointed) or (step.op.late and not self.late):
                return None
            return rewriter.inline(step.op.body, operands)

        return rewriter.run(rule)
