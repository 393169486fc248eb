"""Exponential integrals in loops of a fixed length, which end whatever the operands are."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

_EULER = 0.57721566490153286061
_FRACTION = 120
_SERIES = 24
_POWERS = 140
_ASYMPTOTIC = 36
"""Numbers of terms that give double precision: from 1 on, up to 1, up to 40, and beyond."""


def expn(n: Array, x: Array) -> Array:
    """The integral of exp(-xt)/tⁿ from t = 1 on; NaN for negative x and orders not whole."""
    whole = (n >= 0) & (n == jnp.floor(n))
    inside = whole & (n < jnp.inf) & (x > 0) & (x < jnp.inf)
    k, y = jnp.where(inside, n, 1), jnp.where(inside, x, 1)
    value = jnp.where(y > 1, _fraction(k, y), _series(k, jnp.minimum(y, 1)))
    value = jnp.where(k == 0, jnp.exp(-y) / y, value)
    ends = jnp.where(x == 0, jnp.where(n > 1, 1 / (n - 1), jnp.inf), 0)
    return jnp.where(inside, value, jnp.where(whole & (x >= 0), ends, jnp.nan))


def exp1(x: Array) -> Array:
    """The integral of exp(-t)/t from x on."""
    return expn(jnp.ones_like(x), x)


def expi(x: Array) -> Array:
    """The principal value of the integral of exp(t)/t up to x."""
    y = jnp.where(x > 0, x, 1)
    near, far = jnp.minimum(y, 40), jnp.clip(y, 40, 800)

    def power(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        term, total = state
        term = term * near / k
        return term, total + term / k

    def inverse(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        term, total = state
        term = term * k / far
        return term, total + term

    one, zero = jnp.ones_like(y), jnp.zeros_like(y)
    _, series = lax.fori_loop(1, _POWERS, power, (one, zero))
    _, inverses = lax.fori_loop(1, _ASYMPTOTIC, inverse, (one, one))
    value = jnp.where(
        y <= 40, _EULER + jnp.log(near) + series, jnp.exp(jnp.minimum(y, 800)) / far * inverses
    )
    value = jnp.where(x > 0, value, -exp1(-x))
    return jnp.where(jnp.isnan(x), jnp.nan, value)


def _fraction(n: Array, x: Array) -> Array:
    """A continued fraction, from its far end."""

    def level(i: Array, tail: Array) -> Array:
        k = _FRACTION - i
        return x + n + 2 * k - 2 - k * (n + k - 1) / tail

    tail: Array = lax.fori_loop(0, _FRACTION, level, x + n + 2 * _FRACTION)
    return jnp.exp(-x) / tail


def _series(n: Array, x: Array) -> Array:
    """The power series, in which the term of degree n - 1 has a logarithm."""

    def add(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        power, total = state
        logarithm = lax.digamma(jnp.maximum(n, 1)) - jnp.log(x)
        degree = k - (n - 1)
        at_degree = jnp.where(degree == 0, logarithm, -1 / jnp.where(degree == 0, 1, degree))
        return power * -x / (k + 1), total + power * at_degree

    # Orders so high that no term of the loop has the logarithm: it is below rounding.
    total: Array
    _, total = lax.fori_loop(0, _SERIES, add, (jnp.ones_like(x), jnp.zeros_like(x)))
    return total
