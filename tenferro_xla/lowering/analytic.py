"""Analytic functions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tenferro.ops import (
    Exp,
    Expm1,
    InversePower,
    Log,
    Log1p,
    Pow,
    Rsqrt,
    SechSquared,
    Sqrt,
    Tanh,
    power_of,
)
from tenferro.shape import is_complex, is_integer
from tenferro_xla.lowering.registry import lower
from tenferro_xla.lowering.rounding import with_signs


@lower.register
def _(op: Exp, x: Array) -> Array:
    return _real_of_real(x, lax.exp(x))


def _real_of_real(x: Array, result: Array) -> Array:
    """Complex results with the imaginary part of x where that is 0 of either sign."""
    if not is_complex(x.dtype):
        return result
    im = lax.imag(x)
    imag = lax.select(lax.eq(im, lax.full_like(im, 0)), im, lax.imag(result))
    return lax.complex(lax.real(result), imag)


@lower.register
def _(op: Expm1, x: Array) -> Array:
    return _real_of_real(x, lax.expm1(x))


@lower.register
def _(op: Log, x: Array) -> Array:
    return lax.log(x)


@lower.register
def _(op: Log1p, x: Array) -> Array:
    return lax.log1p(x)


@lower.register
def _(op: Tanh, x: Array) -> Array:
    return lax.tanh(x)


@lower.register
def _(op: SechSquared, x: Array) -> Array:
    if not is_complex(x.dtype):
        power = lax.exp(-2 * lax.abs(x))
        return 4 * power / lax.square(1 + power)
    power = lax.exp(2 * jnp.where(lax.real(x) < 0, x, -x))
    near = lax.abs(lax.real(x)) < 1
    by_cosh = 1 / lax.square(lax.cosh(jnp.where(near, x, 0)))
    return jnp.where(near, by_cosh, 4 * power / lax.square(1 + power))


@lower.register
def _(op: Sqrt, x: Array) -> Array:
    return with_signs(lax.sqrt(x), None, x)


@lower.register
def _(op: Rsqrt, x: Array) -> Array:
    return lax.rsqrt(x)


@lower.register
def _(op: InversePower, x: Array) -> Array:
    return lax.div(lax.full_like(x, 1), power_of(x, op.exponent, lax.mul))


@lower.register
def _(op: Pow, x: Array, y: Array) -> Array:
    if is_integer(x.dtype):
        return _integer_power(x, y)
    power = lax.pow(x, y)
    if not is_complex(x.dtype):
        # XLA writes log(pow(x, y)) as y·log|x|, a number where x**y is negative and NaN where it
        # is 1 by x = 1 or y = 0. It does not see the power through a choice.
        return lax.select(lax.ne(power, power), lax.full_like(power, np.nan), power)
    # XLA computes it by the logarithm, which 0 does not have.
    zero = lax.full_like(x, 0)
    vanishes = lax.bitwise_and(lax.eq(x, zero), lax.gt(lax.real(y), lax.full_like(lax.real(y), 0)))
    size, exponent = jnp.abs(x), lax.real(y)
    decays = ((size > 1) & (exponent == -jnp.inf)) | ((size < 1) & (exponent == jnp.inf))
    return lax.select(vanishes | decays, zero, power)


def _integer_power(x: Array, y: Array) -> Array:
    """Repeated squaring; a negative power is 0 unless the base is 1 or -1."""
    zero, one = lax.full_like(x, 0), lax.full_like(x, 1)
    result, base, left = one, x, lax.max(y, zero)
    n_bits = 8 * x.dtype.itemsize
    for _ in range(n_bits - 1 if x.dtype.kind == "i" else n_bits):
        odd = lax.ne(lax.bitwise_and(left, one), zero)
        result = lax.select(odd, lax.mul(result, base), result)
        base, left = lax.mul(base, base), lax.shift_right_logical(left, one)
    if x.dtype.kind == "u":
        return result
    sign = lax.select(lax.ne(lax.bitwise_and(y, one), zero), x, one)
    inverse = lax.select(lax.eq(lax.abs(x), one), sign, zero)
    return lax.select(lax.lt(y, zero), inverse, result)
