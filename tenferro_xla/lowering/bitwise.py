"""Operations on bits."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import And, Not, Or, ShiftLeft, ShiftRight, Xor
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: And, x: Array, y: Array) -> Array:
    return lax.bitwise_and(x, y)


@lower.register
def _(op: Or, x: Array, y: Array) -> Array:
    return lax.bitwise_or(x, y)


@lower.register
def _(op: Xor, x: Array, y: Array) -> Array:
    return lax.bitwise_xor(x, y)


@lower.register
def _(op: Not, x: Array) -> Array:
    return lax.bitwise_not(x)


@lower.register
def _(op: ShiftLeft, x: Array, y: Array) -> Array:
    return lax.shift_left(x, y)


@lower.register
def _(op: ShiftRight, x: Array, y: Array) -> Array:
    signed = x.dtype.kind == "i"
    return lax.shift_right_arithmetic(x, y) if signed else lax.shift_right_logical(x, y)
