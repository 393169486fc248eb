"""Stencils, which read an array at several places next to each of its elements.

The *places* of windows are what differs between their starts: XLA's kernels read neighbours within
rows slowly unless they lie in one stored array, and neighbouring rows fast wherever they come from.
So places are counted along all axes but the first one, and along the axis of a vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from tenferro.compiler import Pass
from tenferro.ir import ExecInstruction, ExecOp, ExecProgram, Rewriter, dtype_kind
from tenferro.ops import Concatenate, Pad, Slice
from tenferro_xla.platforms.barriers import Barrier, Materialize, followed

__all__ = ["RollsToSlices", "StoredBorders"]

Ints = tuple[int, ...]

FEWEST = 3
"""The fewest places of a stencil; two, such as those of a difference, are read fast."""

SMALL = 1 << 10
"""Numbers below which a further kernel takes longer than it saves."""


@dataclass(frozen=True)
class StoredBorders(Pass):
    """Stores an array with its border, such as zeros or the opposite side, if a stencil reads it.

    XLA would choose between the array and its border for each number that the stencil reads.
    """

    looks_for = (Slice,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a barrier after each such array.

        A padding is stored by a reduction, since XLA does not vectorize a kernel that only pads.
        """
        joined, padded = set[int](), set[int]()
        makers = program.makers()
        for source, starts in _windows(program):
            maker = makers.get(source)
            if maker is None or not isinstance(maker.op, Concatenate | Pad):
                continue
            if not _is_large(maker):
                continue
            if isinstance(maker.op, Concatenate) and _count_places(starts) >= FEWEST:
                joined.add(source)
            elif isinstance(maker.op, Pad) and len(starts) >= FEWEST:
                inner = makers.get(maker.input_slots[0])
                if inner is None or not inner.op.pointwise:  # functions would not be vectorized
                    padded.add(source)
        for slots, barrier in ((joined, Barrier()), (padded, Materialize())):
            program = followed(program, slots, barrier) if slots else program
        return program


def _windows(program: ExecProgram) -> Iterator[tuple[int, set[Ints]]]:
    """Each slot that only slices of more than half of it read, with the places where they start."""
    starts: dict[int, list[Ints]] = {}
    metas = program.slot_metas()
    for step in program.steps_of(Slice):
        meta = metas[step.input_slots[0]]
        whole = 0 if meta is None else meta.known_size
        if _is_window(step.op) and 2 * step.output_metas[0].known_size > whole:
            starts.setdefault(step.input_slots[0], []).append(tuple(map(int, step.op.starts)))
    reads = program.read_counts()
    return ((slot, set(each)) for slot, each in starts.items() if reads[slot] == len(each))


def _is_window(op: ExecOp) -> TypeGuard[Slice]:
    """Whether an op reads all elements of a window."""
    return isinstance(op, Slice) and max(op.strides, default=1) == 1


def _count_places(starts: Iterable[Ints]) -> int:
    return len({start[1:] or start for start in starts})


def _is_large(step: ExecInstruction) -> bool:
    (meta,) = step.output_metas
    return dtype_kind(meta.dtype) != "c" and meta.known_size >= SMALL


# Rolls of one array, which are windows of the array with a border.

LARGEST_BORDER = 0.5
"""The border of an array as a part of it, from which it is not worth storing both."""


