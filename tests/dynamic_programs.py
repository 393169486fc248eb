"""Random execution programs in which data decide sizes, and what must hold of every value."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenferro.errors import TenferroError
from tenferro.ir import ExecBuilder, ExecOp, ExecProgram
from tenferro.ops import (
    ADD,
    MUL,
    NEG,
    SELECT,
    SUB,
    TANH,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    DotGeneral,
    DynamicBroadcastInDim,
    DynamicTruncate,
    Pad,
    PadToMatch,
    ReduceProd,
    ReduceSum,
    Reshape,
    Reverse,
    ShapeOf,
    Slice,
    Transpose,
    meta_of,
)
from tenferro.shape import (
    Dim,
    Exact,
    InputDim,
    Leaf,
    SymDim,
    TensorMeta,
    bind,
    dim,
    implies,
    symbol,
)

Array = np.ndarray[Any, Any]
N, M = SymDim("n"), SymDim("m")
INPUTS = (
    ("f64", ("n",)),
    ("f64", ("n", "m")),
    ("f64", ("m", 3)),
    ("f64", (3, "n")),
    ("i64", ()),
    ("f64", ()),
)


def dynamic_program(seed: int, length: int = 25) -> ExecProgram:
    """A program that truncates, and computes with what is left."""
    writer = DynamicWriter(random.Random(seed))
    for _ in range(length):
        writer.step()
    return writer.build()


class DynamicWriter:
    """Writes one random op after the other. An op that refuses its operands is left out."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.builder = ExecBuilder()
        self.values = [self.builder.input(TensorMeta.of(*one)) for one in INPUTS]
        self.sizes = self.values[4:]
        self.moves: list[Callable[[int], int | None]] = [
            self.truncated,
            self.truncated,
            self.truncated,
            self.padded,
            self.size,
            self.elementwise,
            self.elementwise,
            self.with_number,
            self.with_number,
            self.rearranged,
            self.reduced,
            self.contraction,
            self.contraction,
            self.window,
            self.joined,
            self.reshaped,
            self.repeated,
        ]

    def step(self) -> None:
        """Add one op, with what it needs."""
        x = self.rng.choice(self.values[-10:])
        try:
            value = self.rng.choice(self.moves)(x)
        except TenferroError:
            return
        if value is not None and self.builder.metas[value].rank <= 3:
            self.values.append(value)

    def build(self) -> ExecProgram:
        """The program that returns some of its last values."""
        return self.builder.build(self.rng.choice(self.values[-8:]) for _ in range(4))

    def add(self, op: ExecOp, *operands: int) -> int:
        return self.builder.add(op, operands)[0]

    def axis(self, x: int) -> int:
        return self.rng.randrange(max(self.builder.metas[x].rank, 1))

    def like(self, x: int) -> int:
        """A value of the type of x; it need not have its sizes."""
        metas = self.builder.metas
        return self.rng.choice([value for value in self.values if metas[value] == metas[x]])

    def truncated(self, x: int) -> int:
        return self.add(DynamicTruncate(self.axis(x)), x, self.rng.choice(self.sizes))

    def padded(self, x: int) -> int:
        return self.add(PadToMatch(self.axis(x)), x, self.rng.choice(self.values))

    def size(self, x: int) -> None:
        """A further size: of an axis, or a number."""
        size = ShapeOf(self.axis(x)) if self.rng.random() < 0.6 else None
        number = self.rng.choice((0, 1, 2, 2.5))
        self.sizes.append(self.add(Constant(number)) if size is None else self.add(size, x))

    def elementwise(self, x: int) -> int:
        match self.rng.randrange(3):
            case 0:
                return self.add(self.rng.choice((NEG, TANH)), x)
            case 1:
                return self.add(self.rng.choice((ADD, SUB, MUL)), x, self.like(x))
            case _:
                y = self.like(x)
                return self.add(SELECT, self.add(Compare("LT"), x, y), y, self.add(NEG, x))

    def with_number(self, x: int) -> int:
        """An op on a value and one number everywhere, which takes its shape from the value."""
        meta = self.builder.metas[x]
        number = self.add(Constant(np.asarray(self.rng.choice((0, 1, -1, 2)), meta.dtype)))
        shape = tuple(self.whole(1, axis, meta) for axis in range(meta.rank))
        y = self.add(DynamicBroadcastInDim(shape, ()), number, x)
        return self.add(self.rng.choice((ADD, SUB, MUL)), *self.rng.sample((x, y), 2))

    def whole(self, operand: int, axis: int, meta: TensorMeta) -> Dim:
        extent = meta.extents[axis]
        follows = not isinstance(extent, Exact) or self.rng.random() < 0.3
        return symbol(InputDim(operand, axis)) if follows else extent.dim  # type: ignore[union-attr]

    def rearranged(self, x: int) -> int:
        axes = list(range(self.builder.metas[x].rank))
        if self.rng.random() < 0.5:
            return self.add(Reverse(tuple(axes[:1])), x)
        return self.add(Transpose(tuple(self.rng.sample(axes, len(axes)))), x)

    def reduced(self, x: int) -> int:
        op = self.rng.choice((ReduceSum, ReduceSum, ReduceProd))
        axes = [axis for axis in range(self.builder.metas[x].rank) if self.rng.random() < 0.4]
        return self.add(op(tuple(axes)), self.add(TANH, x))

    def contraction(self, x: int) -> int:
        """A contraction over axes that may be of one size, with batch axes or without."""
        y = self.rng.choice(self.values)
        i, j = self.axis(x), self.axis(y)
        pairs = ((), (), (i,), (j,)) if self.rng.random() < 0.3 else ((i,), (j,), (), ())
        return self.add(DotGeneral(*pairs), x, y)

    def window(self, x: int) -> int:
        """A slice, or a padded value."""
        meta = self.builder.metas[x]
        rank, axis = meta.rank, self.axis(x)
        if self.rng.random() < 0.5:
            limits = tuple(self.whole(0, i, meta) for i in range(rank))
            starts = tuple(int(i == axis) for i in range(rank)) if self.rng.random() < 0.3 else ()
            return self.add(Slice(starts or (0,) * rank, limits, (1,) * rank), x)
        zero = self.add(Constant(np.zeros((), meta.dtype)))
        low = tuple(int(i == axis) for i in range(rank))
        return self.add(Pad(low, (0,) * rank, (0,) * rank), x, zero)

    def joined(self, x: int) -> int:
        return self.add(Concatenate(self.axis(x)), x, self.like(x))

    def reshaped(self, x: int) -> int:
        """A reshape, or a broadcast, to the bounds of sizes; refused unless they are the sizes."""
        shape = self.builder.metas[x].bound_shape()
        if self.rng.random() < 0.5:
            return self.add(Reshape((1, *shape)), x)
        return self.add(BroadcastInDim((*shape, 2), tuple(range(len(shape)))), x)

    def repeated(self, x: int) -> int:
        """A new axis of a size that another value has."""
        y = self.rng.choice(self.values)
        meta = self.builder.metas[x]
        new = symbol(InputDim(1, self.axis(y)))
        shape = (new, *(symbol(InputDim(0, axis)) for axis in range(meta.rank)))
        return self.add(DynamicBroadcastInDim(shape, tuple(range(1, meta.rank + 1))), x, y)


