"""A program as numbers, and the periods in it."""

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


class Numbers:
    """Numbers things in the order in which they are first seen."""

    def __init__(self) -> None:
        self.known: dict[Hashable, int] = {}

    def of(self, thing: Hashable) -> int:
        """The number of a thing; equal things have equal numbers."""
        return self.known.setdefault(thing, len(self.known))


@dataclass(frozen=True, slots=True)
class Kind:
    """What the search needs to know of an op, found once for each op.

    Attributes:
        exact: number of the op.
        similar: number of the op without what may change from round to round: where a window
            starts, and the value of a constant.
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
        self._ops, self._similar, self._types = Numbers(), Numbers(), Numbers()
        self._kinds: dict[int, Kind] = {}
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
        symbols = Numbers()
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

    def _kind(self, op: ExecOp) -> Kind:
        kind = self._kinds.get(id(op))
        if kind is None:
            kind = self._kinds[id(op)] = self._found(op)
        return kind

    def _found(self, op: ExecOp) -> Kind:
        starts: tuple[int, ...] | None = None
        similar: Hashable = op.identity
        fixed = isinstance(op, Slice) and all(type(start) is int for start in op.starts)
        if isinstance(op, Slice) and fixed:
            starts = cast(tuple[int, ...], op.starts)
            sizes = [limit - start for start, limit in zip(op.starts, op.limits, strict=True)]
            similar = ("slice", tuple(sizes), op.strides)
        elif isinstance(op, Constant):
            similar = "constant"
        return Kind(
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

    def may_roll(self, step: ExecInstruction) -> bool:
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
class Run:
    """Symbols `start : start + length`, each equal to the one that is `period` further on."""

    start: int
    length: int
    period: int

    @property
    def stop(self) -> int:
        return self.start + self.length


def find_runs(symbols: Ints, rounds: int, instructions: int) -> list[Run]:
    """Runs of at least so many rounds and instructions that do not overlap, in order.

    Longest runs are taken first; of equally long ones, that of the shorter period. What is left is
    searched again, a constant number of times.
    """
    found: list[Run] = []
    rest = [(0, len(symbols))]
    for _ in range(SEARCHES):
        gaps: list[tuple[int, int]] = []
        for start, stop in rest:
            if stop - start < max(instructions, rounds, 2):
                continue
            taken = _longest_apart(list(_candidates(symbols[start:stop], rounds, instructions)))
            if not taken:
                continue
            moved = [Run(start + run.start, run.length, run.period) for run in taken]
            found += moved
            ends = [start, *[run.stop for run in moved]]
            gaps += list(zip(ends, [*[run.start for run in moved], stop], strict=True))
        rest = gaps
    return sorted(found)


def _longest_apart(candidates: list[Run]) -> list[Run]:
    """Runs that do not overlap, in order; longer ones are taken first."""
    taken: list[Run] = []
    for run in sorted(candidates, key=lambda run: (-run.length, run.period)):
        if all(run.start >= other.stop or run.stop <= other.start for other in taken):
            taken.append(run)
        if len(taken) == 64:
            break
    return sorted(taken)


def _candidates(symbols: Ints, rounds: int, instructions: int) -> Iterator[Run]:
    """All maximal runs of the distances that are tried."""
    for period in _distances(symbols):
        if period * rounds > len(symbols):
            continue
        equal = symbols[:-period] == symbols[period:]
        for start, stop in _stretches(equal):
            length = stop - start + period
            if length >= rounds * period and length >= instructions:
                yield Run(start, length, period)


def _stretches(equal: Bools) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]])))
    return zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


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
