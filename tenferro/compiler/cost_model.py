"""Seconds for products, moves, kernels on one kind of device.

What is of one platform of XLA only, such as the costs of GPUs, is in `tenferro_xla.platforms`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from tenferro.ir import DType, ExecOp, ExecProgram, dtype_kind
from tenferro.ops import DotGeneral
from tenferro.ops.control_flow import ControlOp

__all__ = ["CPU", "NEUTRAL", "DeviceCosts", "kernels", "numpy_seconds"]


SHORT = 64
"""Rows of a left side below which a product takes `short_left` longer."""


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
        pack: one number of that operand, of any dtype, which the product puts in order on its way.
        short_left: how much longer a product takes, as a part of its time, if its left side has
            fewer than 64 rows and its right side has more columns than that.
        move: one number of a transpose.
        load: one number that comes from memory and not from a cache: of an input of the program,
            or of a value larger than the caches.
        write: one number of a value that is written for one product, repeated or split.
        kernel: each kernel, whatever its size.
        compiling: compiling each kernel.
        step: starting each iteration of a loop; small steps are compiled together where it is not
            0, see `ScanUnrolling`. None: as the platform has it, which no fit to networks says.
        worthwhile: a complex product is computed as real ones if that takes at most this part of
            its time; below 1, since every kernel costs compile time and memory.
    """

    multiply: float = 1.75e-11
    complex_multiply: float = 1.7e-10
    edge: float = 16.0
    matrix: float = 1.5e-7
    complex_matrix: float = 1.5e-6
    reduce: float = 1.1e-9
    contracted_first: float = 0.5
    pack: float = 0.5e-9
    short_left: float = 0.3
    move: float = 1.4e-9
    load: float = 2.5e-9
    write: float = 0.9e-9
    kernel: float = 1.5e-6
    compiling: float = 4e-3
    worthwhile: float = 0.85
    step: float | None = None

    def edges(self, rows: int, columns: int, terms: int) -> float:
        """How many times its arithmetic a product takes."""
        return 1 + self.edge * (1 / rows + 1 / columns + 1 / terms)

    def product(self, dtype: DType, batch: int, rows: int, columns: int, terms: int) -> float:
        """Seconds for a batched product of matrices; a complex one in its best form."""
        arithmetic = batch * rows * columns * terms * self.multiply
        if not arithmetic:
            return 0.0
        is_complex = dtype_kind(dtype) == "c"
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

    def moving(self, dtype: DType, numbers: int) -> float:
        """Seconds for a transpose; a number of fewer than 4 bytes takes as long as one of 4."""
        return self.kernel + self.move * numbers * max(dtype.itemsize, 4) / 8

    def writing(self, dtype: DType, numbers: int) -> float:
        """Seconds for writing repeated numbers."""
        return self.write * numbers * dtype.itemsize / 8

    def packing(self, seconds: float, numbers: int) -> float:
        """How much longer a product of so many seconds takes if the contracted axes of its left
        operand, of so many numbers, come first."""
        return self.contracted_first * seconds + self.pack * numbers

    def short_side(self, left: int, right: int) -> float:
        """How much longer a product takes, as a part of its time, if its shorter side is left."""
        if left >= right:
            return 0.0
        return self.short_left if left < SHORT else self.short_left / 3

    def scale(self, dtype: DType) -> float:
        """The bytes of a real or imaginary part, relative to a 64-bit number."""
        return dtype.itemsize / (16 if dtype_kind(dtype) == "c" else 8)


CPU = DeviceCosts()
"""XLA on two threads of a CPU."""

NEUTRAL = DeviceCosts(contracted_first=0.0, pack=0.0, short_left=0.0)
"""A device of which nothing is known: no order of axes is better than another."""


# Predictions of how long a program runs on NumPy, and how many kernels a compiler makes of it.

DISPATCH = 5e-6
"""Seconds for one op on small arrays."""
ELEMENT = 5e-9
"""Seconds for an element of a result; functions such as `exp` take that."""


def numpy_seconds(program: ExecProgram) -> float:
    """About how long a program of known sizes runs on NumPy; infinite if nothing tells.

    >>> from tenferro.compiler import parse
    >>> text = "exec_program(%0: f64[9]) { \\n %1: f64[9] = negate %0! \\n return %1 \\n }"
    >>> 0 < numpy_seconds(parse(text)) < 1e-3
    True
    """
    is_complex = any(dtype_kind(meta.dtype) == "c" for _, meta in program.results())
    product = CPU.complex_multiply if is_complex else CPU.multiply
    pairs = zip(program.ops(), program.work_of(), strict=True)
    return sum(DISPATCH + _seconds(op, work, product) for op, work in pairs)


def _seconds(op: ExecOp, work: int, product: float) -> float:
    if isinstance(op, ControlOp):
        if op.is_open:
            return math.inf
        inside = [numpy_seconds(cast(ExecProgram, body)) for body in op.bodies.values()]
        return op.iterations * sum(inside) if op.is_loop else max(inside)
    return work * (product if isinstance(op, DotGeneral) else ELEMENT)


def kernels(program: ExecProgram) -> int:
    """About how many kernels a compiler makes: instructions that compute, those of bodies once."""
    ops = [op for part in program.walk() for op in part.ops()]
    return sum(not (op.view or op.source) for op in ops)
