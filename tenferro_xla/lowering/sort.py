"""Sort, and the place of an extremum."""

from __future__ import annotations

import numpy as np
from jax import Array, lax

from tenferro.ops import ArgMax, ArgMin, Sort
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Sort, x: Array) -> tuple[Array, Array]:
    places = lax.broadcasted_iota(np.dtype(np.int64), x.shape, op.axis)
    values, places = lax.sort((x, places), dimension=op.axis, is_stable=True, num_keys=1)
    return values, places


@lower.register
def _(op: ArgMax, x: Array) -> Array:
    return lax.argmax(_ordered(x), op.axis, np.dtype(np.int64))


@lower.register
def _(op: ArgMin, x: Array) -> Array:
    return lax.argmin(_ordered(x), op.axis, np.dtype(np.int64))


def _ordered(x: Array) -> Array:
    """Booleans as numbers, which JAX puts into order."""
    return lax.convert_element_type(x, np.dtype(np.uint8)) if x.dtype == np.bool_ else x
