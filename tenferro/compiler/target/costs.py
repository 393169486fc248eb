"""The cost model: seconds for products, moves and kernels on one kind of device.

What is of one platform of XLA only, such as the costs of GPUs, is in `tenferro_xla.platforms`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.shape import DType

FEW = 64
"""Columns of a right side from which on it is not short."""

RUNS = 5
"""Runs of axes that a transpose may move before each number takes longer."""

LINE, ALIASED, WAYS, NEAR = 8, 512, 16, 4096
"""Numbers in a cache line; numbers between lines that have one place in the cache; lines that have
room there; numbers that the cache holds."""


@dataclass(frozen=True, slots=True)
class DeviceCosts:
    """Seconds on one kind of device, for 64-bit real numbers; others in proportion to their bytes.

    The planner of networks, the pass that chooses orders of axes and the pass that computes complex
    products as real ones all use it. `tests/benchmarks/calibrate.py` fits the constants to the run
    times of one half of a set of networks, and checks them on the other half.

    Attributes:
        multiply: one multiplication and addition of a large product of real numbers.
        complex_multiply: one multiplication and addition of a large product of complex numbers, in
            the device's own complex product.
        edge: number of rows, columns or terms for which a product takes twice its arithmetic; a
            product of `m`, `n` and `k` takes `1 + edge/m + edge/n + edge/k` times its arithmetic.
        matrix: each further matrix of a batch of real products, whatever its size.
        complex_matrix: each further matrix of a batch of complex products.
        reduce: one multiplication and addition of a sum over products of elements.
        contracted_first: how much longer a product takes, as a part of its time, if the contracted
            axes of its left operand come first.
        short_right: how much more a few columns cost than as few rows, as a part of `edge`.
        contracted_last: one number of a right operand whose contracted axes come last.
        move: one number of a transpose that leaves the last axis last.
        turn: one number of a transpose that has another axis last.
        scatter: more for each number of a transpose that loads a cache line for it alone.
        run: more for each number of a transpose, for each run of axes that stay together beyond
            five.
        load: one number that comes from memory and not from a cache: of an input of the program,
            or of a value larger than the caches.
        write: one number of a value that is written for one product, repeated or split.
        kernel: each kernel, whatever its size.
        worthwhile: a complex product is computed as real ones if that takes at most this part of
            its time; below 1, since every kernel costs compile time and memory.
    """

    multiply: float = 1.75e-11
    complex_multiply: float = 1.7e-10
    edge: float = 16.0
    matrix: float = 1.5e-7
    complex_matrix: float = 1.5e-6
    reduce: float = 1.1e-9
    contracted_first: float = 1.0
    short_right: float = 0.75
    contracted_last: float = 0.3e-9
    move: float = 0.4e-9
    turn: float = 0.6e-9
    scatter: float = 1.2e-9
    run: float = 0.12e-9
    load: float = 2.5e-9
    write: float = 0.9e-9
    kernel: float = 1.5e-6
    worthwhile: float = 0.85

    def edges(self, rows: int, columns: int, terms: int) -> float:
        """How many times its arithmetic a product takes."""
        return 1 + self.edge * (1 / rows + 1 / columns + 1 / terms)

    def product(self, dtype: DType, batch: int, rows: int, columns: int, terms: int) -> float:
        """Seconds for a batched product of matrices; a complex one in its best form."""
        arithmetic = batch * rows * columns * terms * self.multiply
        if not arithmetic:
            return 0.0
        is_complex = dtype.kind == "c"
        if is_complex:
            arithmetic *= 4
        matrix = self.complex_matrix if is_complex else self.matrix
        scaled = arithmetic * self.edges(rows, columns, terms) * self.scale(dtype)
        return scaled + (batch - 1) * matrix

    def contraction(
        self, batch: int, rows: int, columns: int, terms: int, itemsize: int = 8
    ) -> float:
        """Seconds for a contraction and its kernel: the larger of those for arithmetic and memory.

        With `terms` = 1 it is an elementwise product.
        """
        numbers = batch * (rows * terms + terms * columns + rows * columns)
        seconds = numbers * self.write * itemsize / 8
        if terms > 1:
            arithmetic = batch * rows * columns * terms * self.multiply
            arithmetic *= self.edges(rows, columns, terms)
            seconds = max(arithmetic + (batch - 1) * self.matrix, seconds)
        return seconds + self.kernel

    def moving(self, dtype: DType, shape: Sequence[int], perm: Sequence[int]) -> float:
        """Seconds for a transpose."""
        is_turned, shared, runs = _reading(tuple(shape), tuple(perm))
        each = (self.turn if is_turned else self.move) + self.scatter * (1 / shared - 1 / LINE)
        each += self.run * max(0, runs - RUNS)
        return self.kernel + each * math.prod(shape) * dtype.itemsize / 8

    def turning(self, dtype: DType, numbers: int) -> float:
        """Seconds that a right operand costs if its contracted axes come last."""
        return self.contracted_last * numbers * dtype.itemsize / 8

    def writing(self, dtype: DType, numbers: int) -> float:
        """Seconds for writing repeated numbers."""
        return self.write * numbers * dtype.itemsize / 8

    def short_side(self, left: int, right: int) -> float:
        """How much longer a product takes, as a part of its time, if its shorter side is right."""
        if left <= right or not right:
            return 0.0
        more = self.short_right * self.edge * max(0.0, 1 / right - 1 / left - 1 / FEW)
        return more / (1 + self.edge / right + self.edge / left)

    def scale(self, dtype: DType) -> float:
        """The bytes of a real or imaginary part, relative to a 64-bit number."""
        return dtype.itemsize / (16 if dtype.kind == "c" else 8)


@functools.lru_cache(maxsize=4096)
def _reading(shape: tuple[int, ...], perm: tuple[int, ...]) -> tuple[bool, int, int]:
    """How a transpose reads: whether another axis is last than before, how many numbers of a cache
    line are read before the line is lost, and how many runs of axes stay together.

    Lines that are a multiple of `ALIASED` numbers apart push one another out.
    """
    strides = [max(1, math.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    moved = [axis for axis in perm if shape[axis] > 1]
    before = sorted(moved)
    after = dict(itertools.pairwise(before))
    runs = sum(after.get(one) != other for one, other in itertools.pairwise(moved)) + 1
    count = shared = aliased = 1
    for axis in reversed(moved):
        if strides[axis] < LINE:
            shared = min(LINE, shared * min(shape[axis], LINE // strides[axis]))
        elif strides[axis] % ALIASED == 0:
            aliased *= shape[axis]
        count *= shape[axis]
        if count >= NEAR or aliased > WAYS:
            break
    return moved[-1:] != before[-1:], shared, runs


CPU = DeviceCosts()
"""XLA on two threads of a CPU."""

NEUTRAL = DeviceCosts(contracted_first=0.0, short_right=0.0, contracted_last=0.0)
"""A device of which nothing is known: no order of axes is better than another."""
