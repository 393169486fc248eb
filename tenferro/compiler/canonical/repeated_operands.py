"""Repeated operands: a contraction reads one copy of an operand that is the same for a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tenferro.compiler.canonical.repetitions import Repetitions
from tenferro.compiler.passing import Needs, Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import BroadcastInDim, DotGeneral, Transpose

_Label = tuple[str, int]  # `batch` or `contracted` and a number, or `lhs` or `rhs` and an axis


@dataclass(frozen=True)
class RepeatedOperands(Pass):
    """Makes a batch axis of a `DotGeneral` a free one if an operand is only repeated along it.

    The operand then is contracted without that axis. If both are repeated, the result is. An
    operand is followed through transposes and pointwise ops to a `BroadcastInDim`. This arises from
    branches and loops in a batch, each of whose entries has its own operands: a weight that they
    read would be copied for each entry.

    Where the axes of the result must be put in order, the pass rewrites only if the result is not
    larger than the copies, so that the transpose moves no more than they did.
    """

    name = "repeated_operands"
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such contractions; what they no longer read is left to `DeadCode`."""
        if not (program.has_op(DotGeneral) and program.has_op(BroadcastInDim)):
            return program
        at = Rewriter(program)
        repetitions = Repetitions(at)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            if not isinstance(step.op, DotGeneral) or not step.op.lhs_batch:
                return None
            return _unbatched(repetitions, step.op, operands)

        return at.run(rule)


class _Operand(NamedTuple):
    """An operand of a contraction, with a label for each axis: what it is matched with, or its own.

    Attributes:
        slot: where it is.
        labels: by axis.
        repeated: the labels of batch axes along which it is repeated.
    """

    slot: int
    labels: Sequence[_Label]
    repeated: frozenset[_Label]

    @property
    def axes(self) -> list[int]:
        """The axes along which it is repeated."""
        return [axis for axis, label in enumerate(self.labels) if label in self.repeated]


def _unbatched(at: Repetitions, dot: DotGeneral, slots: Sequence[int]) -> int | None:
    """The contraction of operands that are not repeated; None if it stays as it is."""
    metas = [at.rewriter.ctx.meta(slot) for slot in slots]
    if any(meta.dims is None for meta in metas):
        return None
    sides = (
        ("lhs", slots[0], dot.lhs_batch, dot.lhs_contract, metas[0]),
        ("rhs", slots[1], dot.rhs_batch, dot.rhs_contract, metas[1]),
    )
    operands: list[_Operand] = []
    for side, slot, batched, contracted, meta in sides:
        of_axis = {axis: ("batch", place) for place, axis in enumerate(batched)}
        of_axis |= {axis: ("contracted", place) for place, axis in enumerate(contracted)}
        labels = [of_axis.get(axis, (side, axis)) for axis in range(meta.rank)]
        repeated = [labels[axis] for axis in batched if at.along(slot, axis)]
        operands.append(_Operand(slot, labels, frozenset(repeated)))
    lhs, rhs = operands
    if not lhs.repeated | rhs.repeated:
        return None
    batch = [("batch", place) for place in range(len(dot.lhs_batch))]
    free = [label for x in operands for label in x.labels if label[0] in ("lhs", "rhs")]
    return _contracted(at, lhs, rhs, [*batch, *free])


def _contracted(
    at: Repetitions, lhs: _Operand, rhs: _Operand, wanted: Sequence[_Label]
) -> int | None:
    """The contraction with its axes in the wanted order; None if the transpose would not pay."""
    emitter = at.rewriter
    both = lhs.repeated & rhs.repeated
    made = [label for label in wanted if label not in both]
    orders = [_product(first, second) for first, second in ((lhs, rhs), (rhs, lhs))]
    swapped = orders[0][1] != made and orders[1][1] == made
    dot, order = orders[swapped]
    if order != made and not _transpose_pays(at, lhs, rhs, wanted):
        return None
    shapes = {
        label: size
        for x in (lhs, rhs)
        for label, size in zip(x.labels, emitter.ctx.meta(x.slot).dims or (), strict=True)
    }
    narrow = [at.narrowed(x.slot, x.axes) for x in ((rhs, lhs) if swapped else (lhs, rhs))]
    value = emitter.emit(dot, *narrow)
    value = emitter.emit(Transpose(tuple([order.index(label) for label in made])), value)
    places = tuple([wanted.index(label) for label in made])
    return emitter.emit(BroadcastInDim(tuple([shapes[each] for each in wanted]), places), value)


def _product(lhs: _Operand, rhs: _Operand) -> tuple[DotGeneral, list[_Label]]:
    """The contraction of what is left of two operands, and the labels of its axes."""
    left = [label for label in lhs.labels if label not in lhs.repeated]
    right = [label for label in rhs.labels if label not in rhs.repeated]
    shared = sorted(set(left).intersection(right))
    batch = [label for label in shared if label[0] == "batch"]
    contracted = [label for label in shared if label[0] == "contracted"]
    dot = DotGeneral(
        *(
            tuple([labels.index(label) for label in chosen])
            for chosen in (contracted, batch)
            for labels in (left, right)
        )
    )
    free = [label for label in (*left, *right) if label not in shared]
    return dot, [*batch, *free]


def _transpose_pays(
    at: Repetitions, lhs: _Operand, rhs: _Operand, wanted: Sequence[_Label]
) -> bool:
    """Whether the result is known to be not larger than the repeated operands."""
    sizes: dict[_Label, int] = {}
    copies = 0
    for x in (lhs, rhs):
        shape = at.rewriter.ctx.meta(x.slot).static_shape
        if shape is None:
            return False
        sizes.update(zip(x.labels, shape, strict=True))
        copies += prod(shape) if x.repeated else 0
    return prod(sizes[label] for label in wanted) <= copies
