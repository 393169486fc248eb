"""Transpose, Reshape, Reverse."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import Reshape, Reverse, Transpose
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Transpose, x: Array) -> Array:
    return lax.transpose(x, op.perm)


@lower.register
def _(op: Reshape, x: Array) -> Array:
    return lax.reshape(x, op.shape)


@lower.register
def _(op: Reverse, x: Array) -> Array:
    return lax.rev(x, op.axes)
