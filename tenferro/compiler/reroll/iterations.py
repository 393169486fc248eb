"""A program as numbers, the periods in it, and what each operand is in all iterations at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tenferro.ir import ExecInstruction, ExecOp, ExecProgram
from tenferro.ops import AssumeSize, Constant, Slice

# A program as a sequence of numbers, so that repeated structure is found by comparing arrays.

Ints = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
OUTSIDE = -1


class Numbering:
    """Numbers things in the order in which they are first seen."""

    def __init__(self) -> None:
        self.known: dict[Hashable, int] = {}

    def of(self, thing: Hashable) -> int:
        """The number of a thing; equal things have equal numbers."""
        return self.known.setdefault(thing, len(self.known))


@dataclass(frozen=True, slots=True)
class OpKind:
    """What the search needs to know of an op, found once for each op.

    Attributes:
        exact: number of the op.
        similar: number of the op without what may change from iteration to iteration: where a
            window starts, and the value of a constant.
        starts: where the window starts, if the op is a slice.
        source: whether it reads nothing, or only repeats what its operand has.
        moves: whether it only moves elements.
        counts: whether XLA makes a kernel of it that takes time to compile.
    """

    exact: int
    similar: int
    starts: tuple[int, ...] | None
    source: bool
    moves: bool
    counts: bool


class Sequence:
    """The instructions of a program as arrays of numbers.

    Instructions that only move inputs and constants around are *free*: they can be computed again
    anywhere, and may be merged with others, which would break the rhythm. They are left out of
    `order`, and belong to the instructions that read them.

    Attributes:
        program: the program.
        steps: its instructions.
        kinds: what is known of the op of each instruction.
        symbols: for each instruction the number of (similar op, types).
        order: the positions of the instructions that are not free.
        places: for each instruction its place in `order`, or -1.
        reads: the operands of all instructions, one after the other.
        first_read: for each instruction where its operands start in `reads`.
        metas: for each slot its type.
        types: for each slot the number of its type.
        makers: for each slot the position of its instruction, or -1 for an input.
        outputs: for each slot which output of its instruction it is.
    """

    def __init__(self, program: ExecProgram) -> None:
        self.program = program
        self.steps = program.instructions
        self._ops, self._similar, self._types = Numbering(), Numbering(), Numbering()
        self._kinds: dict[int, OpKind] = {}
        self._type_numbers: dict[int, int] = {}
        self.kinds = [self._kind(op) for op in program.ops()]
        self.types = np.full(program.n_slots, OUTSIDE, np.int64)
        self.makers = np.full(program.n_slots, OUTSIDE, np.int64)
        self.outputs = np.zeros(program.n_slots, np.int64)
        for slot, meta in zip(program.input_slots, program.input_metas, strict=True):
            self.types[slot] = self._type(meta)
        self.metas = program.slot_metas()
        self._number()

    def _number(self) -> None:
        """Fill in the arrays, in one walk."""
        symbols = Numbering()
        types, makers, numbered, lengths = self.types, self.makers, [], []
        is_free = [False] * (self.program.n_slots)
        for slot in self.program.input_slots:
            is_free[slot] = True
        order: list[int] = []
        for position, (step, kind) in enumerate(zip(self.steps, self.kinds, strict=True)):
            slots, made = step.input_slots, []
            for place, (slot, meta) in enumerate(
                zip(step.output_slots, step.output_metas, strict=True)
            ):
                types[slot] = number = self._type(meta)
                made.append(number)
                makers[slot] = position
                if place:
                    self.outputs[slot] = place
            numbered.append(symbols.of((kind.similar, len(slots), *made)))
            lengths.append(len(slots))
            if kind.moves and all(is_free[slot] for slot in slots):
                is_free[step.output_slots[0]] = True
            else:
                order.append(position)
        self.symbols = np.array(numbered, np.int64)
        self.order = np.array(order, np.int64)
        self.places = np.full(len(self.steps), OUTSIDE, np.int64)
        self.places[self.order] = np.arange(len(order))
        self.reads = np.array(self.program.read_slots(), np.int64)
        self.first_read = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def is_constant(self, slot: int) -> bool:
        """Whether a slot holds a number, or repeats of one."""
        while self.makers[slot] != OUTSIDE:
            step = self.maker(slot)
            if isinstance(step.op, Constant):
                return step.op.numpy().ndim == 0
            if not step.op.repeats:
                return False
            (slot,) = step.input_slots
        return False

    def exact(self, op: ExecOp) -> int:
        """The number of an op; one that does not occur in the program gets a new one."""
        return self._kind(op).exact

    def maker(self, slot: int) -> ExecInstruction:
        return self.steps[int(self.makers[slot])]

    def operands(self, positions: Ints, place: int) -> Ints:
        return self.reads[self.first_read[positions] + place]

    def starts(self, positions: Iterable[int]) -> Ints:
        return np.array([self.kinds[position].starts for position in positions], np.int64)

    def _kind(self, op: ExecOp) -> OpKind:
        kind = self._kinds.get(id(op))
        if kind is None:
            kind = self._kinds[id(op)] = self._kind_of(op)
        return kind

    def _kind_of(self, op: ExecOp) -> OpKind:
        starts: tuple[int, ...] | None = None
        similar: Hashable = op.identity
        fixed = isinstance(op, Slice) and all(type(start) is int for start in op.starts)
        if isinstance(op, Slice) and fixed:
            starts = cast(tuple[int, ...], op.starts)
            sizes = [limit - start for start, limit in zip(op.starts, op.limits, strict=True)]
            similar = ("slice", tuple(sizes), op.strides)
        elif isinstance(op, Constant):
            similar = "constant"
        return OpKind(
            exact=self._ops.of(op.identity),
            similar=self._similar.of(similar),
            starts=starts,
            source=op.source,
            moves=op.source or (op.moves and not op.follows_shapes),
            counts=op.family is None and op.name != "dot_general" and not op.source,
        )

    def _type(self, meta: Any) -> int:
        number = self._type_numbers.get(id(meta))
        if number is None:
            number = self._type_numbers[id(meta)] = self._types.of(meta)
        return number

    def may_be_rolled(self, step: ExecInstruction) -> bool:
        """Whether an instruction can stand in the body of a loop.

        Sizes with names wait until they are known: they may be rounded up, and nothing masks the
        padding in a loop. The canonical passes run again when they are known.
        """
        metas = [self.metas[slot] for slot in (*step.input_slots, *step.output_slots)]
        constant = all(meta is not None and meta.static_shape is not None for meta in metas)
        return constant and not step.op.symbols() and not isinstance(step.op, AssumeSize)


# Runs of equal symbols at a constant distance, found in linear time with array comparisons.

WINDOW = 6
TRIED = 6
SEARCHES = 3
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, order=True)
class PeriodicRun:
    """Symbols `start : start + length`, each equal to the one that is `period` further on."""

    start: int
    length: int
    period: int

    @property
    def stop(self) -> int:
        return self.start + self.length


def find_runs(symbols: Ints, iterations: int, instructions: int) -> list[PeriodicRun]:
    """Runs of at least so many iterations and instructions that do not overlap, in order.

    Longest runs are taken first; of equally long ones, that of the shorter period. What is left is
    searched again, a constant number of times.
    """
    runs: list[PeriodicRun] = []
    rest = [(0, len(symbols))]
    for _ in range(SEARCHES):
        gaps: list[tuple[int, int]] = []
        for start, stop in rest:
            if stop - start < max(instructions, iterations, 2):
                continue
            longest = _longest_apart(
                list(_candidates(symbols[start:stop], iterations, instructions))
            )
            if not longest:
                continue
            moved = [PeriodicRun(start + run.start, run.length, run.period) for run in longest]
            runs += moved
            ends = [start, *[run.stop for run in moved]]
            gaps += list(zip(ends, [*[run.start for run in moved], stop], strict=True))
        rest = gaps
    return sorted(runs)


def _longest_apart(candidates: list[PeriodicRun]) -> list[PeriodicRun]:
    """Runs that do not overlap, in order; longer ones are taken first."""
    apart: list[PeriodicRun] = []
    for run in sorted(candidates, key=lambda run: (-run.length, run.period)):
        if all(run.start >= other.stop or run.stop <= other.start for other in apart):
            apart.append(run)
        if len(apart) == 64:
            break
    return sorted(apart)


def _candidates(symbols: Ints, iterations: int, instructions: int) -> Iterator[PeriodicRun]:
    """All maximal runs of the distances that are tried."""
    for period in _distances(symbols):
        if period * iterations > len(symbols):
            continue
        equal = symbols[:-period] == symbols[period:]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]])))
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            length = stop - start + period
            if length >= iterations * period and length >= instructions:
                yield PeriodicRun(start, length, period)


def _distances(symbols: Ints) -> list[int]:
    """The most frequent distances between equal windows that follow one another."""
    count = len(symbols) - WINDOW + 1
    if count < 2:
        return list(range(1, len(symbols)))
    hashes = np.zeros(count, np.uint64)
    for place in range(WINDOW):
        hashes = hashes * _FACTOR + symbols[place : place + count].astype(np.uint64)
        hashes ^= hashes >> np.uint64(29)
    order = np.argsort(hashes, kind="stable")
    again = hashes[order][1:] == hashes[order][:-1]
    distances, times = np.unique(np.diff(order)[again], return_counts=True)
    most = np.argsort(-times, kind="stable")[:TRIED]
    return [int(distance) for distance in distances[most]]


# What the operands of an iteration are, and values that one iteration after the other takes.


@dataclass(frozen=True, slots=True)
class Wire:
    """An output of an instruction of the same iteration."""

    step: int
    output: int


@dataclass(frozen=True, slots=True)
class Carried:
    """An output of an instruction `distance` iterations earlier; `slots` are the operands of all
    iterations, of which the first ones are where the loop starts from."""

    step: int
    output: int
    distance: int
    slots: Ints


@dataclass(frozen=True, slots=True)
class Same:
    """One value for all iterations."""

    slot: int


@dataclass(frozen=True, slots=True)
class Made:
    """The result of a free instruction that each iteration computes for itself."""

    number: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of one of the xs."""

    number: int


