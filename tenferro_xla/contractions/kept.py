"""Operands that were moved for a product, kept as they were moved."""

from __future__ import annotations

from tenferro.exec_ir import ExecBuilder, ExecInstruction, ExecProgram
from tenferro.ops import DotGeneral, Transpose
from tenferro_xla.contractions.parts import Kept


class KeptTransposes:
    """Keeps XLA from reading a left operand as it was before it was transposed.

    A transpose that is left in front of a contraction was put there for speed: XLA's product takes
    up to twice the time where the contracted axis is not the last of the left operand. XLA would
    undo it, since it takes a transpose for the dearer of the two.
    """

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such operands kept."""
        made = {slot: step for step in program.instructions for slot in step.output_slots}
        if not any(_is_undone(step, made) for step in program.instructions):
            return program
        builder = ExecBuilder()
        now = {
            slot: builder.input(meta)
            for slot, meta in zip(program.input_slots, program.input_metas, strict=True)
        }
        for step in program.instructions:
            operands = [now[slot] for slot in step.input_slots]
            if _is_undone(step, made):
                operands[0] = builder.add(Kept(), operands[:1], step.site)[0]
            results = builder.add(step.op, operands, step.site)
            now.update(zip(step.output_slots, results, strict=True))
        return builder.build([now[slot] for slot in program.output_slots])


def _is_undone(step: ExecInstruction, made: dict[int, ExecInstruction]) -> bool:
    """Whether XLA would contract what the left operand was before it was transposed."""
    op = step.op
    if not isinstance(op, DotGeneral) or step.dtype.kind != "f":
        return False  # a complex product takes the same time either way
    source = made.get(step.input_slots[0])
    if source is None or not isinstance(source.op, Transpose):
        return False
    rank = len(source.op.perm)
    free = op.lhs_free(rank)
    return bool(free) and op.lhs_contract == (rank - 1,) and source.op.perm[-1] < rank - 1
