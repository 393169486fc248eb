"""Operands that were moved for a product, kept as they were moved."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import DotGeneral, Transpose
from tenferro_xla.passes.parts import Kept


@dataclass(frozen=True)
class KeptTransposes(Pass):
    """Keeps XLA from reading a left operand as it was before it was transposed.

    A `Transpose` that is left in front of a `DotGeneral` was put there for speed: XLA's product
    takes up to twice the time where the contracted axis is not the last of the left operand. XLA
    would undo it, since it takes a transpose to be the more expensive of the two.
    """

    name = "kept_transposes"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such operands kept."""
        makers = program.makers()
        if not any(_is_undone(step, makers) for step in program.instructions):
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
    """Whether XLA would contract what the left operand was before it was transposed."""
    op = step.op
    if not isinstance(op, DotGeneral) or step.dtype.kind != "f":
        return False  # a complex product takes the same time either way
    source = makers.get(step.input_slots[0])
    if source is None or not isinstance(source.op, Transpose):
        return False
    rank = len(source.op.perm)
    free = op.lhs_free(rank)
    return bool(free) and op.lhs_contract == (rank - 1,) and source.op.perm[-1] < rank - 1
