"""Slice, Pad, Concatenate."""

from __future__ import annotations

from typing import Any

from jax import Array, lax

from tenferro.ops import Concatenate, Pad, Slice
from tenferro.shape import Dim
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Slice, x: Array) -> Array:
    return lax.slice(x, _sizes(op.starts), _sizes(op.limits), op.strides)


@lower.register
def _(op: Pad, x: Array, value: Array) -> Array:
    return lax.pad(x, value, list(zip(_sizes(op.low), _sizes(op.high), op.interior, strict=True)))


@lower.register
def _(op: Concatenate, *operands: Array) -> Array:
    return lax.concatenate(operands, op.axis)


def _sizes(dims: tuple[Dim, ...]) -> list[Any]:
    """Sizes that are integers by now, since the program is bound, or sizes of JAX in an export."""
    return list(dims)
