"""The scan: carry, xs, ys, and what the program reads of it."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Items
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from tenferro.compiler.reroll.iterations import (
    OUTSIDE,
    Carried,
    Entries,
    Entry,
    IrregularError,
    Iterations,
    Literals,
    LoopOperand,
    LoopResults,
    LoopStep,
    Made,
    Rolled,
    Same,
    Sequence,
    Stack,
    Windows,
    Wire,
)
from tenferro.ir import Dim, ExecBuilder, ExecInstruction, ExecOp, ExecProgram, TensorMeta
from tenferro.ops import Concatenate, Constant, Reshape, Reverse, Slice, Transpose
from tenferro.ops.control_flow import Scan

# A loop that replaces iterations: what it carries, its body, and its `Scan`.

StepResult = tuple[int, int]
"""An output of an instruction of the iteration: the instruction and which of its outputs."""


@dataclass(frozen=True, slots=True)
class Carry:
    """A value of `len(starts)` iterations ago, carried from iteration to iteration.

    Attributes:
        result: what is carried. starts: for each distance from 1 the slot that the first iteration
            takes; None where no iteration reads what it starts from.
    """

    result: StepResult
    starts: tuple[int | None, ...]

    @property
    def distance(self) -> int:
        return len(self.starts)

    @property
    def start(self) -> int | None:
        return self.starts[-1]


class Loop:
    """One loop, and what is asked of it.

    Attributes:
        iterations: what it computes.
        before: the loops of the program that come before it.
        carries: the values that go from iteration to iteration.
        stacked: the results that are kept of all iterations.
        singles: the slots that are read one by one after the loop.
        votes: whether readers of the results go through them forwards (+) or backwards (-).
    """

    def __init__(self, sequence: Sequence, iterations: Iterations, before: list[Loop]) -> None:
        self.sequence, self.iterations, self.before = sequence, iterations, before
        self.carries: list[Carry] = []
        self._leaves: dict[Carry, int] = {}
        self.stacked: list[StepResult] = []
        self.singles: list[int] = []
        self.votes = 0
        self.positions = iterations.positions[iterations.low : iterations.high]
        middle = self.positions[len(self.positions) // 2]
        sites = (sequence.steps[position].site for position in middle)
        self.site = next((site for site in sites if site is not None), None)
        for step in (*iterations.steps, *iterations.made):
            if not isinstance(step.operands, Entry):
                for operand in step.operands:
                    if isinstance(operand, Carried):
                        self._add(self.carry_of(operand))
        for entries in iterations.entries:
            if isinstance(entries, Windows):
                self.votes += 1 if entries.step > 0 else -1

    @property
    def reverse(self) -> bool:
        return self.votes < 0

    @property
    def size(self) -> int:
        """The number of instructions of an iteration in the program."""
        made = [step for step in self.iterations.made if not self._is_constant(step)]
        free = [entry for entry in self.iterations.entries if self._is_free(entry)]
        return len(self.iterations.steps) + len(made) + len(free)

    def _is_free(self, entries: object) -> bool:
        """Whether the xs replace an instruction of the iteration that is not among its steps."""
        if not isinstance(entries, Windows):
            return False
        return bool(self.sequence.places[entries.positions[0]] == OUTSIDE)

    def _is_constant(self, step: LoopStep) -> bool:
        slot = self.sequence.steps[step.position].output_slots[0]
        return self.sequence.is_constant(slot) or self.sequence.kinds[step.position].source

    def saved(self) -> int:
        """The number of instructions that need not be compiled."""
        kinds = self.sequence.kinds
        steps = (*self.iterations.steps, *self.iterations.made)
        counted = len([step for step in steps if kinds[step.position].counts])
        stacks = len([entry for entry in self.iterations.entries if isinstance(entry, Stack)])
        count = self.iterations.count
        return (count - 1) * counted - count * stacks - 2 * len(self.singles)

    def start_slots(self) -> list[int]:
        """The slots that are read one by one before the loop starts."""
        slots = [carry.start for carry in self.carries if carry.start is not None]
        slots += [operand.slot for operand in self._constants()]
        for entries in self.iterations.entries:
            if isinstance(entries, Windows):
                slots.append(entries.base)
            elif isinstance(entries, Stack):
                slots += entries.slots[self.iterations.low : self.iterations.high].tolist()
        return slots

    def _constants(self) -> list[Same]:
        constants: dict[int, Same] = {}
        for step in (*self.iterations.steps, *self.iterations.made):
            if not isinstance(step.operands, Entry):
                for operand in step.operands:
                    if isinstance(operand, Same):
                        constants.setdefault(operand.slot, operand)
        return list(constants.values())

    def carry_of(self, operand: Carried) -> Carry:
        low, distance = self.iterations.low, operand.distance
        first = operand.slots[low : low + distance][::-1]
        return Carry((operand.step, operand.output), tuple(first.tolist()))

    def _add(self, carry: Carry) -> None:
        """Add a carry, after those of shorter distances that it takes its values from."""
        for distance in range(1, carry.distance + 1):
            shorter = Carry(carry.result, carry.starts[:distance])
            if shorter not in self._leaves:
                self._leaves[shorter] = len(self.carries)
                self.carries.append(shorter)

    def ask_single(self, slot: int, result: StepResult, number: int) -> None:
        """Ask for the value of one iteration; `number` counts the iterations of the loop."""
        self.singles.append(slot)
        ago = self.iterations.count - number
        if result in self.stacked or self.carry_ago(result, ago) is not None:
            return
        if ago == 1:
            self._add(Carry(result, (None,)))
        else:
            self.ask_all(result)

    def carry_ago(self, result: StepResult, ago: int) -> int | None:
        """The carry that ends with the value of so many iterations ago; the last one is 1."""
        for leaf, carry in enumerate(self.carries):
            if carry.result == result and carry.distance == ago:
                return leaf
        return None

    def ask_all(self, result: StepResult) -> int:
        """Ask for the values of all iterations; returns the number of the stack."""
        if result not in self.stacked:
            self.stacked.append(result)
        return self.stacked.index(result)

    def entry_of(self, number: int) -> int:
        return self.iterations.count - 1 - number if self.reverse else number

    def scan(self, body: ExecProgram, consts: int) -> Scan:
        return Scan(body, consts, len(self.carries), self.iterations.count, reverse=self.reverse)

    def leaf(self, operand: Carried) -> int:
        return self._leaves[self.carry_of(operand)]

    def previous(self, carry: Carry) -> int | None:
        return self._leaves.get(Carry(carry.result, carry.starts[:-1]))


class RerolledBody:
    """The body of a loop, built from its middle iteration.

    Attributes:
        program: the body.
        consts: the slots of the program that are its consts.
    """

    def __init__(self, loop: Loop) -> None:
        """Raises IrregularError if an op infers other types in the body."""
        self._loop, self._builder = loop, ExecBuilder()
        sequence, iterations = loop.sequence, loop.iterations
        metas = sequence.metas
        every = [operand.slot for operand in loop._constants()]
        self.consts = [slot for slot in every if not sequence.is_constant(slot)]
        self._now: dict[int, int] = {}
        for slot in self.consts:
            self._now[slot] = self._input(metas[slot])
        self._carries = [self._input(self._meta(carry.result)) for carry in loop.carries]
        middle = (iterations.low + iterations.high) // 2
        self._entries = [
            self._input(metas[int(entries.slots[middle])]) for entries in iterations.entries
        ]
        self._made: list[int] = []
        self._results: list[tuple[int, ...]] = []
        for slot in every:
            self._sink(slot)
        for step in iterations.made:
            self._made.append(self._emit(step)[0])
        for step in iterations.steps:
            self._results.append(self._emit(step))
        self.program = self._builder.build([*map(self._next, loop.carries), *self._stacked()])

    def _input(self, meta: object) -> int:
        return self._builder.input(meta)  # type: ignore[arg-type]  # slots are written

    def _meta(self, result: StepResult) -> object:
        step, output = result
        position = self._loop.iterations.steps[step].position
        return self._loop.sequence.steps[position].output_metas[output]

    def _next(self, carry: Carry) -> int:
        """The value of a carry for the next iteration."""
        if carry.distance > 1:
            previous = self._loop.previous(carry)
            assert previous is not None
            return self._carries[previous]
        step, output = carry.result
        return self._results[step][output]

    def _stacked(self) -> list[int]:
        return [self._results[step][output] for step, output in self._loop.stacked]

    def _sink(self, slot: int) -> None:
        """Compute a constant in the body, so that simplifications see it."""
        chain: list[int] = []
        while slot not in self._now and self._loop.sequence.is_constant(slot):
            chain.append(slot)
            operands = self._loop.sequence.maker(slot).input_slots
            if not operands:
                break
            (slot,) = operands
        for constant in reversed(chain):
            step = self._loop.sequence.maker(constant)
            operands = tuple([self._now[operand] for operand in step.input_slots])
            (self._now[constant],) = self._builder.add(step.op, operands, step.site)

    def _emit(self, step: LoopStep) -> tuple[int, ...]:
        if isinstance(step.operands, Entry):
            return (self._entries[step.operands.number],)
        instruction = self._loop.sequence.steps[step.position]
        operands = [self._value(operand) for operand in step.operands]
        results = self._builder.add(instruction.op, operands, instruction.site)
        if tuple([self._builder.metas[slot] for slot in results]) != instruction.output_metas:
            raise IrregularError
        return results

    def _value(self, operand: LoopOperand) -> int:
        """The slot of the body that holds an operand."""
        match operand:
            case Wire(step, output):
                return self._results[step][output]
            case Carried():
                return self._carries[self._loop.leaf(operand)]
            case Same(slot):
                return self._now[slot]
            case Made(number):
                return self._made[number]
            case Entry(number):
                return self._entries[number]


# What is asked of the loops: results of one iteration, or of all iterations.


@dataclass(frozen=True, slots=True)
class Piece:
    """Operands `start : stop` of a concatenation: results of iterations at constant distances."""

    start: int
    stop: int
    loop: int
    result: tuple[int, int]
    first: int
    stride: int


@dataclass(frozen=True, slots=True)
class Demands:
    """What the program reads of its loops.

    Attributes:
        pieces: for the positions of concatenations the pieces that are read as a whole.
    """

    pieces: dict[int, list[Piece]] = field(default_factory=dict)


def ask(sequence: Sequence, loops: Items[Loop], rolled: Rolled) -> Demands:
    """Tell each loop what is read of it outside of its iterations."""
    demands = Demands()
    singles = _read_outside(sequence, rolled, demands)
    for pieces in demands.pieces.values():
        for piece in pieces:
            loop = loops[piece.loop]
            loop.ask_all(piece.result)
            loop.votes += 1 if piece.stride > 0 else -1
    for loop in loops:
        for entries in loop.iterations.entries:
            if isinstance(entries, LoopResults):
                earlier = loops[entries.loop]
                earlier.ask_all((entries.step, entries.output))
                loop.votes += 1 if (entries.stride > 0) != earlier.reverse else -1
        for slot in loop.start_slots():
            if rolled.loops[slot] != OUTSIDE:
                singles[slot] = None
    for slot in reversed(singles):  # the last iterations first, which need no stack
        result = int(rolled.places[slot]), int(rolled.outputs[slot])
        loops[rolled.loops[slot]].ask_single(slot, result, int(rolled.iterations[slot]))
    return demands


def _read_outside(sequence: Sequence, rolled: Rolled, demands: Demands) -> dict[int, None]:
    """The slots of loops that other instructions and the outputs read one by one."""
    owners = np.repeat(np.arange(len(sequence.steps)), np.diff(sequence.first_read))
    reads = sequence.reads
    outside = (rolled.of_step[owners] == OUTSIDE) & (rolled.loops[reads] != OUTSIDE)
    singles: dict[int, None] = {}
    for position in np.unique(owners[outside]).tolist():
        slots = sequence.steps[position].input_slots
        covered: set[int] = set()
        if isinstance(sequence.steps[position].op, Concatenate):
            pieces = list(_pieces(slots, rolled))
            if pieces:
                demands.pieces[position] = pieces
            covered = {place for piece in pieces for place in range(piece.start, piece.stop)}
        for place, slot in enumerate(slots):
            if place not in covered and rolled.loops[slot] != OUTSIDE:
                singles[slot] = None
    for slot in sequence.program.output_slots:
        if rolled.loops[slot] != OUTSIDE:
            singles[slot] = None
    return singles


def _pieces(slots: tuple[int, ...], rolled: Rolled) -> Iterator[Piece]:
    """The longest stretches of results of iterations at constant distances, in either direction."""
    array = np.array(slots, np.int64)
    loops, iterations = rolled.loops[array], rolled.iterations[array]
    places, outputs = rolled.places[array], rolled.outputs[array]
    alike = (np.diff(loops) == 0) & (np.diff(places) == 0) & (np.diff(outputs) == 0)
    steps = np.where(alike & (loops[1:] != OUTSIDE), np.diff(iterations), 0)
    start = 0
    while start < len(steps):
        stride = int(steps[start])
        stop = start + 1
        while stop < len(steps) and steps[stop] == stride:
            stop += 1
        if stride and (abs(stride) == 1 or stop - start > 1):
            result = int(places[start]), int(outputs[start])
            yield Piece(start, stop + 1, int(loops[start]), result, int(iterations[start]), stride)
            stop += 1  # its last operand belongs to it
        start = stop


# Building what loops read entry by entry, and taking apart what they make.


class LoopBuilder(ExecBuilder):
    """Builds the program with loops, in which every value keeps the slot that it had."""

    def __init__(self, program: ExecProgram) -> None:
        super().__init__()
        self._inputs += program.input_slots
        self.metas = cast(list[TensorMeta], program.slot_metas())  # operands have been written

    def keep(self, step: ExecInstruction) -> None:
        """Append an instruction of the old program."""
        self._instructions.append(step)

    def write(
        self, slots: Items[int | None], op: ExecOp, operands: Items[int], site: str | None
    ) -> tuple[int, ...]:
        """Append an op that writes slots of the old program and, for None, new ones."""
        metas = op.infer_all([self.metas[slot] for slot in operands])
        outputs: list[int] = []
        for slot, meta in zip(slots, metas, strict=True):
            if slot is None:
                slot = len(self.metas)
                self.metas.append(meta)
            outputs.append(slot)
        self.keep(ExecInstruction(op, tuple(operands), tuple(outputs), metas, (), site))
        return tuple(outputs)

    def emit(self, op: ExecOp, *operands: int) -> int:
        (slot,) = self.add(op, operands)
        return slot

    def shape(self, slot: int) -> tuple[Dim, ...]:
        return self.metas[slot].exact_shape()

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
        order = list(range(len(self.shape(slot))))
        order.insert(target, order.pop(source))
        return slot if source == target else self.emit(Transpose(tuple(order)), slot)


def stack(at: LoopBuilder, loop: Loop, entries: Entries, stacks: Items[Items[int]]) -> int:
    """The xs of a loop; `stacks` are the ys of all loops."""
    low, count = loop.iterations.low, loop.iterations.count
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
        case LoopResults():
            return _results(at, loop, entries, stacks, numbers)


def _results(
    at: LoopBuilder,
    loop: Loop,
    entries: LoopResults,
    stacks: Items[Items[int]],
    numbers: Items[int],
) -> int:
    """Ys of an earlier loop, in the order in which this loop reads them."""
    earlier = loop.before[entries.loop]
    iterations = entries.iterations[loop.iterations.low : loop.iterations.high][numbers]
    first, second = (earlier.entry_of(int(number)) for number in iterations[:2])
    ys = stacks[entries.loop][earlier.ask_all((entries.step, entries.output))]
    return at.cut(ys, 0, first, len(iterations), second - first)


def _windows(at: LoopBuilder, loop: Loop, entries: Windows, numbers: Items[int]) -> int:
    """Windows of one value, one after the other along a new first axis."""
    axis, count = entries.axis, len(numbers)
    positions = entries.positions[loop.iterations.low : loop.iterations.high][numbers]
    op = loop.sequence.steps[positions[0]].op
    assert isinstance(op, Slice)
    entry = loop.sequence.steps[positions[0]].output_metas[0].exact_shape()
    size, stride = entry[axis], op.strides[axis]
    assert isinstance(size, int)
    begin, following = loop.sequence.starts(positions)[:2, axis].tolist()
    step = following - begin
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


def _covering(at: LoopBuilder, op: Slice, base: int, axis: int, low: int, high: int) -> int:
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


def unstacked(at: LoopBuilder, loop: Loop, ys: int, number: int, slot: int) -> None:
    """Write the value of one iteration, taken from ys, to the slot that it had."""
    shape = at.shape(slot)
    entry = at.cut(ys, 0, loop.entry_of(number), 1)
    at.write((slot,), Reshape(shape), (entry,), loop.site)


def concatenate_iterations(at: LoopBuilder, loop: Loop, ys: int, piece: Piece, axis: int) -> int:
    """The values of consecutive iterations, joined along an axis."""
    count = piece.stop - piece.start
    first, second = (loop.entry_of(piece.first + i * piece.stride) for i in range(2))
    cut = at.cut(ys, 0, first, count, second - first)
    shape = at.shape(cut)[1:]
    total = shape[axis] * count
    return at.reshape(at.moved(cut, 0, axis), (*shape[:axis], total, *shape[axis + 1 :]))
