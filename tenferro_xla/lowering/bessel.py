"""Derivatives of modified Bessel functions, by the formulas of `tenferro.ops.bessel`."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

_QUARTER = (np.arange(64) + 0.5) * (np.pi / 128)
_HALF = _QUARTER * 2
_FAR, _TERMS, _FEW_TERMS, _LARGEST = 64.0, 30, 14, 1000.0
"""Angles and limits, as there."""


def i0(x: Array) -> Array:
    """The modified Bessel function of order 0."""
    return jnp.exp(jnp.abs(x)) * lax.bessel_i0e(x)


def i1(x: Array) -> Array:
    """The modified Bessel function of order 1."""
    return jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x)


def i1_slope(x: Array) -> Array:
    """The first derivative of I1."""
    return jnp.exp(jnp.abs(x)) * (lax.bessel_i0e(x) - _i1e_over(x))


def i0e_slope(x: Array) -> Array:
    """The first derivative of exp(-|x|) I0(x)."""
    size = jnp.abs(x)
    near = lax.bessel_i0e(size) - lax.bessel_i1e(size)
    far = _asymptotic(jnp.ones_like(x), jnp.maximum(size, _FAR), _FEW_TERMS)
    return -jnp.sign(x) * jnp.where(size < _FAR, near, far)


def i1e_slope(x: Array) -> Array:
    """The first derivative of exp(-|x|) I1(x)."""
    size = jnp.abs(x)
    near = lax.bessel_i0e(size) - lax.bessel_i1e(size) - _i1e_over(size)
    once, twice = (
        _asymptotic(jnp.full_like(x, n), jnp.maximum(size, _FAR), _FEW_TERMS) for n in (1, 2)
    )
    return jnp.where(size < _FAR, near, twice - once)


def _i1e_over(x: Array) -> Array:
    """exp(-|x|) I1(x)/x."""
    small = jnp.abs(x) < 2 * float(np.finfo(x.dtype).tiny) / float(np.finfo(x.dtype).eps)
    return jnp.where(small, 0.5, lax.bessel_i1e(x) / jnp.where(small, 1, x))


def i0_derivative(n: Array, x: Array) -> Array:
    """The derivative of order n of I0."""
    n, size = n[..., None], jnp.minimum(jnp.abs(x), _LARGEST)[..., None]
    double = -2 * size * _table(np.cos(_QUARTER), x)
    factor = jnp.where(n % 2 == 0, 1 + jnp.exp(double), -jnp.expm1(double))
    sign = jnp.where((n[..., 0] % 2 == 1) & (x < 0), -0.5, 0.5)
    power = _power(n, size, np.log(np.cos(_QUARTER)), _QUARTER)
    return sign * jnp.exp(jnp.abs(x)) * jnp.mean(factor * power, axis=-1)


def i0e_derivative(n: Array, x: Array) -> Array:
    """The derivative of order n of exp(-|x|) I0(x)."""
    return _sign(n, x) * _moment(n, jnp.abs(x))


def i1e_derivative(n: Array, x: Array) -> Array:
    """The derivative of order n of exp(-|x|) I1(x)."""
    size = jnp.abs(x)
    return _sign(n + 1, x) * (_moment(n + 1, size) - _moment(n, size))


def _sign(n: Array, x: Array) -> Array:
    """(-sign(x))^n."""
    return jnp.where(n % 2 == 0, jnp.ones_like(x), -jnp.sign(x))


def _moment(n: Array, x: Array) -> Array:
    log = np.log(2 * np.sin(_HALF / 2) ** 2)
    near = jnp.mean(_power(n[..., None], jnp.minimum(x, _FAR)[..., None], log, _HALF), axis=-1)
    return jnp.where(x < _FAR, near, _asymptotic(n, jnp.maximum(x, _FAR), _TERMS))


def _asymptotic(n: Array, x: Array, terms: int) -> Array:
    total = jnp.ones_like(x)
    for j in reversed(range(terms)):
        total = 1 + total * ((n + (j + 0.5)) * ((j + 0.5) / (2 * (j + 1))) / x)
    head = jnp.exp(lax.lgamma(n + 0.5)) / np.pi * x**-n
    return head / jnp.sqrt(2 * x) * total


def _power(n: Array, x: Array, log: np.ndarray, angle: np.ndarray) -> Array:
    return jnp.exp(n * _table(log, x) - x * _table(2 * np.sin(angle / 2) ** 2, x))


def _table(values: np.ndarray, x: Array) -> Array:
    return jnp.asarray(values, x.dtype)
