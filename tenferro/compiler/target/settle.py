"""Late ops whose sizes are known, as ordinary ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler.passing import Needs, Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.shape import TensorMeta


@dataclass(frozen=True)
class Settle(Pass):
    """Resolves ops whose sizes are those of operands, or the number of one, where types tell them.

    What computes the number has nothing left to say there.
    """

    name = "settle"
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without such ops."""
        if not any(_is_late(step) for step in program.instructions):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            if not _is_late(step):
                return None
            metas = [rewriter.ctx.meta(slot) for slot in operands]
            if not _is_settled(step, metas):
                return None
            op, sources = step.op.resolved(metas)
            made = [
                operands[source] if isinstance(source, int) else rewriter.emit_all(source)[0]
                for source in sources
            ]
            return rewriter.emit_all(op, *made)

        return rewriter.run(rule)


def _is_late(step: ExecInstruction) -> bool:
    return step.op.follows_shapes or step.op.size_operand is not None


def _is_settled(step: ExecInstruction, metas: Sequence[TensorMeta]) -> bool:
    """Whether the types of operands and results tell all sizes that the op waits for."""
    if step.op.size_operand is not None:
        return step.output_metas[0].dims is not None
    return step.op.follows_shapes and all(meta.dims is not None for meta in metas)
