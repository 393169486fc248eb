"""Sort, and the position of an extremum."""

from __future__ import annotations

from itertools import compress

import numpy as np
from jax import Array, lax

from tenferro.ops import ArgMax, ArgMin, Sort
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Sort, x: Array) -> tuple[Array, ...]:
    if op.outputs == (True, False):
        return (lax.sort(x, dimension=op.axis, is_stable=True),)
    places = lax.broadcasted_iota(np.dtype(np.int64), x.shape, op.axis)
    results = lax.sort((x, places), dimension=op.axis, is_stable=True, num_keys=1)
    return tuple(compress(results, op.outputs))


@lower.register
def _(op: ArgMax, x: Array) -> Array:
    return lax.argmax(_ordered(x), op.axis, np.dtype(np.int64))


@lower.register
def _(op: ArgMin, x: Array) -> Array:
    return lax.argmin(_ordered(x), op.axis, np.dtype(np.int64))


def _ordered(x: Array) -> Array:
    """Booleans as numbers, which JAX can compare."""
    return lax.convert_element_type(x, np.dtype(np.uint8)) if x.dtype == np.bool_ else x
