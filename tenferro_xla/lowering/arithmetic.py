"""Sums, products and quotients."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import Add, Conj, Div, Mul, Neg, Sub
from tenferro.shape import is_complex, is_integer
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Add, x: Array, y: Array) -> Array:
    return lax.add(x, y)


@lower.register
def _(op: Sub, x: Array, y: Array) -> Array:
    return lax.sub(x, y)


@lower.register
def _(op: Mul, x: Array, y: Array) -> Array:
    return lax.mul(x, y)


@lower.register
def _(op: Neg, x: Array) -> Array:
    return lax.neg(x)


@lower.register
def _(op: Conj, x: Array) -> Array:
    if not is_complex(x.dtype):
        return x
    return lax.complex(lax.real(x), lax.neg(lax.imag(x)))  # `lax.conj` is traced at each use


@lower.register
def _(op: Div, x: Array, y: Array) -> Array:
    quotient = lax.div(x, y)
    return zero_where_zero(y, quotient) if is_integer(x.dtype) else quotient


def zero_where_zero(divisor: Array, result: Array) -> Array:
    """`result`, but 0 where the divisor is 0: XLA does not define integer division by zero."""
    zero = lax.full_like(divisor, 0)
    return lax.select(lax.eq(divisor, zero), zero, result)
