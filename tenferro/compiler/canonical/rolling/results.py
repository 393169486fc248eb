"""What is asked of the loops: results of one round, or of all rounds."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Items
from dataclasses import dataclass, field

import numpy as np

from tenferro.compiler.canonical.rolling.loop import Loop
from tenferro.compiler.canonical.rolling.operands import Results, Rolled
from tenferro.compiler.canonical.rolling.symbols import OUTSIDE, Sequence
from tenferro.ops import Concatenate


@dataclass(frozen=True, slots=True)
class Piece:
    """Operands `start : stop` of a concatenation: results of rounds at constant distances."""

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
    """Tell each loop what is read of it outside of its rounds."""
    demands = Demands()
    singles = _read_outside(sequence, rolled, demands)
    for pieces in demands.pieces.values():
        for piece in pieces:
            loop = loops[piece.loop]
            loop.ask_all(piece.result)
            loop.votes += 1 if piece.stride > 0 else -1
    for loop in loops:
        for entries in loop.rounds.entries:
            if isinstance(entries, Results):
                earlier = loops[entries.loop]
                earlier.ask_all((entries.step, entries.output))
                loop.votes += 1 if (entries.stride > 0) != earlier.reverse else -1
        for slot in loop.start_slots():
            if rolled.loops[slot] != OUTSIDE:
                singles[slot] = None
    for slot in reversed(singles):  # the last rounds first, which need no stack
        result = int(rolled.places[slot]), int(rolled.outputs[slot])
        loops[rolled.loops[slot]].ask_single(slot, result, int(rolled.rounds[slot]))
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
    """The longest stretches of results of rounds at constant distances, in either direction."""
    array = np.array(slots, np.int64)
    loops, rounds = rolled.loops[array], rolled.rounds[array]
    places, outputs = rolled.places[array], rolled.outputs[array]
    alike = (np.diff(loops) == 0) & (np.diff(places) == 0) & (np.diff(outputs) == 0)
    steps = np.where(alike & (loops[1:] != OUTSIDE), np.diff(rounds), 0)
    start = 0
    while start < len(steps):
        stride = int(steps[start])
        stop = start + 1
        while stop < len(steps) and steps[stop] == stride:
            stop += 1
        if stride and (abs(stride) == 1 or stop - start > 1):
            result = int(places[start]), int(outputs[start])
            yield Piece(start, stop + 1, int(loops[start]), result, int(rounds[start]), stride)
            stop += 1  # its last operand belongs to it
        start = stop
