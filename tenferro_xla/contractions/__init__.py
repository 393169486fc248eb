"""Contractions as XLA on the CPU computes them fastest: complex ones as real ones, operands moved
where a product is slow otherwise.

Read in this order: `parts`, `cost`, `as_real`, `kept`, `lowering`, `target`.
"""

from tenferro_xla.contractions import lowering
from tenferro_xla.contractions.as_real import RealContractions
from tenferro_xla.contractions.cost import CPU, Costs
from tenferro_xla.contractions.kept import KeptTransposes
from tenferro_xla.contractions.parts import Factor, Join, Kept, Split
from tenferro_xla.contractions.target import for_cpu

__all__ = [
    "CPU",
    "Costs",
    "Factor",
    "Join",
    "Kept",
    "KeptTransposes",
    "RealContractions",
    "Split",
    "for_cpu",
    "lowering",
]
