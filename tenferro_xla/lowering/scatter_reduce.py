"""ScatterReduce."""

from __future__ import annotations

from collections.abc import Callable

from jax import Array, lax

from tenferro.ops import ScatterReduce
from tenferro_xla.lowering.indexing import scattered
from tenferro_xla.lowering.registry import LoweringOptions, lower

_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "mul": lax.scatter_mul,
    "min": lax.scatter_min,
    "max": lax.scatter_max,
}


@lower.register
def _(
    op: ScatterReduce,
    x: Array,
    indices: Array,
    updates: Array,
    *source: Array,
    options: LoweringOptions,
) -> Array:
    return scattered(_FUNCTIONS[op.combiner], op, x, indices, updates, options)
