"""Transposes folded into dots; contracted axes sorted."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenferro.compiler.passes import Pass
from tenferro.ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import DotGeneral, Transpose

__all__ = ["DotDimensionSorter", "TransposeFolding"]


# Transposes around a contraction, folded into its dimension numbers.


@dataclass(frozen=True)
class TransposeFolding(Pass):
    """Lets a `DotGeneral` read the source of a `Transpose` instead of its result.

    Matched axes may lie anywhere. Free axes appear in the result in the order in which they lie in
    the operand. So a transpose that reorders free axes is folded only where every reader of the
    result is a transpose, into which the reordering is merged. A transpose of a contraction that
    has no other reader, and that only exchanges the operands' axes or reorders batch axes, becomes
    a contraction. Extents keep their guarantees.
    """

    name = "transpose_folding"
    looks_for = (Transpose,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with fewer transposes; those that became useless are left to `DeadCode`."""
        rewriter = Rewriter(program)
        reads = program.read_counts()
        transposed = _read_by_transposes_alone(program, reads)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            value = None
            if isinstance(step.op, DotGeneral):
                (slot,) = step.output_slots
                value = _fold_operands(rewriter, step.op, operands, slot in transposed)
                maker = None if value is None else rewriter.producer(value)
                if maker is not None and isinstance(maker[0], Transpose):
                    reads[maker[1][0]] = reads.get(slot, 0)
            elif isinstance(step.op, Transpose):
                value = _fold_result(rewriter, step.op, operands[0], reads)
            return value

        return rewriter.run(rule)


def _read_by_transposes_alone(program: ExecProgram, reads: Mapping[int, int]) -> set[int]:
    """The slots that only transposes read; `reads` says how often each slot is read."""
    by_transposes = Counter(step.input_slots[0] for step in program.steps_of(Transpose))
    return {slot for slot, count in by_transposes.items() if count == reads[slot]}


def _fold_operands(
    at: Rewriter, dot: DotGeneral, operands: tuple[int, ...], any_order: bool
) -> int | None:
    """The same value from operands that are not transposed, or None.

    With `any_order` it may be a transpose of the contraction.
    """
    lhs, rhs = operands
    lhs_rank, rhs_rank = at.ctx.meta(lhs).rank, at.ctx.meta(rhs).rank
    left = _untransposed(at, lhs, dot.lhs_free(lhs_rank), any_order)
    right = _untransposed(at, rhs, dot.rhs_free(rhs_rank), any_order)
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
    (value,) = at.emit_all(folded, lhs, rhs)
    if order == tuple(range(len(order))):
        return value
    return at.emit_all(Transpose(order), value)[0]


def _untransposed(
    at: Rewriter, operand: int, free: Sequence[int], any_order: bool
) -> tuple[int, tuple[int, ...]] | None:
    """The value that `operand` is a transpose of, and the permutation; None if it is not folded."""
    producer = at.producer(operand)
    if producer is None or not isinstance(producer[0], Transpose):
        return None
    perm = producer[0].perm
    lie = [perm[axis] for axis in free]
    return (producer[1][0], perm) if any_order or lie == sorted(lie) else None


def _ranks(axes: Sequence[int]) -> list[int]:
    """For each axis its place among them in increasing order."""
    place = {axis: position for position, axis in enumerate(sorted(axes))}
    return [place[axis] for axis in axes]


def _fold_result(at: Rewriter, op: Transpose, operand: int, reads: dict[int, int]) -> int | None:
    """A transposed contraction as a contraction, or with fewer transposes; None if neither."""
    perm, source = op.perm, operand
    read_once = reads.get(operand) == 1
    producer = at.producer(source)
    if producer is not None and isinstance(producer[0], Transpose):
        perm, source = tuple(producer[0].perm[axis] for axis in perm), producer[1][0]
        producer = at.producer(source)
    if perm == tuple(range(len(perm))):
        return source
    read_once = read_once and reads.get(source) == 1
    if producer is not None and isinstance(producer[0], DotGeneral) and read_once:
        value = _absorbed(at, producer[0], producer[1], perm)
        if value is not None:
            return value
    return None if source == operand else at.emit_all(Transpose(perm), source)[0]


def _absorbed(
    at: Rewriter, dot: DotGeneral, operands: tuple[int, ...], perm: tuple[int, ...]
) -> int | None:
    """The contraction whose result is that of `dot` transposed by `perm`, or None."""
    lhs, rhs = operands
    n_batch = len(dot.lhs_batch)
    middle = n_batch + len(dot.lhs_free(at.ctx.meta(lhs).rank))
    batch, free = perm[:n_batch], perm[n_batch:]
    from_lhs, from_rhs = tuple(range(n_batch, middle)), tuple(range(middle, len(perm)))
    if sorted(batch) != list(range(n_batch)):
        return None
    lhs_batch = tuple(dot.lhs_batch[axis] for axis in batch)
    rhs_batch = tuple(dot.rhs_batch[axis] for axis in batch)
    if free == from_lhs + from_rhs:
        same = DotGeneral(dot.lhs_contract, dot.rhs_contract, lhs_batch, rhs_batch)
        return at.emit_all(same, lhs, rhs)[0]
    if free == from_rhs + from_lhs:
        exchanged = DotGeneral(dot.rhs_contract, dot.lhs_contract, rhs_batch, lhs_batch)
        return at.emit_all(exchanged, rhs, lhs)[0]
    return None


# Contracted axes in the order that needs the fewest transposes.


@dataclass(frozen=True)
class DotDimensionSorter(Pass):
    """Sorts the contracted pairs of each `DotGeneral` by the axis of lhs, or by that of rhs.

    The sum does not depend on the order in which the pairs are listed, but the decomposer can merge
    contracted axes without a transpose only where they are listed as they lie. lhs decides, unless
    only the order of rhs makes a run. Works for any extents.
    """

    name = "dot_dimension_sorter"
    looks_for = (DotGeneral,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with the pairs sorted."""
        dots = set(program.ops_of(DotGeneral))
        in_order = {dot: better for dot in dots if (better := _sorted(dot)) is not None}
        if not in_order:
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            dot = in_order.get(step.op) if isinstance(step.op, DotGeneral) else None
            return None if dot is None else rewriter.emit_all(dot, *operands)

        return rewriter.run(rule)


def _sorted(dot: DotGeneral) -> DotGeneral | None:
    """The contraction with its pairs in order; None if they are."""
    if len(dot.lhs_contract) < 2:
        return None
    pairs = list(zip(dot.lhs_contract, dot.rhs_contract, strict=True))
    by_lhs = sorted(pairs)
    by_rhs = sorted(pairs, key=lambda pair: pair[1])
    chosen = by_rhs if _runs(by_rhs) > _runs(by_lhs) else by_lhs
    if chosen == pairs:
        return None
    return DotGeneral(
        tuple(left for left, _ in chosen),
        tuple(right for _, right in chosen),
        dot.lhs_batch,
        dot.rhs_batch,
    )


def _runs(pairs: Sequence[tuple[int, int]]) -> int:
    """The number of operands whose listed axes follow one another."""
    return sum(
        all(b == a + 1 for a, b in itertools.pairwise(axes))
        for axes in ([left for left, _ in pairs], [right for _, right in pairs])
    )
