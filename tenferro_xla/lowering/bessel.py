"""Bessel functions of whole orders, which `jax.scipy` does not have.

Up to 25, and where the order is above the argument, by the recurrence from a high order down, which
keeps all digits; elsewhere by Hankel's series and the recurrence up (NIST Digital Library of
Mathematical Functions, 10.6, 10.8, 10.12, 10.17, 10.74).
"""

from __future__ import annotations

import math

from jax import Array, lax
from jax import numpy as jnp

_EULER = 0.57721566490153286061
_FAR, _TERMS = 25.0, 20
_TINY = 1e-6
"""Below, the first terms of power series serve."""
_LARGEST_ORDER = 1e6
_HUGE = 1e100


def bessel_j(n: Array, x: Array) -> Array:
    """Jₙ(x); NaN for orders that are not whole, or beyond a million."""
    size, order = jnp.abs(x), jnp.abs(n)
    known = (order == jnp.floor(order)) & (order <= _LARGEST_ORDER) & ~jnp.isnan(x)
    m, y = jnp.where(known, order, 0), jnp.where(known & (size < jnp.inf), size, 1)
    up = (y > _FAR) & (m <= y)
    tiny = y < _TINY
    down = ~(up | tiny)
    value = jnp.where(up, _climbed(m, y, up, *_hankel(y)[:2]), 0)
    value = jnp.where(down, _descended(jnp.where(down, m, 0), jnp.where(down, y, 1))[0], value)
    half = jnp.where(tiny, y, 1) / 2
    leading = jnp.where(m == 0, 1, jnp.exp(m * jnp.log(jnp.maximum(half, 1e-308))
                                           - lax.lgamma(m + 1)))  # fmt: skip
    leading = jnp.where((y == 0) & (m > 0), 0, leading)
    value = jnp.where(tiny, leading * (1 - half * half / (m + 1)), value)
    value = jnp.where(size == jnp.inf, 0, value)
    odd = m % 2 == 1
    return jnp.where(known, jnp.where(odd & ((x < 0) != (n < 0)), -value, value), jnp.nan)


def bessel_y(n: Array, x: Array) -> Array:
    """Yₙ(x); NaN for negative x, and for orders that are not whole or beyond a million."""
    order = jnp.abs(n)
    known = (order == jnp.floor(order)) & (order <= _LARGEST_ORDER) & (x >= 0)
    inside = known & (x > 0) & (x < jnp.inf)
    m, y = jnp.where(inside, order, 0), jnp.where(inside, x, 1)
    near = jnp.clip(y, _TINY, _FAR)
    _, j0, j1, even, odd = _descended(jnp.zeros_like(near), near)
    log = jnp.log(near / 2) + _EULER
    first = 2 / math.pi * log * j0 - 4 / math.pi * even
    second = -2 / (math.pi * near) * j0 + 2 / math.pi * (log - 1) * j1 - 2 / math.pi * odd
    _, _, far_0, far_1 = _hankel(y)
    first, second = jnp.where(y > _FAR, far_0, first), jnp.where(y > _FAR, far_1, second)
    tiny = y < _TINY
    first = jnp.where(tiny, 2 / math.pi * (jnp.log(y) - math.log(2) + _EULER), first)
    second = jnp.where(tiny, -2 / (math.pi * y), second)
    value = _climbed(m, y, inside, first, second)
    value = jnp.where(x == 0, -jnp.inf, jnp.where(inside, value, 0))
    return jnp.where(known, jnp.where((order % 2 == 1) & (n < 0), -value, value), jnp.nan)


def _climbed(m: Array, x: Array, where: Array, first: Array, second: Array) -> Array:
    """The solution of the recurrence at order m, from those at 0 and 1."""
    last = jnp.max(jnp.where(where, m, 0), initial=0)

    def up(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        below, value = state
        climbs = (k < m) & jnp.isfinite(value)  # what has overflowed stays infinite
        return jnp.where(climbs, value, below), jnp.where(climbs, 2 * k / x * value - below, value)

    _, value = lax.fori_loop(1, last.astype(int), up, (first, second))
    return jnp.where(m == 0, first, value)


def _descended(m: Array, x: Array) -> tuple[Array, ...]:
    """Jₘ, J₀, J₁, and the sums of J of even and odd orders of which Y₀ and Y₁ consist."""
    top = jnp.max(jnp.maximum(m, x), initial=0)
    start = (top + 12 * jnp.cbrt(top) + 20).astype(int)

    def down(step: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        k = start - step  # the order of `value`
        above, value, total, found, even, odd = state
        found = jnp.where(m == k, value, found)
        is_even, half = k % 2 == 0, k // 2
        sign = jnp.where(half % 2 == 0, 1, -1)
        total = total + jnp.where(is_even, 2, 0) * value
        even = even + jnp.where(is_even, sign / jnp.maximum(half, 1), 0) * value
        weight = sign * (2 * half + 1) / jnp.maximum(half * (half + 1), 1)
        odd = odd + jnp.where(is_even | (half == 0), 0, weight) * value
        below = 2 * k / x * value - above
        scale = jnp.where(jnp.abs(below) > _HUGE, 1 / _HUGE, 1)
        parts = (value, below, total, found, even, odd)
        return tuple(part * scale for part in parts)

    none = jnp.zeros_like(x)
    state = (none, jnp.full_like(x, 1e-100), none, none, none, none)
    above, value, total, found, even, odd = lax.fori_loop(0, start, down, state)
    found = jnp.where(m == 0, value, found)
    return tuple(part / (total + value) for part in (found, value, above, even, odd))


def _hankel(x: Array) -> tuple[Array, Array, Array, Array]:
    """J₀, J₁, Y₀ and Y₁ far from 0."""
    y = jnp.maximum(x, _FAR)
    sine, cosine = jnp.sin(y), jnp.cos(y)
    along, across = (cosine + sine) / math.sqrt(2), (sine - cosine) / math.sqrt(2)
    size = jnp.sqrt(2 / math.pi) / jnp.sqrt(y)
    p, q = _asymptotic(0, y)
    r, s = _asymptotic(1, y)
    return (
        size * (p * along - q * across),
        size * (r * across + s * along),
        size * (p * across + q * along),
        size * (s * across - r * along),
    )


def _asymptotic(order: int, x: Array) -> tuple[Array, Array]:
    coefficients = [1.0]
    for k in range(1, 2 * _TERMS):
        coefficients.append(coefficients[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    inverse = 1 / x
    minus = -inverse * inverse
    even = odd = jnp.zeros_like(x)
    for k in reversed(range(_TERMS)):
        even = even * minus + coefficients[2 * k]
        odd = odd * minus + coefficients[2 * k + 1]
    return even, odd * inverse
