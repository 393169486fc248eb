"""What moves and products cost, as far as it matters for the order of axes."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.shape import DType


@dataclass(frozen=True, slots=True)
class LayoutCosts:
    """Seconds on two threads of a CPU, for 64-bit numbers.

    The defaults are fitted to whole networks; `tests/benchmarks/contraction_costs.py` measures what
    of them shows in single products and copies, which are in a cache.

    Attributes:
        flop: one multiplication or addition of a large product.
        edge: how many rows, columns or terms cost as much again as the product itself; a product
            of `m`, `n` and `k` takes `1 + edge/m + edge/n + edge/k` times its flops.
        matrix: each further matrix of a batch, whatever its size.
        complex_matrix: the same of complex matrices.
        kernel: each transpose, whatever its size.
        move: one number of a transpose.
        load: the same of an input of the program, which comes from memory and not from a cache.
        repeat: one number of a value written repeatedly for a batched product.
        contracted_first: how much longer a product takes, as a part of its time, if the left
            contracted axes are first.
        short_left: the same if the left side has less than 64 rows, and the right one more.
    """

    flop: float = 1.1e-11
    edge: float = 16.0
    matrix: float = 1.5e-7
    complex_matrix: float = 1.5e-6
    kernel: float = 2e-6
    move: float = 1.5e-9
    load: float = 3e-9
    repeat: float = 0.6e-9
    contracted_first: float = 0.6
    short_left: float = 0.3

    def product(self, dtype: DType, batch: int, rows: int, columns: int, terms: int) -> float:
        """Seconds for a batched product of matrices."""
        flops = 2.0 * batch * rows * columns * terms
        if not flops:
            return 0.0
        edges = 1 + self.edge * (1 / rows + 1 / columns + 1 / terms)
        matrix = self.complex_matrix if dtype.kind == "c" else self.matrix
        return flops * self.flop * edges * _arithmetic(dtype) + (batch - 1) * matrix

    def moving(self, dtype: DType, numbers: int, loaded: bool = False) -> float:
        """Seconds for a transpose; `loaded` if it is one of an input of the program."""
        move = self.load if loaded else self.move
        return self.kernel + move * numbers * dtype.itemsize / 8

    def repeating(self, dtype: DType, numbers: int) -> float:
        """Seconds for writing repeated numbers."""
        return self.repeat * numbers * dtype.itemsize / 8

    def short_side(self, left: int, right: int) -> float:
        """How much longer a product takes if its shorter side is on the left."""
        if left >= right:
            return 0.0
        return self.short_left if left < 64 else self.short_left / 3


CPU = LayoutCosts()


def _arithmetic(dtype: DType) -> float:
    """How long a multiplication takes, against 64-bit real numbers."""
    parts = 4 if dtype.kind == "c" else 1
    return parts * dtype.itemsize / (16 if dtype.kind == "c" else 8)
