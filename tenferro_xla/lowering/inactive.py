"""Iota, and ops that only derivatives ask for."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import CotangentWhere, Iota, StopGradient
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Iota) -> Array:
    return lax.broadcasted_iota(op.dtype, (op.size,), 0)  # of symbolic size in an export


@lower.register
def _(op: StopGradient, x: Array) -> Array:
    return lax.stop_gradient(x)


@lower.register
def _(op: CotangentWhere, x: Array, taken: Array) -> Array:
    return x
