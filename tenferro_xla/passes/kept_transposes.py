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

    In the body of a loop the transpose of an input of the body is left to XLA: it moves that of a
    value that no round changes in front of the loop, where it would hold the barrier's copy too.
    """

    name = "kept_transposes"
    enters_bodies = False  # `run` enters them, since their inputs are treated in another way

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a barrier after each such transpose."""
        inside = program.map_bodies(lambda body: _with_barriers(body, frozenset(body.input_slots)))
        return _with_barriers(inside, frozenset())


def _with_barriers(program: ExecProgram, skipped: frozenset[int]) -> ExecProgram:
    """The program with barriers, except after transposes of the slots in `skipped`."""
    if not program.has_op(DotGeneral):
        return program
    makers = program.makers()

    def is_kept(step: ExecInstruction) -> bool:
        if not _is_undone(step, makers):
            return False
        return skipped.isdisjoint(makers[step.input_slots[0]].input_slots)

    if not any(map(is_kept, program.steps_of(DotGeneral))):
        return program
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
        if not is_kept(step):
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
