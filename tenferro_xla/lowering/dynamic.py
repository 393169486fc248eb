"""AssumeSize and ShapeOf. Other ops with late sizes are replaced before lowering, by `Settle`."""

from __future__ import annotations

import numpy as np
from jax import Array
from jax import numpy as jnp
from jax.export import is_symbolic_dim

from tenferro.ops import AssumeSize, ShapeOf
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: AssumeSize, x: Array) -> Array:
    return x


@lower.register
def _(op: ShapeOf, x: Array) -> Array | np.ndarray:
    size = x.shape[op.axis]
    if is_symbolic_dim(size):  # in an export
        return jnp.asarray(size, np.int64)
    return np.asarray(size, np.int64)
