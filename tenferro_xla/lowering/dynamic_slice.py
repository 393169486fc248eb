"""DynamicSlice and DynamicUpdateSlice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import Array, lax

from tenferro.ops import DynamicSlice, DynamicUpdateSlice
from tenferro_xla.lowering.extents import number
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: DynamicSlice, x: Array, *starts: Array) -> Array:
    sizes: tuple[Any, ...] = op.slice_sizes
    return lax.dynamic_slice(x, _clamped(x, sizes, starts), sizes)


@lower.register
def _(op: DynamicUpdateSlice, x: Array, window: Array, *starts: Array) -> Array:
    return lax.dynamic_update_slice(x, window, _clamped(x, window.shape, starts))


def _clamped(x: Array, sizes: Sequence[int], starts: Sequence[Array]) -> list[Array]:
    """The starts within bounds, in int64: JAX would count negative ones from the end."""
    clamped = []
    for start, size, limit in zip(starts, sizes, x.shape, strict=True):
        if start.dtype == np.uint64:
            start = lax.min(start, lax.full_like(start, np.iinfo(np.int64).max))
        wide = lax.convert_element_type(start, np.dtype(np.int64))
        clamped.append(lax.clamp(np.int64(0), wide, number(limit - size)))
    return clamped
