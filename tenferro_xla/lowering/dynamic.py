"""AssumeSize and ShapeOf. Other ops with late sizes are replaced before lowering, by `Settle`."""

from __future__ import annotations

import numpy as np
from jax import Array

from tenferro.ops import AssumeSize, ShapeOf
from tenferro_xla.lowering.extents import number
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: AssumeSize, x: Array) -> Array:
    return x


@lower.register
def _(op: ShapeOf, x: Array) -> Array | np.ndarray:
    return number(x.shape[op.axis])
