"""What each operand of an iteration is, in all iterations at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenferro.compiler.reroll.sequence import OUTSIDE, Bools, Ints, Run, Sequence
from tenferro.ops import Constant

# What the operands of a round are, and values that one round after the other takes.


@dataclass(frozen=True, slots=True)
class Wire:
    """An output of an instruction of the same round."""

    step: int
    output: int


@dataclass(frozen=True, slots=True)
class Carried:
    """An output of an instruction `distance` rounds earlier; `slots` are the operands of all
    rounds, of which the first ones are where the loop starts from."""

    step: int
    output: int
    distance: int
    slots: Ints


@dataclass(frozen=True, slots=True)
class Same:
    """One value for all rounds."""

    slot: int


@dataclass(frozen=True, slots=True)
class Made:
    """The result of a free instruction that each round computes for itself."""

    number: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of one of the xs."""

    number: int


Operand = Wire | Carried | Same | Made | Entry


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one value that move by a constant step along one axis.

    Attributes:
        slots: for each round the slot that holds the window.
        positions: for each round the position of the slice.
        base: the slot that windows are taken of.
        axis: the axis along which they move.
        step: how far they move from round to round.
    """

    slots: Ints
    positions: Ints
    base: int
    axis: int
    step: int


@dataclass(frozen=True, slots=True)
class Results:
    """Results of an earlier loop, of rounds at constant distances.

    Attributes:
        slots: for each round the slot.
        rounds: for each round the round of the earlier loop.
        loop: number of the earlier loop.
        step: the instruction in its round.
        output: which output of the instruction.
        stride: how far the round of the earlier loop moves.
    """

    slots: Ints
    rounds: Ints
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


Entries = Windows | Results | Literals | Stack


class Rolled:
    """Which loop computes each slot, in which round, by which instruction of the round."""

    def __init__(self, sequence: Sequence) -> None:
        n_slots = sequence.program.n_slots
        self._steps = sequence.steps
        self.outputs = sequence.outputs
        self.loops = np.full(n_slots, OUTSIDE, np.int64)
        self.rounds = np.zeros(n_slots, np.int64)
        self.places = np.zeros(n_slots, np.int64)
        self.of_step = np.full(len(sequence.steps), OUTSIDE, np.int64)

    def add(self, loop: int, positions: Ints) -> None:
        """Add a loop whose round j has the instructions at `positions[j]`."""
        self.of_step[positions.ravel()] = loop
        for number, row in enumerate(positions.tolist()):
            for place, position in enumerate(row):
                for slot in self._steps[position].output_slots:
                    self.loops[slot] = loop
                    self.rounds[slot] = number
                    self.places[slot] = place


# The rounds of a run: what each operand of a round is, in all rounds at once.

FARTHEST = 3  # rounds that a carried value may come from
DEEPEST = 16  # free instructions that a round computes one on the other
WIDEST = 8  # elements of a window, if neighbouring windows overlap or leave gaps


class IrregularError(Exception):
    """Some operand follows no rule."""


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction of the round; `operands` is an entry if the loop reads its result instead.

    Attributes:
        position: of the instruction in the middle round.
        operands: what it reads.
    """

    position: int
    operands: tuple[Operand, ...] | Entry