LoopOperand = Wire | Carried | Same | Made | Entry


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one value that move by a constant step along one axis.

    Attributes:
        slots: for each iteration the slot that holds the window.
        positions: for each iteration the position of the slice.
        base: the slot that windows are taken of.
        axis: the axis along which they move.
        step: how far they move from iteration to iteration.
    """

    slots: Ints
    positions: Ints
    base: int
    axis: int
    step: int


@dataclass(frozen=True, slots=True)
class LoopResults:
    """Results of an earlier loop, of iterations at constant distances.

    Attributes:
        slots: for each iteration the slot.
        iterations: for each iteration the iteration of the earlier loop.
        loop: number of the earlier loop.
        step: the instruction in its iteration.
        output: which output of the instruction.
        stride: how far the iteration of the earlier loop moves.
    """

    slots: Ints
    iterations: Ints
    loop: int
    step: int
    output: int
    stride: int


@dataclass(frozen=True, slots=True)
class Literals:
    """Constants of one type."""

    slots: Ints


@dataclass(frozen=True, slots=True)
class Stack:
    """Any values of one type that exist before the loop."""

    slots: Ints


Entries = Windows | LoopResults | Literals | Stack


class Rolled:
    """Which loop computes each slot, in which iteration, by which instruction of the iteration."""

    def __init__(self, sequence: Sequence) -> None:
        n_slots = sequence.program.n_slots
        self._steps = sequence.steps
        self.outputs = sequence.outputs
        self.loops = np.full(n_slots, OUTSIDE, np.int64)
        self.iterations = np.zeros(n_slots, np.int64)
        self.places = np.zeros(n_slots, np.int64)
        self.of_step = np.full(len(sequence.steps), OUTSIDE, np.int64)

    def add(self, loop: int, positions: Ints) -> None:
        """Add a loop whose iteration j has the instructions at `positions[j]`."""
        self.of_step[positions.ravel()] = loop
        for number, row in enumerate(positions.tolist()):
            for place, position in enumerate(row):
                for slot in self._steps[position].output_slots:
                    self.loops[slot] = loop
                    self.iterations[slot] = number
                    self.places[slot] = place


# The iterations of a run: what each operand of an iteration is, in all iterations at once.

FARTHEST = 3  # iterations that a carried value may come from
DEEPEST = 16  # free instructions that an iteration computes one on the other
WIDEST = 8  # elements of a window, if neighbouring windows overlap or leave gaps


class IrregularError(Exception):
    """Some operand follows no rule."""


@dataclass(frozen=True, slots=True)
class LoopStep:
    """An instruction of the iteration; `operands` is an entry if the loop reads its result instead.

    Attributes:
        position: of the instruction in the middle iteration.
        operands: what it reads.
    """

    position: int
    operands: tuple[LoopOperand, ...] | Entry


class Iterations:
    """The iterations `low : high` of a run in which every operand follows one rule.

    The rules are read off the middle iteration. An iteration that breaks one ends the loop there,
    and stays as it is.

    Attributes:
        start: the place of the first iteration in the sequence.
        positions: the instructions of each iteration.
        steps: the instructions of an iteration.
        made: free instructions that an iteration computes for itself, each after those it reads.
        entries: where the xs come from.
        low: the first iteration of the loop.
        high: the iteration after the last.
    """

    def __init__(self, sequence: Sequence, run: PeriodicRun, rolled: Rolled) -> None:
        """Raises IrregularError if some operand follows no rule."""
        self._sequence, self._rolled = sequence, rolled
        self.period = run.period
        self.start, count = _first_iteration(sequence, run)
        self._stop = self.start + count * run.period
        self.positions = sequence.order[self.start : self._stop].reshape(count, run.period)
        self.low, self.high, self._middle = 0, count, count // 2
        self._first_places = self.start + run.period * np.arange(count)
        self.steps: list[LoopStep] = []
        self.made: list[LoopStep] = []
        self.entries: list[Entries] = []
        self._operands: dict[bytes, LoopOperand] = {}
        if not all(sequence.may_be_rolled(sequence.steps[i]) for i in self.positions[self._middle]):
            raise IrregularError
        for column in self.positions.T:
            self.steps.append(self._step(column))
        while not self._can_start():
            self.low += 1
            if self.low > self._middle:
                raise IrregularError

    @property
    def count(self) -> int:
        return self.high - self.low

    def _can_start(self) -> bool:
        """Whether all that is carried into the first iteration exists before it."""
        low, begin = self.low, self.start + self.low * self.period
        carried = [known for known in self._operands.values() if isinstance(known, Carried)]
        return all(
            (self._places(each.slots[low : low + each.distance]) < begin).all() for each in carried
        )

    def _step(self, column: Ints) -> LoopStep:
        """One instruction of the iteration, from its positions in all iterations."""
        position = int(column[self._middle])
        step = self._sequence.steps[position]
        if self._sequence.kinds[position].starts is not None:
            slots = np.array([self._sequence.steps[i].output_slots[0] for i in column], np.int64)
            moving = self._window(column, slots)
            if isinstance(moving, Stack):
                raise IrregularError
            if moving is not None:
                return LoopStep(position, self._entry(moving))
        reads = [self._sequence.operands(column, place) for place in range(len(step.input_slots))]
        if step.op.commutative:
            reads = self._exchanged(*reads)
        return LoopStep(position, tuple([self._operand(slots) for slots in reads]))

    def _exchanged(self, left: Ints, right: Ints) -> list[Ints]:
        """The operands, exchanged where they then follow the middle iteration better."""
        straight = self._as_in_the_middle(left, left) + self._as_in_the_middle(right, right)
        if (straight == 2).all():
            return [left, right]
        turned = self._as_in_the_middle(right, left) + self._as_in_the_middle(left, right)
        exchange = turned > straight
        return [np.where(exchange, right, left), np.where(exchange, left, right)]

    def _as_in_the_middle(self, slots: Ints, other: Ints) -> Ints:
        """1 in iterations in which `slots` are what `other` are in the middle iteration."""
        middle = other[self._middle]
        place = int(self._places(other)[self._middle])
        if self._inside(place):
            outputs = self._sequence.outputs
            distances = self._places(slots) - self._first_places
            same = distances == place - self._first_places[self._middle]
            same &= outputs[slots] == outputs[middle]
        else:
            same = slots == middle
        return np.asarray(same, np.int64)

    def _operand(self, slots: Ints, depth: int = 0) -> LoopOperand:
        """What an operand is, from its slots in all iterations."""
        key = slots.tobytes()
        known = self._operands.get(key)
        if known is None:
            types = self._sequence.types[slots]
            self._narrow(types == types[self._middle])
            known = self._operands[key] = self._classified(slots, depth)
        return known

    def _classified(self, slots: Ints, depth: int) -> LoopOperand:
        middle = self._middle
        neighbours = slots[max(middle - 1, 0) : middle + 2]
        if (neighbours == slots[middle]).all():
            return self._same(slots)
        places = self._places(slots)
        if self._inside(places[middle]):
            return self._of_an_iteration(slots, places)
        if self._rolled.loops[slots[middle]] != OUTSIDE:
            return self._entry(self._results(slots))
        makers = self._sequence.makers[slots]
        if places[middle] == OUTSIDE and makers[middle] != OUTSIDE and depth < DEEPEST:
            return self._free(slots, makers, depth)
        self._narrow(places < self.start)
        return self._entry(Stack(slots))

    def _same(self, slots: Ints) -> Same:
        """One value, which exists before the loop starts."""
        slot = int(slots[self._middle])
        self._narrow(slots == slot)
        place = int(self._places(slots)[self._middle])
        if self._inside(place):
            self.low = max(self.low, (place - self.start) // self.period + 1)
            if self.low > self._middle:
                raise IrregularError
        return Same(slot)

    def _of_an_iteration(self, slots: Ints, places: Ints) -> LoopOperand:
        """A result of this iteration, or of one before."""
        outputs = self._sequence.outputs[slots]
        offsets = places - self._first_places
        offset, output = int(offsets[self._middle]), int(outputs[self._middle])
        distance = max(0, -(offset // self.period))
        if distance > FARTHEST:
            raise IrregularError
        self._narrow((offsets == offset) & (outputs == output), distance)
        step = offset + distance * self.period
        return Carried(step, output, distance, slots) if distance else Wire(step, output)

    def _results(self, slots: Ints) -> LoopResults:
        """Results of an earlier loop."""
        rolled, middle = self._rolled, slots[self._middle]
        iterations = rolled.iterations[slots]
        stride = int(iterations[self._middle] - iterations[self._middle - 1])
        expected = iterations[self._middle] + (np.arange(len(slots)) - self._middle) * stride
        follows = (
            (rolled.loops[slots] == rolled.loops[middle])
            & (rolled.places[slots] == rolled.places[middle])
            & (rolled.outputs[slots] == rolled.outputs[middle])
            & (iterations == expected)
        )
        if stride == 0:
            raise IrregularError
        self._narrow(follows)
        loop, place = int(rolled.loops[middle]), int(rolled.places[middle])
        return LoopResults(slots, iterations, loop, place, int(rolled.outputs[middle]), stride)

    def _free(self, slots: Ints, makers: Ints, depth: int) -> LoopOperand:
        """Results of free instructions, of which each iteration computes its own."""
        sequence, position = self._sequence, int(makers[self._middle])
        alike = (makers != OUTSIDE) & (
            sequence.symbols[makers] == sequence.symbols[position]
        )  # an input has no maker
        self._narrow(alike)
        step = sequence.steps[position]
        if isinstance(step.op, Constant):
            return self._entry(Literals(slots))
        column = np.where(alike, makers, position)
        moving = self._window(column, slots, depth)
        if moving is not None:
            return self._entry(moving)
        operands = tuple(
            [
                self._operand(sequence.operands(column, place), depth + 1)
                for place in range(len(step.input_slots))
            ]
        )
        self.made.append(LoopStep(position, operands))
        return Made(len(self.made) - 1)

    def _window(self, column: Ints, slots: Ints, depth: int = 0) -> Windows | Stack | None:
        """Windows that move; None if they stay. `column` are the positions of slices."""
        sequence, middle = self._sequence, self._middle
        if sequence.kinds[column[middle]].starts is None:
            return None
        starts = sequence.starts(column)
        steps = starts[middle] - starts[middle - 1]
        iterations = np.arange(len(slots)) - middle
        follows = (starts == starts[middle] + iterations[:, None] * steps).all(axis=1)
        (moving,) = np.nonzero(steps)
        if not len(moving):
            self._narrow(follows)
            return None
        base = self._operand(sequence.operands(column, 0), depth + 1)
        (axis, *further) = moving.tolist()
        if not isinstance(base, Same) or further or not self._fits(column[middle], axis, steps):
            self._narrow(self._places(slots) < self.start)
            return Stack(slots)
        self._narrow(follows)
        return Windows(slots, column, base.slot, axis, int(steps[axis]))

    def _fits(self, position: int, axis: int, steps: Ints) -> bool:
        """Whether the windows of a slice can be stacked with few instructions."""
        meta = self._sequence.steps[position].output_metas[0]
        (stride,) = self._sequence.steps[position].op.strides[axis : axis + 1]  # type: ignore[attr-defined]  # a slice
        size = meta.dims[axis] if meta.dims is not None else None
        return isinstance(size, int) and (
            0 < size <= WIDEST or (stride == 1 and size == abs(int(steps[axis])))
        )

    def _entry(self, entries: Entries) -> Entry:
        self.entries.append(entries)
        return Entry(len(self.entries) - 1)

    def _narrow(self, follows: Bools, distance: int = 0) -> None:
        """Keep the iterations around the middle that follow a rule.

        The first `distance` of them need not: they read what the loop starts from.
        """
        broken = np.flatnonzero(~follows)
        if not len(broken):
            return
        after = int(np.searchsorted(broken, self._middle))
        if after < len(broken):
            self.high = min(self.high, int(broken[after]))
        if after > 0:
            self.low = max(self.low, int(broken[after - 1]) + 1 - distance)
        if not self.low <= self._middle < self.high:
            raise IrregularError

    def _places(self, slots: Ints) -> Ints:
        """The places of the instructions in the sequence; -1 for inputs and free ones."""
        makers = self._sequence.makers[slots]
        return np.where(makers == OUTSIDE, OUTSIDE, self._sequence.places[makers])

    def _inside(self, place: int) -> bool:
        return self.start <= place < self._stop


def _first_iteration(sequence: Sequence, run: PeriodicRun) -> tuple[int, int]:
    """Where to cut a run so that few values go from one iteration to the next, and how many there
    are."""
    period = run.period
    first = run.start + (run.length // period // 2) * period
    crossing = np.zeros(period + 1, np.int64)
    last = {}
    for place in range(first, min(first + 3 * period, run.stop)):
        for slot in sequence.steps[sequence.order[place]].input_slots:
            maker = sequence.makers[slot]
            made = OUTSIDE if maker == OUTSIDE else int(sequence.places[maker])
            if first <= made < first + period:
                last[slot] = (made, place)
    for made, place in last.values():
        whole, rest = divmod(place - made, period)
        crossing += whole
        begin = (made + 1 - run.start) % period  # cuts made + 1 .. place
        end = begin + rest
        crossing[begin : min(end, period)] += 1
        crossing[: max(end - period, 0)] += 1
    slack = run.length % period
    count = run.length // period
    cuts = range(period) if count > 1 else range(slack + 1)
    best = min(cuts, key=lambda cut: (crossing[cut], cut > slack, cut))
    return run.start + best, (run.length - best) // period
