"""Incomplete gamma and beta functions, on arrays of NumPy or JAX, in a fixed number of steps.

With t = x·exp(±u), each is its density times the integral from 0 of a function of u that starts at
1, decreases, and has a concave logarithm, on the side of the mean where the function is below about
one half; the other side is the complement. Nothing in it cancels, for operands of any size, and
Gauss's rule with few nodes gives double precision, since the function is analytic. The densities
are those of C. Loader, "Fast and accurate computation of binomial probabilities" (2000): by
deviances and by the error of Stirling's formula, without differences of large logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

__all__ = [
    "GammaLibrary",
    "beta_density",
    "combinations",
    "digamma_step",
    "gamma_density",
    "incomplete_beta",
    "incomplete_gamma",
    "log_beta",
    "pochhammer",
    "polygamma_step",
]

_RAISED = 4
"""Parameters of the beta function are increased to at least this, by its recurrence."""
_NEAR = 0.03
"""Below it, functions of u are computed by their series."""
_SERIES = 20
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_EULER = 0.57721566490153286061
_ZETA_MINUS_1 = (
    0.6449340668482264365, 0.2020569031595942854, 0.08232323371113819152,
    0.03692775514336992633, 0.01734306198444913971, 0.00834927738192282684,
    0.004077356197944339379, 0.002008392826082214418, 0.0009945751278180853371,
    0.0004941886041194645587, 0.0002460865533080482986, 0.0001227133475784891468,
    6.124813505870482926e-5, 3.058823630702049355e-5, 1.528225940865187173e-5,
    7.637197637899762274e-6, 3.817293264999839856e-6, 1.908212716553938926e-6,
    9.539620338727961132e-7, 4.769329867878064631e-7, 2.3845050272773299e-7,
    1.192199259653110731e-7, 5.960818905125947961e-8, 2.980350351465228019e-8,
    1.490155482836504123e-8, 7.450711789835429492e-9,
)  # fmt: skip
"""ζ(n) - 1 from n = 2 on."""


@dataclass(frozen=True)
class GammaLibrary:
    """Array functions of NumPy or JAX, and how exact results are to be.

    Attributes:
        xp: the functions of NumPy.
        lgamma, digamma, polygamma: functions that are not in `xp`.
        span: the integrals end where their functions are below exp(-span).
        nodes, panel_nodes: numbers of nodes of an integral, and of each of two panels of one.
    """

    xp: Any
    lgamma: Callable[[Any], Any]
    digamma: Callable[[Any], Any]
    polygamma: Callable[[Any, Any], Any]
    span: float = 40.0
    nodes: int = 36
    panel_nodes: int = 24


def stirling_error(lib: GammaLibrary, z: Any) -> Any:
    """What Stirling's formula lacks of log Γ(z), for positive z."""
    xp = lib.xp
    far, near = xp.maximum(z, 10.0), xp.minimum(z, 10.0)
    square = far * far
    total = 0.0
    for coefficient in (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        total = total / square + coefficient
    direct = lib.lgamma(near) - (near - 0.5) * xp.log(near) + near - _HALF_LOG_2PI
    return xp.where(z < 10, direct, total / far)


def deviance(lib: GammaLibrary, a: Any, m: Any, ratio: Any, difference: Any) -> Any:
    """a·log(a/m) + m - a, which is not negative; `ratio` is m/a and `difference` m - a."""
    xp = lib.xp
    relative = difference / a
    near = xp.abs(relative) < 0.3
    close = xp.where(near, relative, 0.0)
    r = close / (2 + close)
    square, total = r * r, 0.0
    for k in range(25, 1, -2):
        total = total * square + 1 / k
    plain = (ratio > 1e-300) & (ratio < 1e300)
    log = xp.where(plain, xp.log(xp.where(plain, ratio, 1.0)), xp.log(m) - xp.log(a))
    return xp.where(near, a * (close * r - 2 * r * square * total), difference - a * log)


def log_gamma_of_one_plus(lib: GammaLibrary, a: Any) -> Any:
    """log Γ(1 + a) for a from 0 to 1, accurate near 0."""
    xp = lib.xp
    small, total = xp.minimum(a, 0.5), 0.0
    for n, coefficient in reversed(list(enumerate(_ZETA_MINUS_1, 2))):
        total = coefficient / n - total * small
    series = small * ((1 - _EULER) + total * small) - xp.log1p(small)
    return xp.where(a < 0.5, series, lib.lgamma(1 + a))


def incomplete_gamma(lib: GammaLibrary, a: Any, x: Any) -> tuple[Any, Any, Any]:
    """P(a, x), 1 - P(a, x) and ∂P/∂a, for positive and finite operands in double precision."""
    xp = lib.xp
    small = (a < 1) & (x < 1)
    low_p, low_q, low_slope = _small_gamma(lib, xp.where(small, a, 0.5), xp.where(small, x, 0.5))
    a, x = xp.where(small, 1.0, a), xp.where(small, 1.0, x)
    above = x >= a
    difference = x - a
    log_density = 0.5 * xp.log(a) - _HALF_LOG_2PI - stirling_error(lib, a)
    density = xp.exp(log_density - deviance(lib, a, x, x / a, difference))
    area, moment = _gamma_integral(lib, a, x, above)
    side = density * area
    # ∂/∂a of the density's logarithm, log(x) - digamma(a), without cancellation of the logarithms.
    far = a >= 10
    large = xp.where(far, a, 10.0)
    square, total = large * large, 0.0
    for coefficient in (1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        total = total / square + coefficient
    relative = difference / large
    wide = (relative < -0.5) | (relative > 1)
    log = (
        xp.where(wide, xp.log(x) - xp.log(large), xp.log1p(xp.where(wide, 0.0, relative)))
        + (0.5 + total / large) / large
    )
    score = xp.where(far, log, xp.log(x) - lib.digamma(xp.minimum(a, 10.0)))
    slope = xp.where(above, -side * score - density * moment, side * score - density * moment)
    p, q = xp.where(above, 1 - side, side), xp.where(above, side, 1 - side)
    return (xp.where(small, low_p, p), xp.where(small, low_q, q), xp.where(small, low_slope, slope))


def _gamma_integral(lib: GammaLibrary, a: Any, x: Any, above: Any) -> tuple[Any, Any]:
    """The integral of exp(-|x - a|·u - x·h(±u)), h(u) = exp(u) - 1 - u, and that of u times it."""
    xp = lib.xp
    gap = xp.abs(x - a)
    right = 2 * lib.span / (gap + xp.hypot(gap, xp.sqrt(2 * lib.span) * xp.sqrt(x)))
    right = xp.minimum(right, xp.log1p((lib.span + xp.minimum(a, x) * right) / x))
    left = _end_of_decay(lib, gap, a)
    end = xp.where(above, right, left)
    sign = xp.where(above, 1.0, -1.0)
    nodes, weights = _rule(lib.nodes, np.ndim(end))
    u = end * nodes
    f = weights * xp.exp(-gap * u - x * _exponential_remainder(lib, sign * u))
    return end * xp.sum(f, axis=0), end * xp.sum(f * u, axis=0)


def _end_of_decay(lib: GammaLibrary, gap: Any, total: Any) -> Any:
    """A u with gap·u + (total - gap)·u²/(2 + u) = `lib.span`, the root of a quadratic equation."""
    xp = lib.xp
    shift = 2 * gap - lib.span
    root = xp.hypot(shift, xp.sqrt(8 * lib.span) * xp.sqrt(total))
    far = shift > 0
    return xp.where(
        far, 4 * lib.span / (xp.where(far, shift, 0.0) + root), (root - shift) / (2 * total)
    )


def _exponential_remainder(lib: GammaLibrary, u: Any) -> Any:
    """exp(u) - 1 - u."""
    xp = lib.xp
    near = xp.abs(u) < _NEAR
    v, total = xp.where(near, u, 0.0), 1.0
    for k in range(8, 2, -1):
        total = 1 + total * v / k
    return xp.where(near, v * v * 0.5 * total, xp.expm1(u) - u)


def _small_gamma(lib: GammaLibrary, a: Any, x: Any) -> tuple[Any, Any, Any]:
    """By power series, for operands below 1. (NIST Digital Library of Functions, 8.7.1 and 8.7.3.)

    In 1 - P, the terms of order 0 in `a` are taken together by expm1.
    """
    xp = lib.xp
    total, slope, alternating = 1.0, 0.0, 0.0
    for k in range(_SERIES, 0, -1):
        ratio = x / (a + k)
        slope = ratio * (slope - total / (a + k))
        total = 1 + ratio * total
        alternating = -x / k * (1 / (a + k) + alternating)
    log_x = xp.log(x)
    exponent = a * log_x - log_gamma_of_one_plus(lib, a)
    head = xp.exp(exponent - x)
    p = head * total
    q = -xp.expm1(exponent) - xp.exp(exponent) * a * alternating
    return p, q, p * (log_x - lib.digamma(1 + a)) + head * slope


def gamma_density(lib: GammaLibrary, a: Any, x: Any) -> Any:
    """x^(a - 1)·exp(-x)/Γ(a) for positive finite a, and x from 0."""
    xp = lib.xp
    positive = xp.where(x > 0, x, 1.0)
    exponent = deviance(lib, a, positive, positive / a, positive - a) + stirling_error(lib, a)
    # Small a and x: the root of a over x would overflow alone.
    density = xp.exp(0.5 * xp.log(a) - xp.log(positive) - _HALF_LOG_2PI - exponent)
    at_0 = xp.where(a > 1, 0.0, xp.where(a == 1, 1.0, math.inf))
    return xp.where(x > 0, density, xp.where(x == 0, at_0, math.nan))


def beta_density(lib: GammaLibrary, a: Any, b: Any, x: Any) -> Any:
    """x^(a - 1)·(1 - x)^(b - 1)/B(a, b) for positive finite a, b, and x from 0 to 1."""
    xp = lib.xp
    inside = (x > 0) & (x < 1)
    u = xp.where(inside, x, 0.5)
    density = xp.exp(_log_beta_density(lib, a, b, u, 1 - u) - xp.log(u) - xp.log1p(-u))
    at_0 = xp.where(a > 1, 0.0, xp.where(a == 1, b, math.inf))
    at_1 = xp.where(b > 1, 0.0, xp.where(b == 1, a, math.inf))
    edge = xp.where(x == 0, at_0, xp.where(x == 1, at_1, math.nan))
    return xp.where(inside, density, edge)


def _log_beta_density(lib: GammaLibrary, a: Any, b: Any, x: Any, y: Any) -> Any:
    """The logarithm of x^a·y^b/B(a, b), where y is 1 - x."""
    xp = lib.xp
    n = a + b
    gap = a * y - b * x
    exponent = deviance(lib, a, n * x, n / a * x, -gap) + deviance(lib, b, n * y, n / b * y, gap)
    errors = stirling_error(lib, n) - stirling_error(lib, a) - stirling_error(lib, b)
    return 0.5 * (xp.log(a) + xp.log(b) - xp.log(n)) - _HALF_LOG_2PI + errors - exponent


def incomplete_beta(lib: GammaLibrary, a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function, of positive finite a, b, and x between 0 and 1."""
    xp = lib.xp
    y = 1 - x
    swapped = a * y < b * x
    a, b = xp.where(swapped, b, a), xp.where(swapped, a, b)
    x, y = xp.where(swapped, y, x), xp.where(swapped, x, y)
    density = xp.exp(_log_beta_density(lib, a, b, x, y))
    # I(a, b) = density(a)/a + I(a + 1, b), while a is small.
    total = xp.zeros_like(x)
    for _ in range(_RAISED):
        low = a < _RAISED
        total = total + xp.where(low, density / a, 0.0)
        density = xp.where(low, density * (x * ((a + b) / a)), density)
        a = xp.where(low, a + 1, a)
    side = total + density * _beta_integral(lib, a, b, x, y)
    return xp.where(swapped, 1 - side, side)


def _beta_integral(lib: GammaLibrary, a: Any, b: Any, x: Any, y: Any) -> Any:
    """The integral of exp(-a·u)·(y + x·exp(-u))^-(a + b), for x up to a/(a + b).

    Where x is near 1 it has a plateau before it decreases, which is a panel by itself.
    """
    xp = lib.xp
    n = a + b
    gap = a * y - b * x
    p, sign = xp.minimum(x, y), xp.where(x < y, -1.0, 1.0)
    q = x * y
    end = xp.minimum((lib.span - n * xp.log(y)) / a, _end_of_decay(lib, gap, gap + n * q))
    end = xp.minimum(end, xp.log1p(xp.expm1((lib.span + b * end) / n) / y))
    plateau = xp.minimum(xp.log(x) - xp.log(y), -xp.log(n) - xp.log(y))
    middle = xp.where(plateau > end / 4, xp.minimum(plateau, end), end / 3)
    nodes, weights = _rule(lib.panel_nodes, np.ndim(end))
    skew = (1 - 2 * p) * sign

    def panel(start: Any, width: Any) -> Any:
        u = start + width * nodes
        near = u < _NEAR
        v = xp.where(near, u, 0.0)
        series = skew * v / 7 * (1 - 60 * q + 360 * q * q)
        series = ((1 - 30 * q + 120 * q * q) + series) * v / 6
        series = (skew * (1 - 12 * q) + series) * v / 5
        series = ((1 - 6 * q) + series) * v / 4
        series = 1 + (skew + series) * v / 3
        signed = sign * u
        direct = xp.log1p(p * xp.expm1(signed)) - p * signed
        cumulant = xp.where(near, q * v * v * 0.5 * series, direct)
        return width * xp.sum(weights * xp.exp(-gap * u - n * cumulant), axis=0)

    return panel(0.0, middle) + panel(middle, end - middle)


@cache
def _rule(n: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's nodes and weights between 0 and 1, along an axis before `rank` others."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    shape = (n,) + (1,) * rank
    return (nodes + 1).reshape(shape) / 2, weights.reshape(shape) / 2


def log_beta(lib: GammaLibrary, a: Any, b: Any) -> Any:
    """log |B(a, b)| of finite operands, reflected to positive ones."""
    xp = lib.xp
    low, high = xp.minimum(a, b), xp.maximum(a, b)
    total = low + high
    positive, negative = low > 0, high < 0
    rest = _one_minus_sum(lib, high, low)
    turned = ~positive & ~negative & (total < 1)  # B(high, 1 - total)·sin(π·total)/sin(π·low)
    x = xp.where(positive, low, xp.where(turned, high, 1 - low))
    y = xp.where(positive, high, xp.where(turned, rest, xp.where(negative, 1 - high, total)))
    size = _log_beta_of_positive(lib, x, y)
    sine, sine_of_high = _log_sine(lib, low), _log_sine(lib, high)
    sine_of_total = _log_sine(lib, low, high)
    both = turned & (sine == sine_of_total)  # also -inf: the poles cancel
    ratio = xp.where(both, 0.0, sine_of_total - xp.where(both, 0.0, sine))
    below = math.log(math.pi) - sine - size
    one = below - xp.log(xp.where(positive | negative | turned, 1.0, high))
    two = xp.where(negative, below + sine_of_total - sine_of_high, 0.0)
    two = two - xp.log(xp.where(negative, rest, 1.0))
    pole = (_is_pole(lib, low) & ~(turned & _is_pole(lib, total) & (high == xp.floor(high)))) | (
        _is_pole(lib, high)
    )
    value = xp.where(positive, size, xp.where(turned, size + ratio, xp.where(negative, two, one)))
    return xp.where(pole, math.inf, value)


def _log_beta_of_positive(lib: GammaLibrary, a: Any, b: Any) -> Any:
    xp = lib.xp
    n = a + b
    powers = a * _log1p_ratio(lib, b, a) + b * _log1p_ratio(lib, a, b)
    scale = 0.5 * (xp.log(n) - xp.log(a) - xp.log(b)) + _HALF_LOG_2PI
    errors = stirling_error(lib, a) + stirling_error(lib, b) - stirling_error(lib, n)
    return scale + errors - powers


def _log1p_ratio(lib: GammaLibrary, x: Any, y: Any) -> Any:
    """log(1 + x/y) of positive operands, also where the quotient overflows."""
    xp = lib.xp
    ratio = x / y
    far = ratio > 1e300
    return xp.where(far, xp.log(x) - xp.log(y), xp.log1p(xp.where(far, 0.0, ratio)))


def _one_minus_sum(lib: GammaLibrary, x: Any, y: Any) -> Any:
    """1 - x - y, which keeps the digits of the smaller one."""
    swapped = lib.xp.abs(x) < lib.xp.abs(y)
    large, small = lib.xp.where(swapped, y, x), lib.xp.where(swapped, x, y)
    return (1 - large) - small


def _is_pole(lib: GammaLibrary, x: Any) -> Any:
    return (x <= 0) & (x == lib.xp.floor(x))


def _log_sine(lib: GammaLibrary, *summands: Any) -> Any:
    """log |sin(πx)|, x a sum: that of the fractions keeps the digits of small ones."""
    xp = lib.xp
    fraction = sum(x - xp.round(x) for x in summands)
    return xp.log(xp.abs(xp.sin(math.pi * (fraction - xp.round(fraction)))))


def pochhammer(lib: GammaLibrary, z: Any, m: Any) -> Any:
    """Γ(z + m)/Γ(z), where poles of both cancel as in the reflection."""
    xp = lib.xp
    finite = xp.isfinite(z) & xp.isfinite(m)
    edge = xp.where(z == math.inf, xp.where(m > 0, math.inf, 0.0), math.nan)
    edge = xp.where((z > 0) & (z < math.inf) & (m == math.inf), math.inf, edge)
    edge = xp.where(m == 0, 1.0, xp.where(xp.isnan(z + m), math.nan, edge))
    z, m = xp.where(finite, z, 1.0), xp.where(finite, m, 1.0)
    n = z + m
    positive, negative = (z > 0) & (n > 0), (z <= 0) & (n <= 0)
    sine, sine_of_end = _sine(lib, z), _sine(lib, z, m)
    pole = (n <= 0) & (sine_of_end == 0)
    both = (z <= 0) & (sine == 0) & pole
    same = positive | negative
    rest = _one_minus_sum(lib, z, m)
    x = xp.where(positive, z, xp.where(negative, rest, 1.0))
    y = xp.where(positive, n, xp.where(negative, 1 - z, 1.0))
    quotient = (x - 0.5) * _log1p_of_step(lib, m, x, y) + m * xp.log(y) - m
    quotient = quotient + stirling_error(lib, y) - stirling_error(lib, x)
    sine_of_z, sine_of_n = xp.log(xp.abs(sine)), xp.log(xp.abs(sine_of_end))
    reflected = quotient + xp.where(both, 0.0, sine_of_z - xp.where(both, 0.0, sine_of_n))
    upward, downward = z <= 0, z > 0
    logs = lib.lgamma(xp.where(same, 1.0, xp.where(downward, z, 1 - z)))
    logs = logs + lib.lgamma(xp.where(same, 1.0, xp.where(downward, rest, n)))
    product = logs + xp.where(downward, sine_of_n, sine_of_z) - math.log(math.pi)
    mixed = xp.where(upward, product, -product)
    parity = xp.where(m - 2 * xp.floor(m / 2) == 0, 1.0, -1.0)
    negative_start, negative_end = (z < 0) & (sine < 0), (n < 0) & (sine_of_end < 0)
    sign = xp.where(negative_start == negative_end, 1.0, -1.0)
    sign = xp.where(both, parity, xp.where(pole, 1.0, sign))
    size = xp.exp(xp.where(positive, quotient, xp.where(negative, reflected, mixed)))
    return xp.where(finite & (m != 0), sign * size, edge)


def _log1p_of_step(lib: GammaLibrary, m: Any, x: Any, y: Any) -> Any:
    """log(y/x), where y = x + m."""
    xp = lib.xp
    relative = m / x
    near = xp.abs(relative) < 0.5
    return xp.where(near, xp.log1p(xp.where(near, relative, 0.0)), xp.log(y) - xp.log(x))


def combinations(lib: GammaLibrary, n: Any, k: Any) -> Any:
    """In how many ways k of n things can be taken, for 0 ≤ k ≤ n, also not whole."""
    xp = lib.xp
    return xp.exp(-_log_beta_of_positive(lib, n - k + 1, k + 1) - xp.log(n + 1))


def digamma_step(lib: GammaLibrary, x: Any, d: Any) -> Any:
    """digamma(x + d) - digamma(x), to full precision where d is small or x large."""
    xp = lib.xp
    n = x + d
    finite = xp.isfinite(x) & xp.isfinite(n)
    edge = xp.where(xp.isfinite(d) & (x > 0), 0.0, xp.where((x > -math.inf) & (n > 0), n, math.nan))
    edge = xp.where(xp.isnan(x + n), math.nan, edge)
    x, d, n = xp.where(finite, x, 1.0), xp.where(finite, d, 1.0), xp.where(finite, n, 2.0)
    low, low_end = x <= 0, n <= 0
    step = xp.where(low, xp.where(low_end, -d, n + x - 1), xp.where(low_end, 1 - n - x, d))
    value = _positive_digamma_step(lib, xp.where(low, 1 - x, x), xp.where(low_end, 1 - n, n), step)
    sine, sine_of_end = _sine(lib, x), _sine(lib, x, d)
    both = math.pi * _sine(lib, d) / (sine * sine_of_end)
    start, end = _cotangent(lib, x), _cotangent(lib, x, d)
    turned = xp.where(low & low_end, both, xp.where(low, start, xp.where(low_end, -end, 0.0)))
    pole = xp.where(x == 0, 1 / x, xp.where(n == 0, -1 / n, math.nan))
    is_pole = _is_pole(lib, x) | _is_pole(lib, n)
    return xp.where(finite, xp.where(is_pole, pole, value + turned), edge)


def _positive_digamma_step(lib: GammaLibrary, x: Any, n: Any, d: Any) -> Any:
    """By the recurrence, in which terms have one sign, and by asymptotic series."""
    total = 0.0
    for k in range(10):
        total = total + d / (x + k) / (n + k)
    x, n = x + 10, n + 10
    u, v = 1 / (x * x), 1 / (n * n)
    quotient = value = 0.0
    for coefficient in (1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        quotient = quotient * u + value  # of the difference of polynomials by that of u and v
        value = value * v + coefficient
    quotient = quotient * u + value
    inverse = d / x / n
    return total + _log1p_of_step(lib, d, x, n) + inverse * (0.5 + (1 / x + 1 / n) * quotient)


def polygamma_step(lib: GammaLibrary, n: Any, x: Any, d: Any) -> Any:
    """polygamma(n, x + d) - polygamma(n, x) for n from 1; nothing cancels for positive x and x + d.

    By the recurrence, and from there the asymptotic series, each as differences of powers of 1/x
    and 1/(x + d).
    """
    xp = lib.xp
    inside = (x > 0) & (x + d > 0)
    start, step = xp.where(inside, x, 1.0), xp.where(inside, d, 0.0)
    end = start + step
    factorial = xp.exp(lib.lgamma(n + 1.0))

    def power_step(m: Any, shift: int = _SHIFT) -> Any:
        """The difference of the powers of order -m."""
        low, high = start + shift, end + shift
        return low**-m * xp.expm1(-m * _log1p_of_step(lib, step, low, high))

    total = 0.0
    for shift in range(_SHIFT):
        total = total - factorial * power_step(n + 1, shift)
    total = total - factorial / n * power_step(n)
    total = total - factorial / 2 * power_step(n + 1)
    ratio = factorial * (n + 1) / 2
    for k, number in enumerate(_BERNOULLI, 1):
        total = total - number * ratio * power_step(n + 2 * k)
        ratio = ratio * (n + 2 * k) * (n + 2 * k + 1) / ((2 * k + 1) * (2 * k + 2))
    sign = xp.where(n % 2 == 0, 1.0, -1.0)
    return xp.where(inside, sign * total, lib.polygamma(n, x + d) - lib.polygamma(n, x))


_SHIFT = 16
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""B₂, B₄, …"""


def _sine(lib: GammaLibrary, *summands: Any) -> Any:
    """sin(πx), x a sum; 0 for whole numbers."""
    xp = lib.xp
    wholes = [xp.round(x) for x in summands]
    fraction = sum(x - whole for x, whole in zip(summands, wholes, strict=True))
    carry = xp.round(fraction)
    turns = sum(whole - 2 * xp.floor(whole / 2) for whole in (*wholes, carry))
    sign = xp.where(turns - 2 * xp.floor(turns / 2) == 0, 1.0, -1.0)
    return sign * xp.sin(math.pi * (fraction - carry))


def _cotangent(lib: GammaLibrary, *summands: Any) -> Any:
    """π·cot(πx), x a sum."""
    xp = lib.xp
    fraction = sum(x - xp.round(x) for x in summands)
    return math.pi / xp.tan(math.pi * (fraction - xp.round(fraction)))
