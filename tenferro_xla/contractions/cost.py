"""What contractions cost on a CPU; `tests/benchmarks/contraction_costs.py` measures it."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.shape import DType


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds, for one thread and 64-bit parts; 32-bit parts take half of everything but `kernel`.

    Attributes:
        native: one multiplication and addition of complex numbers in XLA's complex product.
        real: the same in a real product of twice the size.
        part: writing one real number of a value that is made for the product alone.
        loaded: the same of an input of the program, which comes from memory and not from a cache.
        moved: as `part`, where the order of axes changes.
        kernel: calling a kernel.
        bound: a contraction is rewritten if that takes at most this part of the time; below 1,
            since every kernel costs milliseconds of compilation, and more memory.
    """

    native: float = 2.6e-10
    real: float = 1.3e-10
    part: float = 1.2e-9
    loaded: float = 2.5e-9
    moved: float = 1.6e-9
    kernel: float = 1e-6
    bound: float = 0.85

    def scale(self, dtype: DType) -> float:
        """What numbers of a complex dtype take, against 64-bit parts."""
        return dtype.itemsize / 16


CPU = Costs()
