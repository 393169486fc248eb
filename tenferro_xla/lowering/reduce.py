"""Reductions that are not linear."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import ReduceAnd, ReduceMax, ReduceMin, ReduceOr, ReduceProd
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: ReduceProd, x: Array) -> Array:
    return lax.reduce_prod(x, op.axes)


@lower.register
def _(op: ReduceMax, x: Array) -> Array:
    return lax.reduce_max(x, op.axes)


@lower.register
def _(op: ReduceMin, x: Array) -> Array:
    return lax.reduce_min(x, op.axes)


@lower.register
def _(op: ReduceAnd, x: Array) -> Array:
    return lax.reduce_and(x, op.axes)


@lower.register
def _(op: ReduceOr, x: Array) -> Array:
    return lax.reduce_or(x, op.axes)
