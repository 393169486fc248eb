"""Passes of the XLA executor's own, and the ops that only they create."""

from tenferro_xla.passes.kept_transposes import KeptTransposes
from tenferro_xla.passes.parts import OPS, Factor, Join, Kept, Split, Stored
from tenferro_xla.passes.real_contractions import RealContractions
from tenferro_xla.passes.stored_comparisons import StoredComparisons
from tenferro_xla.passes.stored_products import StoredProducts

__all__ = [
    "OPS",
    "Factor",
    "Join",
    "Kept",
    "KeptTransposes",
    "RealContractions",
    "Split",
    "Stored",
    "StoredComparisons",
    "StoredProducts",
]
