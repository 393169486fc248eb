"""NumPy kernels of special functions that SciPy lacks.

By Bessel's integral over angles t from 0 to pi (NIST Digital Library of Mathematical Functions,
10.32.1). Its derivatives have integrands of one sign, so that nothing cancels:

    I0(x)          is the mean of exp(x cos t)
    exp(-x) I0(x)  is the mean of exp(-x (1 - cos t)), for x from 0

The rule of midpoints converges exponentially, since the integrands are periodic. I1 is the
derivative of I0.

Those of `tenferro.ops.gamma_integrals` stand in for them there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
from scipy.special import digamma, gamma, gammaln, i0, i0e, i1, i1e, polygamma

from tenferro.ir import NumpyArray
from tenferro.ops import special
from tenferro.ops.gamma_integrals import (
    GammaLibrary,
    combinations,
    incomplete_gamma,
    log_beta,
    pochhammer,
)
from tenferro.ops.gamma_integrals import beta_density as density_of_beta
from tenferro.ops.gamma_integrals import digamma_step as step_of_digamma
from tenferro.ops.gamma_integrals import gamma_density as density_of_gamma
from tenferro.ops.gamma_integrals import polygamma_step as step_of_polygamma

# Derivatives of any order of modified Bessel functions, of the first kind and order 0 or 1.

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


def i1_slope(x: NumpyArray) -> NumpyArray:
    """The first derivative of I1, in which nothing cancels: I1(x)/x is between 0 and I0(x)/2."""
    return np.asarray(i0(x) - _over(i1(x), x))


def i0e_slope(x: NumpyArray) -> NumpyArray:
    """The first derivative of exp(-|x|) I0(x): by its functions, or by series where they cancel."""
    size = np.abs(x)
    slope = i1e(size) - i0e(size)
    if np.any(size >= _FAR):
        slope = np.where(size < _FAR, slope, -_asymptotic(np.asarray(1.0), size, _FEW_TERMS))
    return np.asarray(np.sign(x) * slope)


def i1e_slope(x: NumpyArray) -> NumpyArray:
    """The first derivative of exp(-|x|) I1(x), likewise."""
    size = np.abs(x)
    value = i1e(size)
    slope = i0e(size) - value - _over(value, size)
    if np.any(size >= _FAR):
        once, twice = (_asymptotic(np.asarray(n), size, _FEW_TERMS) for n in (1.0, 2.0))
        slope = np.where(size < _FAR, slope, twice - once)
    return np.asarray(slope)


def _over(value: NumpyArray, x: NumpyArray) -> NumpyArray:
    """I1(x)/x, or this times exp(-|x|)."""
    small = np.abs(x) < _SMALLEST
    return np.where(small, 0.5, value / np.where(small, 1.0, x))


def i0_derivative(n: NumpyArray, x: NumpyArray) -> NumpyArray:
    """The derivative of order n of I0; of order n - 1 of I1.

    Args:
        n: whole numbers, not negative.
        x: any numbers, of a shape that broadcasts with that of n.
    """
    with np.errstate(all="ignore"):
        return np.asarray(
            np.exp(np.abs(x)) * _mean(_wave, _QUARTER, n, np.clip(x, -_LARGEST, _LARGEST))
        )


def i0e_derivative(n: NumpyArray, x: NumpyArray) -> NumpyArray:
    """The derivative of order n of exp(-|x|) I0(x).

    At 0 it is the mean of the limits from either side: 0 for odd n.
    """
    return np.asarray(_sign(n, x) * _moment(n, np.abs(x)))


def i1e_derivative(n: NumpyArray, x: NumpyArray) -> NumpyArray:
    """The derivative of order n of exp(-|x|) I1(x).

    At 0 it is the mean of the limits from either side: 0 for even n.
    """
    size = np.abs(x)
    return np.asarray(_sign(n + 1, x) * (_moment(n + 1, size) - _moment(n, size)))


def _sign(n: NumpyArray, x: NumpyArray) -> NumpyArray:
    """(-sign(x))^n."""
    return np.where(n % 2 == 0, 1.0, -np.sign(x))


def _moment(n: NumpyArray, x: NumpyArray) -> NumpyArray:
    """The mean of (1 - cos t)^n exp(-x (1 - cos t)), for x from 0; NaN stays."""
    with np.errstate(all="ignore"):
        return np.where(
            x < _FAR, _mean(_decay, _HALF, n, np.minimum(x, _FAR)), _asymptotic(n, x, _TERMS)
        )


def _asymptotic(n: NumpyArray, x: NumpyArray, terms: int) -> NumpyArray:
    x = np.maximum(x, _FAR)
    total: NumpyArray = np.ones(np.broadcast_shapes(n.shape, x.shape))
    for j in reversed(range(terms)):
        total = 1 + total * ((n + (j + 0.5)) * (j + 0.5) / (2 * (j + 1) * x))
    return np.asarray(gamma(n + 0.5) / np.pi * x**-n / np.sqrt(2 * x) * total)


def _wave(n: NumpyArray, x: NumpyArray, angle: NumpyArray) -> NumpyArray:
    """The mean over t and pi - t of cos(t)^n exp(x cos t), over exp(|x|)."""
    cosine, size = np.cos(angle), np.abs(x)
    factor = np.where(n % 2 == 0, 1 + np.exp(-2 * size * cosine), -np.expm1(-2 * size * cosine))
    sign = np.where((n % 2 == 1) & (x < 0), -0.5, 0.5)
    return np.asarray(sign * factor * _power(n, size, np.log(cosine), angle))


def _decay(n: NumpyArray, x: NumpyArray, angle: NumpyArray) -> NumpyArray:
    return _power(n, x, np.log(2 * np.sin(angle / 2) ** 2), angle)


def _power(n: NumpyArray, x: NumpyArray, log: NumpyArray, angle: NumpyArray) -> NumpyArray:
    """exp(n log - x (1 - cos t))."""
    return np.asarray(np.exp(n * log - x * (2 * np.sin(angle / 2) ** 2)))


def _mean(
    f: Callable[[NumpyArray, NumpyArray, NumpyArray], NumpyArray],
    angles: NumpyArray,
    n: NumpyArray,
    x: NumpyArray,
) -> NumpyArray:
    """The mean of f(n, x, angle), a bounded number of elements at a time."""
    n, x = np.broadcast_arrays(n, x)
    result = np.empty(x.shape)
    places, orders, values = result.reshape(-1), n.reshape(-1, 1), x.reshape(-1, 1)
    for start in range(0, x.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        places[part] = np.mean(f(orders[part], values[part], angles), axis=1)
    return result


# Special functions on NumPy: SciPy's, mended where SciPy's lose digits or end too early.

_LIBRARY = GammaLibrary(np, gammaln, digamma, polygamma)
_LONG_SERIES = 1000.0
_LOSS = 1e-3
_LARGE_ORDER = 1e7
_PLACES_AT_ONCE = 1 << 10


def gammainc(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """P(a, x). SciPy's series of at most 2000 terms is too short far from a large a."""
    return _mended(scipy.special.gammainc(a, x), _is_far(a, x), _part(0), a, x)


