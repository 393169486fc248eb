"""Transposes beside products, which XLA must not merge into the products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tenferro.compiler import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import DotGeneral, Transpose
from tenferro_xla.passes.parts import Kept


@dataclass(frozen=True)
class KeptTransposes(Pass):
    """Prevents XLA from merging the transpose of a left operand, or of a result, into the product.

    A `Transpose` in front of a `DotGeneral` has been put there for speed: XLA's product takes
    twice the time if the contracted axis is not the last one of the left operand. XLA would remove
    the transpose, since it assumes that a transpose is more expensive. The transpose of a result is
    kept where the product with its sides exchanged would be such a slow one.

    In the body of a loop the transpose of an input of the body is left to XLA: it moves that of a
    value that no round changes in front of the loop, where it would hold the barrier's copy too.
    """

    name = "kept_transposes"
    enters_bodies = False  # `run` enters them, since their inputs are treated in another way

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a barrier between each such transpose and its product."""
        inside = program.map_bodies(lambda body: _with_barriers(body, frozenset(body.input_slots)))
        return _with_barriers(inside, frozenset())


def _with_barriers(program: ExecProgram, skipped: frozenset[int]) -> ExecProgram:
    """The program with barriers, except after transposes of the slots in `skipped`."""
    if not (program.has_op(DotGeneral) and program.has_op(Transpose)):
        return program
    makers = program.makers()

    def is_kept(step: ExecInstruction) -> bool:
        if _exchanges_slowly(step, makers):
            return True
        if not _is_undone(step, makers):
            return False
        return skipped.isdisjoint(makers[step.input_slots[0]].input_slots)

    if not any(map(is_kept, program.instructions)):
        return program
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
        if not is_kept(step):
            return None
        (first,) = rewriter.emit_all(Kept(), operands[0])
        return rewriter.emit_all(step.op, first, *operands[1:])

    return rewriter.run(rule)


def _is_undone(step: ExecInstruction, makers: Mapping[int, ExecInstruction]) -> bool:
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


def _exchanges_slowly(step: ExecInstruction, makers: Mapping[int, ExecInstruction]) -> bool:
    """Whether this is a transpose for which XLA would exchange the sides of a product, where the
    contracted axis of the right side comes first."""
    if not isinstance(step.op, Transpose) or step.dtype.kind != "f":
        return False
    source = makers.get(step.input_slots[0])
    if source is None or not isinstance(source.op, DotGeneral):
        return False
    dot, rank = source.op, len(step.op.perm)
    count = len(dot.lhs_batch)
    exchanged = (*range(count), *range(count + 1, rank), count)
    matrices = rank == count + 2 and len(dot.rhs_contract) == 1
    return matrices and step.op.perm == exchanged and dot.rhs_contract[0] == count
