"""What the operands of a round are, and values that one round after the other takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenferro.compiler.canonical.rolling.symbols import OUTSIDE, Ints, Sequence


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
