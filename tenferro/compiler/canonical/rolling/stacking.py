"""Building what loops read entry by entry, and taking apart what they make."""

from __future__ import annotations

from collections.abc import Sequence as Items

import numpy as np

from tenferro.compiler.canonical.rolling.loop import Loop
from tenferro.compiler.canonical.rolling.operands import (
    Entries,
    Literals,
    Results,
    Stack,
    Windows,
)
from tenferro.compiler.canonical.rolling.results import Piece
from tenferro.compiler.canonical.rolling.symbols import Ints
from tenferro.exec_ir import ExecInstruction, ExecOp
from tenferro.ops import Concatenate, Constant, Reshape, Reverse, Slice, Transpose
from tenferro.shape import Dim, TensorMeta


class Emitter:
    """Collects the instructions of the new program; values keep their slots."""

    def __init__(self, metas: list[TensorMeta | None]) -> None:
        self.steps: list[ExecInstruction] = []
        self.metas = metas

    def meta(self, slot: int) -> TensorMeta:
        """The type of a slot that has been written."""
        meta = self.metas[slot]
        assert meta is not None
        return meta

    def shape(self, slot: int) -> tuple[Dim, ...]:
        """The sizes of a value, which are exact in loops."""
        return self.meta(slot).exact_shape()

    def new(self) -> int:
        """A slot that nothing has written yet."""
        self.metas.append(None)
        return len(self.metas) - 1

    def emit(self, op: ExecOp, *operands: int, site: str | None = None) -> int:
        """The result of an op with one output, in a new slot."""
        (slot,) = self.emit_all(op, operands, None, site)
        return slot

    def emit_all(
        self, op: ExecOp, operands: Items[int], outputs: Items[int] | None, site: str | None
    ) -> tuple[int, ...]:
        """The results of an op, in these slots or in new ones."""
        metas = op.infer_all([self.meta(slot) for slot in operands])
        slots = tuple([self.new() for _ in metas] if outputs is None else outputs)
        for slot, meta in zip(slots, metas, strict=True):
            self.metas[slot] = meta
        self.steps.append(ExecInstruction(op, tuple(operands), slots, metas, (), site))
        return slots

    def cut(self, slot: int, axis: int, start: int, count: int, stride: int = 1) -> int:
        """`count` elements along an axis, `stride` apart; from the back if it is negative."""
        shape = self.shape(slot)
        first = start if stride > 0 else start + (count - 1) * stride
        limit = first + (count - 1) * abs(stride) + 1
        if (first, limit, abs(stride)) != (0, shape[axis], 1):
            starts: list[Dim] = [0] * len(shape)
            limits, strides = list(shape), [1] * len(shape)
            starts[axis], limits[axis], strides[axis] = first, limit, abs(stride)
            slot = self.emit(Slice(tuple(starts), tuple(limits), tuple(strides)), slot)
        return self.emit(Reverse((axis,)), slot) if stride < 0 and count > 1 else slot

    def reshape(self, slot: int, shape: Items[Dim]) -> int:
        """The value in another shape; itself if it has it."""
        if tuple(shape) == self.shape(slot):
            return slot
        return self.emit(Reshape(tuple(shape)), slot)

    def moved(self, slot: int, source: int, target: int) -> int:
        """The value with one axis moved."""
        order = list(range(len(self.shape(slot))))
        order.insert(target, order.pop(source))
        return slot if source == target else self.emit(Transpose(tuple(order)), slot)


def stack(at: Emitter, loop: Loop, entries: Entries, stacks: Items[Items[int]]) -> int:
    """The xs of a loop; `stacks` are the ys of all loops."""
    low, count = loop.rounds.low, loop.rounds.count
    numbers = [loop.entry_of(number) for number in range(count)]  # its own inverse
    slots = entries.slots[low : low + count][numbers].tolist()
    match entries:
        case Windows():
            return _windows(at, loop, entries, numbers)
        case Literals():
            values = [loop.sequence.maker(slot).op.evaluate([])[0] for slot in slots]
            return at.emit(Constant(np.stack(values)))
        case Stack():
            shape = (1, *at.shape(slots[0]))
            each = {slot: at.reshape(slot, shape) for slot in dict.fromkeys(slots)}
            return at.emit(Concatenate(0), *[each[slot] for slot in slots])
        case Results():
            return _results(at, loop, entries, stacks, numbers)


