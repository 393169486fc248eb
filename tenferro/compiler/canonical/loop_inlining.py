"""Loop inlining: loops of one round, and choices that are known, become what they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler.passing import Needs, Pass
from tenferro.control import Scan, Switch
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import Constant, Reshape


@dataclass(frozen=True)
class LoopInlining(Pass):
    """Writes the body in place of a `Scan` of one round, and a branch in place of a `Switch`.

    That is done if the index of the `Switch` is a constant, or if it has one branch only.
    """

    name = "loop_inlining"
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without such loops and choices."""
        if not (program.has_op(Scan) or program.has_op(Switch)):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if isinstance(step.op, Scan) and step.op.length == 1:
                return _only_round(rewriter, step.op, operands)
            if isinstance(step.op, Switch):
                number = _known_branch(rewriter, step.op, operands[0])
                if number is not None:
                    return rewriter.inline(step.op.branches[number], operands[1:])
            return None

        return rewriter.run(rule)


def _only_round(at: Rewriter, op: Scan, operands: Sequence[int]) -> list[int]:
    """The results of the one round of a scan."""
    start = op.consts + op.carry
    metas = op.body.input_metas[start:]
    xs = [
        at.emit(Reshape(meta.exact_shape("scan")), x)
        for x, meta in zip(operands[start:], metas, strict=True)
    ]
    results = at.inline(op.body, [*operands[:start], *xs])
    ys = [
        at.emit(Reshape((1, *at.ctx.meta(y).exact_shape("scan"))), y) for y in results[op.carry :]
    ]
    return [*results[: op.carry], *ys]


def _known_branch(at: Rewriter, op: Switch, index: int) -> int | None:
    """The number of the branch that is always taken; None if that is not known."""
    last = len(op.branches) - 1
    if not last:
        return 0
    producer = at.producer(index)
    if producer is None or not isinstance(producer[0], Constant):
        return None
    return min(max(int(producer[0].value), 0), last)
