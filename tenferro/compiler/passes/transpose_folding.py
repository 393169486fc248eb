"""Transposes around a contraction, folded into its dimension numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.compiler.passes.protocol import Needs
from tenferro.compiler.slot_emitter import SlotEmitter
from tenferro.exec_ir import ExecProgram
from tenferro.ops import DotGeneral, Transpose


class TransposeFolding:
    """Lets a `DotGeneral` read what its operands were before they were transposed.

    Matched axes may lie anywhere. Free axes appear in the result in the order in which they lie in
    the operand, so a transpose that reorders those is folded only where every use of the result is
    a transpose again, which takes up the difference. A transpose of a contraction that is read
    nowhere else, and only exchanges the operands' axes or reorders batch axes, is a contraction
    itself. Extents keep their guarantees.
    """

    name = "transpose_folding"
    needs = Needs.RANKS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with fewer transposes; those that became useless are left to `DeadCode`."""
        kinds = {type(step.op) for step in program.instructions}
        if not (DotGeneral in kinds and Transpose in kinds):
            return program
        emitter = SlotEmitter(program)
        reads, transposed = _reads(program)
        for step in program.instructions:
            operands = emitter.begin(step)
            value = None
            if isinstance(step.op, DotGeneral):
                (slot,) = step.output_slots
                value = _fold_operands(emitter, step.op, operands, slot in transposed)
                made = None if value is None else emitter.producer(value)
                if made is not None and isinstance(made[0], Transpose):
                    reads[made[1][0]] = reads.get(slot, 0)
            elif isinstance(step.op, Transpose):
                value = _fold_result(emitter, step.op, operands[0], reads)
            if value is None:
                emitter.keep(step, operands)
            else:
                emitter.define(step, value)
        return emitter.build()


def _reads(program: ExecProgram) -> tuple[dict[int, int], set[int]]:
    """How often each slot is read, and which slots only transposes read."""
    reads: dict[int, int] = {}
    others: set[int] = set(program.output_slots)
    for slot in program.output_slots:
        reads[slot] = reads.get(slot, 0) + 1
    for step in program.instructions:
        for slot in step.input_slots:
            reads[slot] = reads.get(slot, 0) + 1
        if not isinstance(step.op, Transpose):
            others.update(step.input_slots)
    return reads, set(reads) - others


def _fold_operands(
    emitter: SlotEmitter, dot: DotGeneral, operands: tuple[int, ...], any_order: bool
) -> int | None:
    """The same value from operands that are not transposed, or None.

    With `any_order` it may be a transpose of the contraction.
    """
    lhs, rhs = operands
    lhs_rank, rhs_rank = emitter.ctx.meta(lhs).rank, emitter.ctx.meta(rhs).rank
    left = _untransposed(emitter, lhs, dot.lhs_free(lhs_rank), any_order)
    right = _untransposed(emitter, rhs, dot.rhs_free(rhs_rank), any_order)
    if left is None and right is None:
        return None
    lhs, lhs_axes = left or (lhs, tuple(range(lhs_rank)))
    rhs, rhs_axes = right or (rhs, tuple(range(rhs_rank)))
    folded = DotGeneral(
        tuple(lhs_axes[axis] for axis in dot.lhs_contract),
        tuple(rhs_axes[axis] for axis in dot.rhs_contract),
        tuple(lhs_axes[axis] for axis in dot.lhs_batch),
        tuple(rhs_axes[axis] for axis in dot.rhs_batch),
    )
    n_batch = len(dot.lhs_batch)
    from_lhs = _ranks([lhs_axes[axis] for axis in dot.lhs_free(lhs_rank)])
    from_rhs = _ranks([rhs_axes[axis] for axis in dot.rhs_free(rhs_rank)])
    order = (
        *range(n_batch),
        *(n_batch + axis for axis in from_lhs),
        *(n_batch + len(from_lhs) + axis for axis in from_rhs),
    )
    (value,) = emitter.emit_all(folded, lhs, rhs)
    if order == tuple(range(len(order))):
        return value
    return emitter.emit_all(Transpose(order), value)[0]


def _untransposed(
    emitter: SlotEmitter, operand: int, free: Sequence[int], any_order: bool
) -> tuple[int, tuple[int, ...]] | None:
    """What `operand` is a transpose of and, for each of its axes, the axis there."""
    made = emitter.producer(operand)
    if made is None or not isinstance(made[0], Transpose):
        return None
    perm = made[0].perm
    lie = [perm[axis] for axis in free]
    return (made[1][0], perm) if any_order or lie == sorted(lie) else None


def _ranks(axes: Sequence[int]) -> list[int]:
    """For each axis its place among them in increasing order."""
    place = {axis: position for position, axis in enumerate(sorted(axes))}
    return [place[axis] for axis in axes]


def _fold_result(
    emitter: SlotEmitter, op: Transpose, operand: int, reads: dict[int, int]
) -> int | None:
    """A transposed contraction as a contraction, or with fewer transposes; None where neither."""
    perm, source = op.perm, operand
    read_once = reads.get(operand) == 1
    made = emitter.producer(source)
    if made is not None and isinstance(made[0], Transpose):
        perm, source = tuple(made[0].perm[axis] for axis in perm), made[1][0]
        made = emitter.producer(source)
    if perm == tuple(range(len(perm))):
        return source
    read_once = read_once and reads.get(source) == 1
    if made is not None and isinstance(made[0], DotGeneral) and read_once:
        value = _absorbed(emitter, made[0], made[1], perm)
        if value is not None:
            return value
    return None if source == operand else emitter.emit_all(Transpose(perm), source)[0]


def _absorbed(
    emitter: SlotEmitter, dot: DotGeneral, operands: tuple[int, ...], perm: tuple[int, ...]
) -> int | None:
    """The contraction whose result is that of `dot` transposed by `perm`, or None."""
    lhs, rhs = operands
    n_batch = len(dot.lhs_batch)
    middle = n_batch + len(dot.lhs_free(emitter.ctx.meta(lhs).rank))
    batch, free = perm[:n_batch], perm[n_batch:]
    from_lhs, from_rhs = tuple(range(n_batch, middle)), tuple(range(middle, len(perm)))
    if sorted(batch) != list(range(n_batch)):
        return None
    lhs_batch = tuple(dot.lhs_batch[axis] for axis in batch)
    rhs_batch = tuple(dot.rhs_batch[axis] for axis in batch)
    if free == from_lhs + from_rhs:
        same = DotGeneral(dot.lhs_contract, dot.rhs_contract, lhs_batch, rhs_batch)
        return emitter.emit_all(same, lhs, rhs)[0]
    if free == from_rhs + from_lhs:
        exchanged = DotGeneral(dot.rhs_contract, dot.lhs_contract, rhs_batch, lhs_batch)
        return emitter.emit_all(exchanged, rhs, lhs)[0]
    return None
