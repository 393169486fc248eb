"""Execution programs made at random: every op is legal, results stay moderate and continuous."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod

import numpy as np

from tenferro.ir import ExecBuilder, ExecProgram
from tenferro.ops import (
    ADD,
    COMPLEX,
    CONJ,
    COS,
    DIV,
    IMAG,
    MUL,
    NEG,
    POW,
    REAL,
    SELECT,
    SIN,
    SUB,
    TANH,
    BroadcastInDim,
    Concatenate,
    Constant,
    Convert,
    DotGeneral,
    Pad,
    ReduceSum,
    Reshape,
    Reverse,
    Slice,
    StdTensorOp,
    Transpose,
    meta_of,
)
from tenferro.shape import TensorMeta

MAX_ELEMENTS = 2000


def random_program(seed: int, length: int = 40) -> ExecProgram:
    """A program of at most about `length` instructions over a few small arrays."""
    writer = Writer(random.Random(seed))
    for _ in range(length // 2):
        writer.step()
    return writer.build()


class Writer:
    """Writes a random program, one op on earlier values after the other."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.builder = ExecBuilder()
        self.values = [self.builder.input(self.type()) for _ in range(3)]
        self.moves: list[Callable[[int], int | None]] = [
            self.elementwise,
            self.elementwise,
            self.with_number,
            self.with_number,
            self.rearranged,
            self.rearranged,
            self.repeated,
            self.summed,
            self.window,
            self.contraction,
            self.contraction,
            self.other_dtype,
            self.choice,
            self.literal,
        ]

    def type(self) -> TensorMeta:
        """A small type; sometimes with no elements."""
        shape = [self.rng.choice((1, 2, 2, 3, 3, 0)) for _ in range(self.rng.randrange(4))]
        return TensorMeta.of(self.rng.choice(("f64", "f64", "c128")), shape)

    def step(self) -> None:
        """Add one op, with what it needs; values that grow too large are forgotten."""
        value = self.rng.choice(self.moves)(self.rng.choice(self.values[-8:]))
        if value is not None and prod(self.shape(value)) <= MAX_ELEMENTS:
            self.values.append(value)

    def build(self) -> ExecProgram:
        """The program that returns some of its last values."""
        return self.builder.build(self.rng.choice(self.values[-6:]) for _ in range(3))

    def shape(self, value: int) -> tuple[int, ...]:
        shape = self.builder.metas[value].static_shape
        assert shape is not None
        return shape

    def is_complex(self, value: int) -> bool:
        return self.builder.metas[value].dtype.kind == "c"

    def add(self, op: StdTensorOp, *operands: int) -> int:
        return self.builder.add(op, operands)[0]

    def elementwise(self, x: int) -> int:
        """A smooth op on one value, or on two of the same type."""
        if self.rng.random() < 0.5:
            if self.is_complex(x):
                return self.add(self.rng.choice((NEG, CONJ)), x)
            return self.add(self.rng.choice((SIN, COS, TANH, NEG, CONJ)), x)
        metas = self.builder.metas
        y = self.rng.choice([value for value in self.values if metas[value] == metas[x]])
        return self.add(self.rng.choice((ADD, SUB, MUL)), *self.rng.sample((x, y), 2))

    def with_number(self, x: int) -> int:
        """An op on a value and one number everywhere."""
        meta = self.builder.metas[x]
        op, numbers = self.rng.choice(
            [(ADD, (0, 1, 2)), (SUB, (0, 1)), (MUL, (1, -1, 2, 3, 0)), (DIV, (1, 2)), (POW, (1, 2))]
        )
        number = np.asarray(self.rng.choice(numbers), meta.dtype)
        everywhere = BroadcastInDim(self.shape(x), ())
        y = self.add(everywhere, self.add(Constant(number)))
        return self.add(op, *((x, y) if op in (DIV, POW) else self.rng.sample((x, y), 2)))

    def rearranged(self, x: int) -> int:
        """The same elements in another order or shape."""
        shape = self.shape(x)
        axes = list(range(len(shape)))
        match self.rng.randrange(4):
            case 0:
                return self.add(Reverse(tuple(axis for axis in axes if self.rng.random() < 0.5)), x)
            case 1:
                merged = (prod(shape[:2]), *shape[2:]) if len(shape) > 1 else (1, *shape)
                return self.add(Reshape(merged), x)
            case _:
                return self.add(Transpose(tuple(self.rng.sample(axes, len(axes)))), x)

    def repeated(self, x: int) -> int:
        """A new axis somewhere, and axes of size 1 repeated."""
        shape = [size if size != 1 else self.rng.randint(1, 3) for size in self.shape(x)]
        axis = self.rng.randint(0, len(shape))
        dims = tuple(i + (i >= axis) for i in range(len(shape)))
        shape.insert(axis, self.rng.randint(1, 3))
        return self.add(BroadcastInDim(tuple(shape), dims), x)

    def summed(self, x: int) -> int:
        """A sum over some axes."""
        axes = [axis for axis in range(len(self.shape(x))) if self.rng.random() < 0.4]
        return self.add(ReduceSum(tuple(axes)), x)

    def window(self, x: int) -> int:
        """A slice, a padded value, or a value next to itself."""
        shape = self.shape(x)
        match self.rng.randrange(3):
            case 0:
                starts = tuple(self.rng.randint(0, size) for size in shape)
                return self.add(Slice(starts, shape, (1,) * len(shape)), x)
            case 1:
                zero = self.add(Constant(np.zeros((), self.builder.metas[x].dtype)))
                low = tuple(self.rng.randint(0, 1) for _ in shape)
                return self.add(Pad(low, (0,) * len(shape), (0,) * len(shape)), x, zero)
            case _:
                if not shape:
                    return x
                return self.add(Concatenate(self.rng.randrange(len(shape))), x, x)

    def contraction(self, x: int) -> int | None:
        """A contraction in which axes of one size are matched at random."""
        metas = self.builder.metas
        y = self.rng.choice([v for v in self.values if metas[v].dtype == metas[x].dtype])
        left, right = self.shape(x), self.shape(y)
        pairs: list[list[tuple[int, int]]] = [[], []]
        taken: set[int] = set()
        for i in self.rng.sample(range(len(left)), len(left)):
            fitting = [j for j, size in enumerate(right) if size == left[i] and j not in taken]
            if fitting and self.rng.random() < 0.7:
                j = self.rng.choice(fitting)
                taken.add(j)
                pairs[self.rng.random() < 0.3].append((i, j))
        if len(left) + len(right) - len(pairs[0]) * 2 - len(pairs[1]) > 5:
            return None
        contracted, batch = pairs
        dot = DotGeneral(
            tuple(i for i, _ in contracted),
            tuple(j for _, j in contracted),
            tuple(i for i, _ in batch),
            tuple(j for _, j in batch),
        )
        return self.add(dot, x, y)

    def other_dtype(self, x: int) -> int:
        """Parts of a complex value, or a complex value from parts."""
        if self.is_complex(x):
            return self.add(self.rng.choice((REAL, IMAG)), x)
        if self.rng.random() < 0.5:
            return self.add(Convert(np.dtype("complex128")), x)
        return self.add(COMPLEX, x, x)

    def choice(self, x: int) -> int:
        """One of two values, by a literal mask or a known one."""
        shape = self.shape(x)
        if self.rng.random() < 0.5 or prod(shape) > 16:
            known = self.add(Constant(np.asarray(self.rng.random() < 0.5)))
            mask = self.add(BroadcastInDim(shape, ()), known)
        else:
            mask = self.add(Constant(np.arange(prod(shape)).reshape(shape) % 2 == 0))
        return self.add(SELECT, mask, x, self.add(NEG, x))

    def literal(self, x: int) -> int:
        """A literal of the shape of a value, for constants to meet constants."""
        shape = self.shape(x)
        if prod(shape) > 16:
            shape = (2,)
        numbers = np.arange(prod(shape), dtype="float64").reshape(shape) / 4
        value = self.add(Constant(numbers if self.rng.random() < 0.5 else np.ones(shape)))
        assert self.builder.metas[value] == meta_of(numbers)
        return self.add(self.rng.choice((SIN, NEG, TANH)), value)
