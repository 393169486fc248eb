"""Functions of the normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
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
