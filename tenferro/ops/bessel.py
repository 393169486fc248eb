"""Derivatives of any order of modified Bessel functions, of the first kind and order 0 or 1.

By Bessel's integral over angles t from 0 to pi (NIST Digital Library of Mathematical Functions,
10.32.1). Its derivatives have integrands of one sign, so that nothing cancels:

    I0(x)          is the mean of exp(x cos t)
    exp(-x) I0(x)  is the mean of exp(-x (1 - cos t)), for x from 0

The rule of midpoints converges exponentially, since the integrands are periodic. I1 is the
derivative of I0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gamma, i0, i0e, i1, i1e

from tenferro.exec_ir import Array

_QUARTER = (np.arange(64) + 0.5) * (np.pi / 128)
"""Angles from 0 to pi/2, enough for I0 as far as double precision reaches."""
_HALF = _QUARTER * 2
"""Angles from 0 to pi, enough for exp(-x) I0(x) up to `_FAR`."""
_FAR = 64.0
"""From here on asymptotic series of `_TERMS` terms serve (NIST, 13.7.2)."""
_TERMS = 30
_FEW_TERMS = 14
"""They serve for first derivatives."""
_LARGEST = 1000.0
"""I0 overflows below."""
_SMALLEST = 1e-290
"""I1(x)/x is 1/2 below."""
_CHUNK = 1 << 12


def i1_slope(x: Array) -> Array:
    """The first derivative of I1, in which nothing cancels: I1(x)/x is between 0 and I0(x)/2."""
    return np.asarray(i0(x) - _over(i1(x), x))


def i0e_slope(x: Array) -> Array:
    """The first derivative of exp(-|x|) I0(x): by its functions, or by series where they cancel."""
    size = np.abs(x)
    slope = i1e(size) - i0e(size)
    if np.any(size >= _FAR):
        slope = np.where(size < _FAR, slope, -_asymptotic(np.asarray(1.0), size, _FEW_TERMS))
    return np.asarray(np.sign(x) * slope)


def i1e_slope(x: Array) -> Array:
    """The first derivative of exp(-|x|) I1(x), likewise."""
    size = np.abs(x)
    value = i1e(size)
    slope = i0e(size) - value - _over(value, size)
    if np.any(size >= _FAR):
        once, twice = (_asymptotic(np.asarray(n), size, _FEW_TERMS) for n in (1.0, 2.0))
        slope = np.where(size < _FAR, slope, twice - once)
    return np.asarray(slope)


def _over(value: Array, x: Array) -> Array:
    """I1(x)/x, or this times exp(-|x|)."""
    small = np.abs(x) < _SMALLEST
    return np.where(small, 0.5, value / np.where(small, 1.0, x))


def i0_derivative(n: Array, x: Array) -> Array:
    """The derivative of order n of I0; of order n - 1 of I1.

    Args:
        n: whole numbers, not negative.
        x: any numbers, of a shape that broadcasts with that of n.
    """
    with np.errstate(all="ignore"):
        return np.asarray(
            np.exp(np.abs(x)) * _mean(_wave, _QUARTER, n, np.clip(x, -_LARGEST, _LARGEST))
        )


def i0e_derivative(n: Array, x: Array) -> Array:
    """The derivative of order n of exp(-|x|) I0(x).

    At 0 it is the mean of the limits from either side: 0 for odd n.
    """
    return np.asarray(_sign(n, x) * _moment(n, np.abs(x)))


def i1e_derivative(n: Array, x: Array) -> Array:
    """The derivative of order n of exp(-|x|) I1(x).

    At 0 it is the mean of the limits from either side: 0 for even n.
    """
    size = np.abs(x)
    return np.asarray(_sign(n + 1, x) * (_moment(n + 1, size) - _moment(n, size)))


def _sign(n: Array, x: Array) -> Array:
    """(-sign(x))^n."""
    return np.where(n % 2 == 0, 1.0, -np.sign(x))


def _moment(n: Array, x: Array) -> Array:
    """The mean of (1 - cos t)^n exp(-x (1 - cos t)), for x from 0; NaN stays."""
    with np.errstate(all="ignore"):
        return np.where(
            x < _FAR, _mean(_decay, _HALF, n, np.minimum(x, _FAR)), _asymptotic(n, x, _TERMS)
        )


def _asymptotic(n: Array, x: Array, terms: int) -> Array:
    x = np.maximum(x, _FAR)
    total: Array = np.ones(np.broadcast_shapes(n.shape, x.shape))
    for j in reversed(range(terms)):
        total = 1 + total * ((n + (j + 0.5)) * (j + 0.5) / (2 * (j + 1) * x))
    return np.asarray(gamma(n + 0.5) / np.pi * x**-n / np.sqrt(2 * x) * total)


def _wave(n: Array, x: Array, angle: Array) -> Array:
    """The mean over t and pi - t of cos(t)^n exp(x cos t), over exp(|x|)."""
    cosine, size = np.cos(angle), np.abs(x)
    factor = np.where(n % 2 == 0, 1 + np.exp(-2 * size * cosine), -np.expm1(-2 * size * cosine))
    sign = np.where((n % 2 == 1) & (x < 0), -0.5, 0.5)
    return np.asarray(sign * factor * _power(n, size, np.log(cosine), angle))


def _decay(n: Array, x: Array, angle: Array) -> Array:
    return _power(n, x, np.log(2 * np.sin(angle / 2) ** 2), angle)


def _power(n: Array, x: Array, log: Array, angle: Array) -> Array:
    """exp(n log - x (1 - cos t))."""
    return np.asarray(np.exp(n * log - x * (2 * np.sin(angle / 2) ** 2)))


def _mean(f: Callable[[Array, Array, Array], Array], angles: Array, n: Array, x: Array) -> Array:
    """The mean of f(n, x, angle), a bounded number of elements at a time."""
    n, x = np.broadcast_arrays(n, x)
    result = np.empty(x.shape)
    places, orders, values = result.reshape(-1), n.reshape(-1, 1), x.reshape(-1, 1)
    for start in range(0, x.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        places[part] = np.mean(f(orders[part], values[part], angles), axis=1)
    return result