def _results(
    at: Emitter, loop: Loop, entries: Results, stacks: Items[Items[int]], numbers: Items[int]
) -> int:
    """Ys of an earlier loop, in the order in which this loop reads them."""
    earlier = loop.before[entries.loop]
    rounds = entries.rounds[loop.rounds.low : loop.rounds.high][numbers]
    first, second = (earlier.entry_of(int(number)) for number in rounds[:2])
    ys = stacks[entries.loop][earlier.ask_all((entries.step, entries.output))]
    return at.cut(ys, 0, first, len(rounds), second - first)


def _windows(at: Emitter, loop: Loop, entries: Windows, numbers: Items[int]) -> int:
    """Windows of one value, one after the other along a new first axis."""
    axis, count = entries.axis, len(numbers)
    positions = entries.positions[loop.rounds.low : loop.rounds.high][numbers]
    op = loop.sequence.steps[positions[0]].op
    assert isinstance(op, Slice)
    entry = loop.sequence.steps[positions[0]].output_metas[0].exact_shape()
    size, stride = entry[axis], op.strides[axis]
    assert isinstance(size, int)
    begin, step = _progression(loop.sequence.starts(positions)[:, axis])
    low = min(begin, begin + (count - 1) * step)
    length = (count - 1) * abs(step) + (size - 1) * stride + 1
    whole = _covering(at, op, entries.base, axis, low, low + length)
    if size == abs(step) and stride == 1:
        shape = at.shape(whole)
        apart = at.reshape(whole, (*shape[:axis], count, size, *shape[axis + 1 :]))
        first, direction = (0, 1) if step > 0 else (count - 1, -1)
        return at.cut(at.moved(apart, axis, 0), 0, first, count, direction)
    single = (count, *entry[:axis], 1, *entry[axis + 1 :])
    elements = [
        at.cut(whole, axis, begin - low + place * stride, count, step) for place in range(size)
    ]
    parts = [at.reshape(at.moved(element, axis, 0), single) for element in elements]
    return parts[0] if size == 1 else at.emit(Concatenate(axis + 1), *parts)


def _progression(starts: Ints) -> tuple[int, int]:
    """The first of equally spaced numbers, and their distance."""
    return int(starts[0]), int(starts[1] - starts[0])


def _covering(at: Emitter, op: Slice, base: int, axis: int, low: int, high: int) -> int:
    """The slice that holds all windows, which move along `axis` between `low` and `high`."""
    starts, limits, strides = list(op.starts), list(op.limits), list(op.strides)
    starts[axis], limits[axis], strides[axis] = low, high, 1
    if (
        tuple(limits) == at.shape(base)
        and all(start == 0 for start in starts)
        and set(strides) == {1}
    ):
        return base
    return at.emit(Slice(tuple(starts), tuple(limits), tuple(strides)), base)


def unstacked(at: Emitter, loop: Loop, ys: int, number: int, slot: int) -> None:
    """Write the value of one round, taken from ys, to the slot that it had."""
    shape = at.shape(slot)
    entry = at.cut(ys, 0, loop.entry_of(number), 1)
    at.emit_all(Reshape(shape), (entry,), (slot,), loop.site)


def joined(at: Emitter, loop: Loop, ys: int, piece: Piece, axis: int) -> int:
    """The values of consecutive rounds, joined along an axis."""
    count = piece.stop - piece.start
    first, second = (loop.entry_of(piece.first + i * piece.stride) for i in range(2))
    cut = at.cut(ys, 0, first, count, second - first)
    shape = at.shape(cut)[1:]
    total = shape[axis] * count
    return at.reshape(at.moved(cut, 0, axis), (*shape[:axis], total, *shape[axis + 1 :]))
