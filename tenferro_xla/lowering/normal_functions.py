"""Functions of the normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tenferro.ops import SCALED_ERFC_FROM_8, SCALED_ERFC_TO_8

_ONE_TERM = 1e8
"""From here on erfcx(x) is 1/(x·sqrt(π))."""


def erfcx(x: Array) -> Array:
    """exp(x²)·erfc(x), by rational functions from 1 on."""
    inner = jnp.minimum(x, 1)
    near = jnp.exp(inner * inner) * lax.erfc(inner)
    middle = _ratio(SCALED_ERFC_TO_8, jnp.clip(x, 1, 8))
    far = _ratio(SCALED_ERFC_FROM_8, jnp.clip(x, 8, _ONE_TERM))
    last = 1 / math.sqrt(math.pi) / jnp.maximum(x, _ONE_TERM)
    outer = jnp.where(x < 8, middle, jnp.where(x < _ONE_TERM, far, last))
    return jnp.where(x > 1, outer, near)


def log_ndtr(x: Array) -> Array:
    """The logarithm of the distribution function, as that of its smaller tail."""
    t = x * math.sqrt(0.5)
    size = jnp.maximum(-t, math.sqrt(0.5))
    left = jnp.log(erfcx(size) * 0.5) - size * size
    middle = jnp.log(lax.erfc(jnp.clip(-t, 0, 1)) * 0.5)
    right = jnp.log1p(lax.erfc(jnp.maximum(t, 0)) * -0.5)
    return jnp.where(x < -1, left, jnp.where(x > 0, right, middle))


def _ratio(pair: tuple[Sequence[float], Sequence[float]], x: Array) -> Array:
    numerator, denominator = pair
    return _horner(numerator, x) / _horner(denominator, x)


def _horner(coefficients: Sequence[float], x: Array) -> Array:
    total = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_SPAN = 80.0


def owens_t(h: Array, a: Array) -> Array:
    """The integral of exp(-h²(1 + t²)/2)/(1 + t²) from t = 0 to a, over 2π.

    Where a is above 1, it follows from that of a·h and 1/a.
    """
    size, slope = jnp.abs(h), jnp.abs(a)
    above = slope > 1
    known = (size < jnp.inf) & ~jnp.isnan(slope)
    x = jnp.where(known, size, 0)
    turned = jnp.where(x == 0, 0, x * jnp.where(above, slope, 1))
    inner = jnp.where(above, jnp.minimum(turned, 1e3), x)
    end = jnp.where(above, 1 / slope, slope)
    end = jnp.minimum(end, math.sqrt(_SPAN) / jnp.maximum(inner, 1))
    t = end[..., None] * jnp.asarray((_NODES + 1) / 2)
    square = (inner * inner)[..., None]
    f = jnp.exp(square * t * t * -0.5) / (1 + t * t) * jnp.asarray(_WEIGHTS / (4 * math.pi))
    integral = jnp.exp(inner * inner * -0.5) * end * jnp.sum(f, axis=-1)
    p, q = lax.erfc(x * math.sqrt(0.5)) * 0.5, lax.erfc(turned * math.sqrt(0.5)) * 0.5
    value = jnp.where(above, 0.5 * (p + q) - p * q - integral, integral)
    value = jnp.where(size == jnp.inf, 0, jnp.where(known, value, jnp.nan))
    return jnp.where(a < 0, -value, jnp.where(jnp.isnan(a), jnp.nan, value))