def gammaincc(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """1 - P(a, x)."""
    return _mended(scipy.special.gammaincc(a, x), _is_far(a, x), _part(1), a, x)


def gammainc_grad_a(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """∂P(a, x)/∂a; NaN where P is not defined."""
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    edge = np.where((a > 0) & ((x == 0) | (x == np.inf)), 0.0, np.nan)
    return _mended(edge, inside, _part(2), a, x)


def gamma_density(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """∂P(a, x)/∂x; at x = 0 it is 0, 1 or infinite, as a is above, at or below 1."""
    inside = (a > 0) & (a < np.inf) & (x < np.inf)
    known = (a >= 0) & (x >= 0) & ~((a == np.inf) & (x == np.inf))
    edge = np.where(known, 0.0, np.nan)
    return _mended(edge, inside, lambda a, x: density_of_gamma(_LIBRARY, a, x), a, x)


def beta_density(a: NumpyArray, b: NumpyArray, x: NumpyArray) -> NumpyArray:
    """∂I(a, b, x)/∂x."""
    inside = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf)
    edge = np.full(x.shape, np.nan)
    return _mended(edge, inside, lambda *v: density_of_beta(_LIBRARY, *v), a, b, x)


def poch(z: NumpyArray, m: NumpyArray) -> NumpyArray:
    """Γ(z + m)/Γ(z). SciPy's takes the difference of large logarithms."""
    large = (np.abs(z) > _LONG_SERIES) | (np.abs(m) > _LONG_SERIES)
    return _mended(
        scipy.special.poch(z, m),
        large | np.isnan(z + m),
        lambda z, m: pochhammer(_LIBRARY, z, m),
        z,
        m,
    )


def betaln(a: NumpyArray, b: NumpyArray) -> NumpyArray:
    """log |B(a, b)|. SciPy's takes the difference of large logarithms at negative operands."""
    negative = (np.minimum(a, b) < 0) & np.isfinite(a) & np.isfinite(b)
    value = scipy.special.betaln(a, b)
    value = np.where(
        (a > 0) & (b > 0) & np.isinf(a + b) & (np.minimum(a, b) < np.inf), -np.inf, value
    )
    value = np.where(np.isnan(a + b), np.nan, value)
    return _mended(value, negative, lambda a, b: log_beta(_LIBRARY, a, b), a, b)


def comb(n: NumpyArray, k: NumpyArray) -> NumpyArray:
    """In how many ways k of n things can be taken. SciPy's is 0 for NaN."""
    value = scipy.special.comb(n, k)
    value = np.where((n == np.inf) & (k > 0) & (k < np.inf), np.inf, value)
    value = np.where(np.isnan(n) | np.isnan(k), np.nan, value)
    large = (n > 1000) & (n < np.inf) & (k >= 0) & (k <= n) & (k != np.floor(k))
    large = large | ((n > 1000) & (n < np.inf) & (k >= 20) & (k <= n))
    return _mended(value, large, lambda n, k: combinations(_LIBRARY, n, k), n, k)


def digamma_step(x: NumpyArray, d: NumpyArray) -> NumpyArray:
    """digamma(x + d) - digamma(x)."""
    n = x + d
    with np.errstate(all="ignore"):
        start = digamma(x)
        value = digamma(n) - start
        lost = ~(np.abs(value) > _LOSS * np.abs(start)) | (np.minimum(x, n) < 0)
    return _mended(value, lost, lambda *v: step_of_digamma(_LIBRARY, *v), x, d)


def polygamma_step(n: NumpyArray, x: NumpyArray, d: NumpyArray) -> NumpyArray:
    """polygamma(n, x + d) - polygamma(n, x) for n from 1."""
    return np.asarray(step_of_polygamma(_LIBRARY, n, x, d))


def zeta(s: NumpyArray, q: NumpyArray) -> NumpyArray:
    """Hurwitz's zeta function. SciPy's coefficients overflow where s is huge."""
    value = scipy.special.zeta(s, q)
    with np.errstate(all="ignore"):
        steep = np.isnan(value) & (s > 1e6) & (q > 0)
        value = np.where(steep, np.power(np.where(steep, q, 1.0), -s), value)
    return np.where(np.isnan(s) | np.isnan(q), np.nan, value)


def expn(n: NumpyArray, x: NumpyArray) -> NumpyArray:
    """The exponential integral of order n; NaN for orders that are not whole, which SciPy cuts."""
    whole = (n >= 0) & (n == np.floor(n))
    large = n > _LARGE_ORDER
    if whole.all() and not large.any():
        return np.asarray(scipy.special.expn(n.astype(int), x))
    with np.errstate(all="ignore"):
        total = x + n  # NIST, 8.20.6
        far = np.where(x >= 0, np.exp(-x) / total * (1 + n / (total * total)), np.nan)
    value = np.where(large, far, scipy.special.expn(np.where(large | ~whole, 1, n).astype(int), x))
    return np.where(whole, np.where(n == np.inf, np.where(x >= 0, 0, np.nan), value), np.nan)


def bessel_j(n: NumpyArray, x: NumpyArray) -> NumpyArray:
    """Jₙ(x); NaN for orders that are not whole, as on XLA."""
    value = np.where(np.isinf(x), 0.0, scipy.special.jv(np.where(_is_order(n), n, 0), x))
    return np.where(_is_order(n), value, np.nan)


def bessel_y(n: NumpyArray, x: NumpyArray) -> NumpyArray:
    """Yₙ(x); NaN for orders that are not whole, as on XLA."""
    value = np.where(x == np.inf, 0.0, scipy.special.yv(np.where(_is_order(n), n, 0), x))
    return np.where(_is_order(n), value, np.nan)


def _is_order(n: NumpyArray) -> NumpyArray:
    return np.asarray((n == np.floor(n)) & (np.abs(n) <= 1e6))


def hyp1f1(a: NumpyArray, b: NumpyArray, x: NumpyArray) -> NumpyArray:
    """The confluent hypergeometric function, 1 where a is 0. SciPy's does not end at infinity."""
    return _of_finite(lambda *v: np.where(v[0] == 0, 1.0, scipy.special.hyp1f1(*v)), a, b, x)


def hyp2f1(a: NumpyArray, b: NumpyArray, c: NumpyArray, x: NumpyArray) -> NumpyArray:
    """Gauss's hypergeometric function. SciPy's ends in several ways where it has poles."""
    return _of_finite(_hyp2f1, a, b, c, x)


def _hyp2f1(a: NumpyArray, b: NumpyArray, c: NumpyArray, x: NumpyArray) -> NumpyArray:
    pole = _is_pole(c)
    ends = (_is_pole(a) & ~(pole & (a <= c))) | (_is_pole(b) & ~(pole & (b <= c)))
    power = np.where((a == c) | (b == c), (1 - x) ** -np.where(b == c, a, b), np.inf)
    value = np.where((x > 1) & ~ends, power, scipy.special.hyp2f1(a, b, c, x))
    value = np.where(pole & ~ends, np.inf, value)
    return np.where((a == 0) | (b == 0) | (x == 0), 1.0, value)


def _is_pole(x: NumpyArray) -> NumpyArray:
    return np.asarray((x <= 0) & (x == np.floor(x)))


def _of_finite(function: Callable[..., Any], *operands: NumpyArray) -> NumpyArray:
    """A function of finite operands, and NaN for others."""
    finite = np.logical_and.reduce([np.isfinite(x) for x in operands])
    with np.errstate(all="ignore"):
        value = function(*(np.where(finite, x, 1.0) for x in operands))
    return np.where(finite, value, np.nan)


def fresnel(x: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """SciPy's, with the limit for large x, where it is NaN."""
    sine, cosine = scipy.special.fresnel(x)
    limit = np.copysign(0.5, x)
    far = np.abs(x) > 1e100
    return np.where(far, limit, sine), np.where(far, limit, cosine)


def _on_numpy(slope: Callable[..., Any]) -> Callable[..., NumpyArray]:
    """A formula of `slopes` on NumPy arrays."""
    return lambda *operands: np.asarray(slope(*operands, np, scipy.special))


dawsn_slope = _on_numpy(special.dawsn_slope)
erfcx_slope = _on_numpy(special.erfcx_slope)
log_ndtr_slope = _on_numpy(special.log_ndtr_slope)
spence_slope = _on_numpy(special.spence_slope)


def _is_far(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    finite = np.isfinite(a) & np.isfinite(x) & (x > 0)
    return np.asarray(finite & (a > _LONG_SERIES) & (np.abs(x - a) > 4.4 * np.sqrt(a)))


def _part(i: int) -> Callable[..., NumpyArray]:
    def part(a: NumpyArray, x: NumpyArray) -> NumpyArray:
        return np.asarray(incomplete_gamma(_LIBRARY, a, x)[i])

    return part


def _mended(
    value: NumpyArray, wrong: NumpyArray, function: Callable[..., NumpyArray], *operands: NumpyArray
) -> NumpyArray:
    """The value, with that of another function at some places."""
    places = np.flatnonzero(wrong)
    if not places.size:
        return value
    result = np.array(value)
    flat, values = result.reshape(-1), [x.reshape(-1) for x in operands]
    with np.errstate(all="ignore"):
        for start in range(
            0, places.size, _PLACES_AT_ONCE
        ):  # an integral takes 36 numbers for each
            part = places[start : start + _PLACES_AT_ONCE]
            flat[part] = function(*(x[part] for x in values))
    return result
