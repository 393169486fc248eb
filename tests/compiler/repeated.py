"""Random straight-line bodies, repeated with random wiring."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from tenferro.ir import ExecBuilder, ExecProgram
from tenferro.ops import (
    ADD,
    COS,
    MUL,
    NEG,
    SIN,
    SUB,
    TANH,
    BroadcastInDim,
    Concatenate,
    Constant,
    ReduceSum,
    Reshape,
    Slice,
)
from tenferro.shape import TensorMeta

VECTOR = TensorMeta.of("f64", (3,))
History = list[list[int]]
Kind = Literal["one", "two", "window", "input", "number", "earlier"]
ONE, TWO = (SIN, COS, TANH, NEG), (ADD, MUL, SUB)


@dataclass(frozen=True)
class Line:
    """One line of a body.

    Attributes:
        kind: what its first operand is.
        one, two: its ops.
        operands: how its operands are found.
        step: how windows and inputs move.
        share: a random number that decides the rest.
    """

    kind: Kind
    one: int
    two: int
    operands: tuple[tuple[str, int, int], ...]
    step: int
    share: float


def repeated(seed: int) -> ExecProgram:
    """One or two random bodies of up to 7 lines, repeated 2 to 40 times."""
    return _Random(random.Random(seed)).program()


class _Random:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.builder = rng, ExecBuilder()
        self.rounds = rng.randint(2, 40)
        self.table = self.builder.input(TensorMeta.of("f64", (2 * self.rounds + 4, 3)))
        self.others = [self.builder.input(VECTOR) for _ in range(3)]
        count = self.rounds if rng.random() < 0.4 else 0
        self.inputs = [self.builder.input(VECTOR) for _ in range(count)]
        self.histories: list[History] = []

    def program(self) -> ExecProgram:
        for _ in range(self.rng.choice((1, 2))):
            body = self.body(self.rng.randint(1, 7))
            history: History = []
            for number in range(self.rounds):
                history.append([])
                for line in body:
                    history[-1].append(self.value(line, number, history))
            self.histories.append(history)
        return self.builder.build([self.histories[-1][-1][-1], *self.read()])

    def body(self, length: int) -> list[Line]:
        kinds: tuple[Kind, ...] = ("one", "two", "two", "window", "input", "number", "earlier")
        return [
            Line(
                self.rng.choice(kinds),
                self.rng.randrange(len(ONE)),
                self.rng.randrange(len(TWO)),
                tuple([self.operand(place, length) for _ in range(2)]),
                self.rng.choice((1, -1, 2)),
                self.rng.random(),
            )
            for place in range(length)
        ]

    def operand(self, place: int, length: int) -> tuple[str, int, int]:
        share = self.rng.random()
        if share < 0.45 and place:
            return "wire", self.rng.randrange(place), 0
        if share < 0.7:
            return "carry", self.rng.randrange(length), self.rng.choice((1, 1, 1, 2, 3))
        if share < 0.9:
            return "same", self.rng.randrange(3), 0
        return ("first" if share < 0.95 else "rarely another"), self.rng.randrange(length), 0

    def slot(self, operand: tuple[str, int, int], number: int, history: History) -> int:
        kind, place, distance = operand
        if kind == "wire":
            return history[number][place]
        if kind == "carry":
            start = self.others[(place + number) % 3]
            return history[number - distance][place] if number >= distance else start
        if kind == "first":
            return history[0][place] if number else self.others[0]
        if kind == "rarely another" and self.rng.random() < 0.1:
            return self.rng.choice(self.others)
        return self.others[place % 3]

    def value(self, line: Line, number: int, history: History) -> int:
        one, other = (self.slot(operand, number, history) for operand in line.operands)
        back = self.rounds - 1 - number
        if line.kind == "one":
            return self.builder.add(ONE[line.one], [one])[0]
        if line.kind == "window":
            start = {1: number, -1: back, 2: 2 * number}[line.step]
            one = self.window(start, 1 if line.share < 0.6 else 2)
        elif line.kind == "input" and self.inputs:
            one = self.inputs[number if line.step > 0 else back]
        elif line.kind == "number":
            constant = Constant(0.1 * number if line.share < 0.5 else 0.5)
            (scalar,) = self.builder.add(constant, [])
            (one,) = self.builder.add(BroadcastInDim((3,), ()), [scalar])
        elif line.kind == "earlier" and self.histories:
            values = self.histories[-1][number if line.step > 0 else back]
            one = values[int(line.share * len(values))]
        elif line.two < 2 and self.rng.random() < 0.1:
            one, other = other, one  # these ops are commutative
        return self.builder.add(TWO[line.two], [one, other])[0]

    def window(self, start: int, size: int) -> int:
        op = Slice((start, 0), (start + size, 3), (1, 1))
        (rows,) = self.builder.add(op, [self.table])
        flat = Reshape((3,)) if size == 1 else ReduceSum((0,))
        return self.builder.add(flat, [rows])[0]

    def read(self) -> list[int]:
        """Further outputs: the values of all rounds, in one array or apart, or of some."""
        history = self.rng.choice(self.histories)
        place = self.rng.randrange(len(history[0]))
        values = [row[place] for row in history]
        share = self.rng.random()
        if share < 0.25:
            return values
        if share < 0.5:
            rows = [self.builder.add(Reshape((1, 3)), [value])[0] for value in values]
            return [*self.builder.add(Concatenate(0), rows if share < 0.4 else rows[::-1])]
        if share < 0.65:
            return [*self.builder.add(Concatenate(0), values)]
        return [self.rng.choice(values) for _ in range(2)]
