"""Late ops whose sizes are known, as ordinary ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler.passing import Needs, Pass
from tenferro.exec_ir import ExecInstruction, ExecOp, ExecProgram, Rewriter
from tenferro.shape import TensorMeta


@dataclass(frozen=True)
class Settle(Pass):
    """Resolves late ops whose sizes the types tell.

    A late op takes sizes from the shapes or the value of its operands. An operand whose value gives
    a size is no longer read once the types tell that size.
    """

    name = "settle"
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without such ops."""
        if not any(_is_late(op) for op in program.ops()):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            if not _is_late(step.op):
                return None
            metas = [rewriter.ctx.meta(slot) for slot in operands]
            if not _is_settled(step, metas):
                return None
            op, sources = step.op.resolved(metas)
            resolved_operands = [
                operands[source] if isinstance(source, int) else rewriter.emit_all(source)[0]
                for source in sources
            ]
            return rewriter.emit_all(op, *resolved_operands)

        return rewriter.run(rule)


def _is_late(op: ExecOp) -> bool:
    return op.follows_shapes or op.size_operand is not None


def _is_settled(step: ExecInstruction, metas: Sequence[TensorMeta]) -> bool:
    """Whether the types of operands and results tell all sizes that the op waits for."""
    if step.op.size_operand is not None:
        return step.output_metas[0].dims is not None
    return step.op.follows_shapes and all(meta.dims is not None for meta in metas)