def arguments(seed: int, n: int, m: int) -> list[Array]:
    """Inputs of these sizes, the sizes among them being smaller than n and m for the most part."""
    rng = np.random.default_rng(seed)
    shapes = [tuple(bind(dim(size), {N: n, M: m}) for size in shape) for _, shape in INPUTS]
    arrays = [rng.uniform(-1, 1, shape) for shape in shapes[:4]]  # type: ignore[arg-type]
    return [*arrays, np.asarray(rng.integers(-1, n + 1)), np.asarray(rng.uniform(-1, m + 1))]


def check_claims(program: ExecProgram, inputs: Sequence[Array], sizes: dict[Leaf, int]) -> None:
    """Run the program: what it says of each value's extents must be true."""
    for slot, value in values_of(program, inputs, sizes).items():
        meta = program.slot_metas()[slot]
        assert meta is not None
        claimed = meta.bind(sizes)
        assert (claimed.dtype, claimed.rank) == (value.dtype, value.ndim)
        assert all(map(implies, meta_of(value).extents, claimed.extents)), (slot, claimed, value)


def values_of(
    program: ExecProgram, inputs: Sequence[Array], sizes: dict[Leaf, int]
) -> dict[int, Array]:
    """The value of every slot."""
    values: dict[int, Array] = dict(zip(program.input_slots, inputs, strict=True))
    with np.errstate(all="ignore"):
        for step in program.instructions:
            operands = [values[slot] for slot in step.input_slots]
            results = step.op.bind(sizes).evaluate(operands)
            values.update(zip(step.output_slots, results, strict=True))
    return values