@dataclass(frozen=True)
class RollsToSlices(Pass):
    """Reads what a stencil rolls from the array with a border of its opposite sides.

    A roll is a concatenation of two slices. XLA would choose between them for each number that the
    stencil reads.
    """

    looks_for = (Concatenate,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with slices in place of rolls."""
        rolls = _rolls_of_stencils(program)
        if not rolls:
            return program
        borders = _borders(rolls)
        rewriter, bordered = Rewriter(program), dict[int, int]()

        def rule(step: ExecInstruction, operands: Ints) -> Ints | None:
            found = rolls.get(step.output_slots[0])
            if found is None:
                return None
            source, shift = found
            low, high = borders[source]
            if source not in bordered:
                (now,) = rewriter.now((source,))
                bordered[source] = _with_border(rewriter, now, low, high)
            shape = _shape(step)
            starts = tuple(before + by for before, by in zip(low, shift, strict=True))
            limits = tuple(start + size for start, size in zip(starts, shape, strict=True))
            window = Slice(starts, limits, (1,) * len(shape))
            return rewriter.emit_all(window, bordered[source])

        return rewriter.run(rule)


Rolls = dict[int, tuple[int, Ints]]
"""For each slot the slot that it is a roll of, and by how much: element i is element i + shift."""


def _rolls_of_stencils(program: ExecProgram) -> Rolls:
    """Those rolls that functions of elements read, of arrays that are rolled to several places."""
    by_elements = {
        slot for step in program.steps_of(ExecOp) if step.op.pointwise for slot in step.input_slots
    }
    of: dict[int, Rolls] = {}
    for slot, (source, shift) in _rolls(program).items():
        if slot in by_elements:
            of.setdefault(source, {})[slot] = source, shift
    makers, found = program.makers(), Rolls()
    for rolls in of.values():
        shifts = [shift for _, shift in rolls.values()]
        shape = _shape(makers[next(iter(rolls))])
        low, high = _borders(rolls).popitem()[1]
        wide = math.prod(sum(sizes) for sizes in zip(low, shape, high, strict=True))
        if _count_places([*shifts, (0,) * len(shape)]) >= FEWEST and wide <= (
            1 + LARGEST_BORDER
        ) * math.prod(shape):
            found |= rolls
    return found


def _rolls(program: ExecProgram) -> Rolls:
    """Every roll of a large array, along one axis or, one after the other, along several."""
    rolls: Rolls = {}
    pieces: dict[int, tuple[int, int, int, int]] = {}
    metas = program.slot_metas()
    for step in program.steps_of(ExecOp):
        op, (slot, *_) = step.op, step.output_slots
        if _is_window(op):
            (source,) = step.input_slots
            meta = metas[source]
            whole = () if meta is None or meta.static_shape is None else meta.static_shape
            window = zip(op.starts, op.limits, whole, strict=False)
            cut = [axis for axis, (a, b, size) in enumerate(window) if (a, b) != (0, size)]
            if len(cut) == 1:
                (axis,) = cut
                pieces[slot] = source, axis, int(op.starts[axis]), int(op.limits[axis])
        elif isinstance(op, Concatenate) and len(step.input_slots) == 2 and _is_large(step):
            first, second = (pieces.get(source) for source in step.input_slots)
            if first is None or second is None:
                continue
            size, (source, axis, by, _) = _shape(step)[op.axis], first
            if (first, second) != ((source, op.axis, by, size), (source, op.axis, 0, by)):
                continue
            base, shift = rolls.get(source, (source, (0,) * len(_shape(step))))
            total = (shift[axis] + by) % size
            near = total - size if 2 * total > size else total
            rolls[slot] = base, (*shift[:axis], near, *shift[axis + 1 :])
    return rolls


def _borders(rolls: Rolls) -> dict[int, tuple[Ints, Ints]]:
    """For each array that is rolled how much of it comes before and after it, along each axis."""
    shifts: dict[int, list[Ints]] = {}
    for source, shift in rolls.values():
        shifts.setdefault(source, [(0,) * len(shift)]).append(shift)
    return {
        source: (
            tuple(-min(along) for along in zip(*each, strict=True)),
            tuple(max(along) for along in zip(*each, strict=True)),
        )
        for source, each in shifts.items()
    }


def _with_border(rewriter: Rewriter, slot: int, low: Ints, high: Ints) -> int:
    """An array with its opposite sides before and after it, behind a barrier."""
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        shape = rewriter.metas[slot].static_shape
        assert shape is not None

        def side(start: int, limit: int, shape: Ints = shape, axis: int = axis) -> Slice:
            ends = tuple(limit if i == axis else size for i, size in enumerate(shape))
            return Slice(
                tuple(start * (i == axis) for i in range(len(shape))), ends, (1,) * len(shape)
            )

        parts = [slot]
        if before:
            parts = [*rewriter.emit_all(side(shape[axis] - before, shape[axis]), slot), *parts]
        if after:
            parts += rewriter.emit_all(side(0, after), slot)
        if len(parts) > 1:
            (slot,) = rewriter.emit_all(Concatenate(axis), *parts)
    (slot,) = rewriter.emit_all(Barrier(), slot)
    return slot


def _shape(step: ExecInstruction) -> Ints:
    shape = step.output_metas[0].static_shape
    assert shape is not None, f"{step} has an extent that is not constant"
    return shape
