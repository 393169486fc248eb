"""Each op in terms of `jax.lax`: one file per file of `tenferro.ops`."""

from tenferro_xla.lowering import (
    analytic,
    arithmetic,
    broadcast_reduce,
    compare,
    constant,
    contraction,
    convert,
    diagonal,
    layout,
    reduce,
    window,
)
from tenferro_xla.lowering.program import JaxFunction, jax_function
from tenferro_xla.lowering.registry import Lowering, LoweringOptions, Precision, lower

__all__ = [
    "JaxFunction",
    "Lowering",
    "LoweringOptions",
    "Precision",
    "analytic",
    "arithmetic",
    "broadcast_reduce",
    "compare",
    "constant",
    "contraction",
    "convert",
    "diagonal",
    "jax_function",
    "layout",
    "lower",
    "reduce",
    "window",
]
