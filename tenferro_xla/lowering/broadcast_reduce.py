"""BroadcastInDim, its dynamic form, and ReduceSum."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import BroadcastInDim, DynamicBroadcastInDim, ReduceSum
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: BroadcastInDim, x: Array) -> Array:
    return lax.broadcast_in_dim(x, op.shape, op.dims)


@lower.register
def _(op: DynamicBroadcastInDim, x: Array, *sources: Array) -> Array:
    known = op.resolved([x.shape, *(source.shape for source in sources)])
    return lax.broadcast_in_dim(x, known.shape, known.dims)


@lower.register
def _(op: ReduceSum, x: Array) -> Array:
    return lax.reduce_sum(x, op.axes)
