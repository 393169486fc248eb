"""Comparison and choice, and the piecewise functions made of them."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from tenferro.ops import Abs, Clamp, Compare, Maximum, Minimum, Rem, Select, Sign
from tenferro.shape import is_complex, is_integer
from tenferro_xla.lowering.arithmetic import zero_where_zero
from tenferro_xla.lowering.registry import lower

_DIRECTIONS = {
    "EQ": lax.eq,
    "NE": lax.ne,
    "LT": lax.lt,
    "LE": lax.le,
    "GT": lax.gt,
    "GE": lax.ge,
}


@lower.register
def _(op: Compare, x: Array, y: Array) -> Array:
    return _DIRECTIONS[op.direction](x, y)


@lower.register
def _(op: Select, pred: Array, on_true: Array, on_false: Array) -> Array:
    return lax.select(pred, on_true, on_false)


@lower.register
def _(op: Maximum, x: Array, y: Array) -> Array:
    return lax.max(x, y)


@lower.register
def _(op: Minimum, x: Array, y: Array) -> Array:
    return lax.min(x, y)


@lower.register
def _(op: Clamp, low: Array, x: Array, high: Array) -> Array:
    return lax.clamp(low, x, high)


@lower.register
def _(op: Sign, x: Array) -> Array:
    if not is_complex(x.dtype):
        return lax.sign(x)
    re, im = lax.real(x), lax.imag(x)
    limit = lax.complex(*(jnp.where(jnp.isinf(part), jnp.sign(part), 0) for part in (re, im)))
    return jnp.where(jnp.isinf(re) ^ jnp.isinf(im), limit, lax.sign(x))


@lower.register
def _(op: Abs, x: Array) -> Array:
    if not is_complex(x.dtype):
        return x if x.dtype.kind == "u" else lax.abs(x)
    infinite = jnp.isinf(lax.real(x)) | jnp.isinf(lax.imag(x))  # whatever the other part is
    return jnp.where(infinite, jnp.inf, lax.abs(x))


def _with_sign_of(y: Array, remainder: Array) -> Array:
    """The remainder of a division by y, moved to the side of y; a zero gets the sign of y."""
    zero = lax.full_like(y, 0)
    negative = lax.lt(y, zero)
    is_zero = lax.eq(remainder, zero)
    differs = lax.ne(lax.lt(remainder, zero), negative)
    moved = lax.select(lax.bitwise_and(differs, lax.bitwise_not(is_zero)), remainder + y, remainder)
    if is_integer(y.dtype):
        return moved
    return lax.select(is_zero, lax.select(negative, lax.full_like(y, -0.0), zero), moved)


@lower.register
def _(op: Rem, x: Array, y: Array) -> Array:
    remainder = lax.rem(x, y)
    if op.floor:
        remainder = _with_sign_of(y, remainder)
    return zero_where_zero(y, remainder) if is_integer(x.dtype) else remainder
