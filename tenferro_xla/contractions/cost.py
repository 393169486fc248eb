"""What contractions cost on a CPU."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.shape import DType

CACHED = 1 << 14
"""Numbers of an input of the program that is likely to be in a cache when it is read."""

SCATTERED = 1 << 22
"""Numbers of a value that is too large for any cache."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds on two threads, for 64-bit parts; 32-bit parts take half of everything but `kernel`.

    The defaults are fitted to whole networks; `tests/benchmarks/contraction_costs.py` measures what
    of them shows in single products and copies, which are in a cache.

    Attributes:
        native: one multiplication and addition of complex numbers in XLA's complex product.
        real: the same in a real product of twice the size.
        edge: how many rows, columns or terms cost as much again as the product itself; a product
            of `m`, `n` and `k` takes `1 + edge/m + edge/n + edge/k` times its arithmetic.
        matrix: each further matrix of a batch of real products.
        reduced: one multiplication and addition as a sum over products of elements.
        part: writing one real number of a value that is made for the product alone.
        loaded: the same of a large input of the program or a large result, which is in no cache.
        moved: as `part`, where the order of axes changes.
        kernel: calling a kernel.
        bound: a contraction is rewritten if that takes at most this part of the time; below 1,
            since every kernel costs milliseconds of compilation, and more memory.
    """

    native: float = 1.7e-10
    real: float = 7e-11
    edge: float = 16.0
    matrix: float = 1.5e-7
    reduced: float = 1.1e-9
    part: float = 0.9e-9
    loaded: float = 2.5e-9
    moved: float = 1.6e-9
    kernel: float = 1e-6
    bound: float = 0.85

    def edges(self, rows: int, columns: int, terms: int) -> float:
        """How much longer a product takes than its arithmetic would."""
        return 1 + self.edge * (1 / rows + 1 / columns + 1 / terms)

    def written(self, numbers: int) -> float:
        """Seconds for each real number of a result of that many."""
        return self.part if numbers < SCATTERED else self.loaded

    def scale(self, dtype: DType) -> float:
        """What numbers of a complex dtype take, against 64-bit parts."""
        return dtype.itemsize / 16


CPU = Costs()
