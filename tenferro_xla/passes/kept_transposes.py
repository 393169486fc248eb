"""Transposed operands of products, which XLA must not read without the transpose."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import DotGeneral, Transpose
from tenferro_xla.passes.parts import Kept


@dataclass(frozen=True)
class KeptTransposes(Pass):
    """Prevents XLA from merging the transpose of a left operand into the product.

    A `Transpose` in front of a `DotGeneral` has been put there for speed: XLA's product takes up to
    twice the time if the contracted axis is not the last one of the left operand. XLA would remove
    the transpose, since it assumes that a transpose is more expensive.
    """

    name = "kept_transposes"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a barrier after each such transpose."""
        if not program.has_op(DotGeneral):
            return program
        makers = program.makers()
        if not any(_is_undone(step, makers) for step in program.steps_of(DotGeneral)):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            if not _is_undone(step, makers):
                return None
            lhs, rhs = operands
            (lhs,) = rewriter.emit_all(Kept(), lhs)
            return rewriter.emit_all(step.op, lhs, rhs)

        return rewriter.run(rule)


def _is_undone(step: ExecInstruction, makers: dict[int, ExecInstruction]) -> bool:
    """Whether the left operand is a transpose that XLA would merge into the product."""
    op = step.op
    if not isinstance(op, DotGeneral) or step.dtype.kind != "f":
        return False  # a complex product takes the same time either way
    source = makers.get(step.input_slots[0])
    if source is None or not isinstance(source.op, Transpose):
        return False
    rank = len(source.op.perm)
    free = op.lhs_free(rank)
    return bool(free) and op.lhs_contract == (rank - 1,) and source.op.perm[-1] < rank - 1