class Rounds:
    """The rounds `low : high` of a run in which every operand follows one rule.

    The rules are read off the middle round. A round that breaks one ends the loop there, and stays
    as it is.

    Attributes:
        start: the place of the first round in the sequence.
        positions: the instructions of each round.
        steps: the instructions of a round.
        made: free instructions that a round computes for itself, each after those it reads.
        entries: where the xs come from.
        low: the first round of the loop.
        high: the round after the last.
    """

    def __init__(self, sequence: Sequence, run: Run, rolled: Rolled) -> None:
        """Raises IrregularError if some operand follows no rule."""
        self._sequence, self._rolled = sequence, rolled
        self.period = run.period
        self.start, count = _first_round(sequence, run)
        self._stop = self.start + count * run.period
        self.positions = sequence.order[self.start : self._stop].reshape(count, run.period)
        self.low, self.high, self._middle = 0, count, count // 2
        self._first_places = self.start + run.period * np.arange(count)
        self.steps: list[Step] = []
        self.made: list[Step] = []
        self.entries: list[Entries] = []
        self._operands: dict[bytes, Operand] = {}
        if not all(sequence.may_roll(sequence.steps[i]) for i in self.positions[self._middle]):
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

    def rolled_positions(self) -> Ints:
        return self.positions[self.low : self.high]

    def _can_start(self) -> bool:
        """Whether all that is carried into the first round exists before it."""
        low, begin = self.low, self.start + self.low * self.period
        carried = [known for known in self._operands.values() if isinstance(known, Carried)]
        return all(
            (self._places(each.slots[low : low + each.distance]) < begin).all() for each in carried
        )

    def _step(self, column: Ints) -> Step:
        """One instruction of the round, from its positions in all rounds."""
        position = int(column[self._middle])
        step = self._sequence.steps[position]
        if self._sequence.kinds[position].starts is not None:
            slots = np.array([self._sequence.steps[i].output_slots[0] for i in column], np.int64)
            moving = self._window(column, slots)
            if isinstance(moving, Stack):
                raise IrregularError
            if moving is not None:
                return Step(position, self._entry(moving))
        reads = [self._sequence.operands(column, place) for place in range(len(step.input_slots))]
        if step.op.commutative:
            reads = self._exchanged(*reads)
        return Step(position, tuple([self._operand(slots) for slots in reads]))

    def _exchanged(self, left: Ints, right: Ints) -> list[Ints]:
        """The operands, exchanged in rounds in which they then follow the middle round better."""
        kept = self._as_in_the_middle(left, left) + self._as_in_the_middle(right, right)
        if (kept == 2).all():
            return [left, right]
        turned = self._as_in_the_middle(right, left) + self._as_in_the_middle(left, right)
        exchange = turned > kept
        return [np.where(exchange, right, left), np.where(exchange, left, right)]

    def _as_in_the_middle(self, slots: Ints, other: Ints) -> Ints:
        """1 in rounds in which `slots` are what `other` are in the middle round."""
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

    def _operand(self, slots: Ints, depth: int = 0) -> Operand:
        """What an operand is, from its slots in all rounds."""
        key = slots.tobytes()
        known = self._operands.get(key)
        if known is None:
            types = self._sequence.types[slots]
            self._keep(types == types[self._middle])
            known = self._operands[key] = self._classified(slots, depth)
        return known

    def _classified(self, slots: Ints, depth: int) -> Operand:
        middle = self._middle
        neighbours = slots[max(middle - 1, 0) : middle + 2]
        if (neighbours == slots[middle]).all():
            return self._same(slots)
        places = self._places(slots)
        if self._inside(places[middle]):
            return self._of_a_round(slots, places)
        if self._rolled.loops[slots[middle]] != OUTSIDE:
            return self._entry(self._results(slots))
        makers = self._sequence.makers[slots]
        if places[middle] == OUTSIDE and makers[middle] != OUTSIDE and depth < DEEPEST:
            return self._free(slots, makers, depth)
        self._keep(places < self.start)
        return self._entry(Stack(slots))

    def _same(self, slots: Ints) -> Same:
        """One value, which exists before the loop starts."""
        slot = int(slots[self._middle])
        self._keep(slots == slot)
        place = int(self._places(slots)[self._middle])
        if self._inside(place):
            self.low = max(self.low, (place - self.start) // self.period + 1)
            if self.low > self._middle:
                raise IrregularError
        return Same(slot)

    def _of_a_round(self, slots: Ints, places: Ints) -> Operand:
        """A result of this round, or of one before."""
        outputs = self._sequence.outputs[slots]
        offsets = places - self._first_places
        offset, output = int(offsets[self._middle]), int(outputs[self._middle])
        distance = max(0, -(offset // self.period))
        if distance > FARTHEST:
            raise IrregularError
        self._keep((offsets == offset) & (outputs == output), distance)
        step = offset + distance * self.period
        return Carried(step, output, distance, slots) if distance else Wire(step, output)

    def _results(self, slots: Ints) -> Results:
        """Results of an earlier loop."""
        rolled, middle = self._rolled, slots[self._middle]
        rounds = rolled.rounds[slots]
        stride = int(rounds[self._middle] - rounds[self._middle - 1])
        expected = rounds[self._middle] + (np.arange(len(slots)) - self._middle) * stride
        follows = (
            (rolled.loops[slots] == rolled.loops[middle])
            & (rolled.places[slots] == rolled.places[middle])
            & (rolled.outputs[slots] == rolled.outputs[middle])
            & (rounds == expected)
        )
        if stride == 0:
            raise IrregularError
        self._keep(follows)
        loop, place = int(rolled.loops[middle]), int(rolled.places[middle])
        return Results(slots, rounds, loop, place, int(rolled.outputs[middle]), stride)

    def _free(self, slots: Ints, makers: Ints, depth: int) -> Operand:
        """Results of free instructions, of which each round computes its own."""
        sequence, position = self._sequence, int(makers[self._middle])
        alike = (makers != OUTSIDE) & (
            sequence.symbols[makers] == sequence.symbols[position]
        )  # an input has no maker
        self._keep(alike)
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
        self.made.append(Step(position, operands))
        return Made(len(self.made) - 1)

    def _window(self, column: Ints, slots: Ints, depth: int = 0) -> Windows | Stack | None:
        """Windows that move; None if they stay. `column` are the positions of slices."""
        sequence, middle = self._sequence, self._middle
        if sequence.kinds[column[middle]].starts is None:
            return None
        starts = sequence.starts(column)
        steps = starts[middle] - starts[middle - 1]
        rounds = np.arange(len(slots)) - middle
        follows = (starts == starts[middle] + rounds[:, None] * steps).all(axis=1)
        (moving,) = np.nonzero(steps)
        if not len(moving):
            self._keep(follows)
            return None
        base = self._operand(sequence.operands(column, 0), depth + 1)
        (axis, *further) = moving.tolist()
        if not isinstance(base, Same) or further or not self._fits(column[middle], axis, steps):
            self._keep(self._places(slots) < self.start)
            return Stack(slots)
        self._keep(follows)
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

    def _keep(self, follows: Bools, distance: int = 0) -> None:
        """Keep the rounds around the middle that follow a rule.

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


def _first_round(sequence: Sequence, run: Run) -> tuple[int, int]:
    """Where to cut the run into rounds so that few values go from one to the next, and the number
    of rounds."""
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
