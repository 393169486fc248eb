"""BroadcastInDim and ReduceSum."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import BroadcastInDim, ReduceSum
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: BroadcastInDim, x: Array) -> Array:
    return lax.broadcast_in_dim(x, op.shape, op.dims)


@lower.register
def _(op: ReduceSum, x: Array) -> Array:
    return lax.reduce_sum(x, op.axes)
