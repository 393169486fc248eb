"""Lowering of special functions that `jax.scipy` lacks or gets wrong.

Exponential integrals are computed in loops of a fixed length, which end whatever the operands are,
and in double precision, as on NumPy, where single precision would lose digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import Array, lax
from jax import numpy as jnp
from jax.scipy import special

from tenferro.ops import (
    LARGE_SHAPE,
    SCALED_ERFC_FROM_8,
    SCALED_ERFC_TO_8,
    SLOPES,
    GammaGrad,
    GammaLibrary,
    GammaSample,
    Special,
    combinations,
    gamma_grad_of_large,
    incomplete_beta,
    incomplete_gamma,
    log_beta,
    pochhammer,
)
from tenferro.ops import beta_density as density_of_beta
from tenferro.ops import digamma_step as step_of_digamma
from tenferro.ops import gamma_density as density_of_gamma
from tenferro.ops import polygamma_step as step_of_polygamma
from tenferro_xla.lowering.bessel import bessel_j, bessel_y
from tenferro_xla.lowering.hypergeometric import hyp1f1, hyp2f1
from tenferro_xla.lowering.registry import lower

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


# Derivatives of modified Bessel functions, by the formulas of `tenferro.ops.special_kernels`.

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


# The gamma function and its relatives, with the limits and poles of SciPy's.


def lgamma(x: Array) -> Array:
    """-inf at -inf, as SciPy's."""
    return jnp.where(x == -jnp.inf, x, lax.lgamma(x))


def digamma(x: Array) -> Array:
    """With the poles of either sign at the two zeros."""
    return jnp.where(x == 0, -1 / x, lax.digamma(x))


def polygamma(n: Array, x: Array) -> Array:
    """With the sign of its poles."""
    sign = jnp.where((n + 1) % 2 == 1, -1, 1)
    order = jnp.where(n > 0, n, 1)
    value = jnp.exp(lax.lgamma(order + 1)) * zeta(order + 1, x)
    known = (n > 0) & (n == jnp.floor(n))
    return jnp.where(n == 0, digamma(x), jnp.where(known, sign * value, jnp.nan))


def zeta(s: Array, q: Array) -> Array:
    """For negative q, which s must be whole for, as sums of 1/(k + q)^s over two half-lines.

    With f the fraction of q, the terms with k + q < 0 are those of 1 - f without those of 1 - q.
    """
    below = jnp.floor(q)
    pole = (s > 1) & (q <= 0) & (q == below)
    negative = (q < 0) & ~pole & (q > -jnp.inf)
    upper = _zeta(s, jnp.where(negative, q - below, jnp.where(q > 0, q, 1)))

    def turned() -> Array:
        near, far = jnp.where(negative, jnp.ceil(q) - q, 1), jnp.where(negative, 1 - q, 1)
        lower = _zeta(s, near) - _zeta(s, far)
        even = s % 2 == 0
        whole = jnp.where(s == jnp.floor(s), upper + jnp.where(even, lower, -lower), jnp.nan)
        return jnp.where(negative, whole, upper)

    # Both branches at once would take three times as long for the usual, positive q.
    value = lax.cond(jnp.any(negative), turned, lambda: upper)
    pole = pole | (s == 1) | ((s == jnp.inf) & (q < 0))
    pole = pole | (q == -jnp.inf)
    known = (s >= 1) & ~jnp.isnan(q)
    return jnp.where(known, jnp.where(pole, jnp.inf, value), jnp.nan)


_STEEP = 1000.0


def _zeta(s: Array, q: Array) -> Array:
    """For positive q; a single power where all others are below the smallest double."""
    steep = s >= _STEEP
    far = float(np.finfo(q.dtype).max)
    return jnp.where(steep, q**-s, lax.zeta(jnp.where(steep, _STEEP, s), jnp.minimum(q, far)))


def gammainc(a: Array, x: Array, library: GammaLibrary) -> Array:
    """P(a, x)."""
    return _incomplete_gamma(a, x, library, upper=False)


def gammaincc(a: Array, x: Array, library: GammaLibrary) -> Array:
    """1 - P(a, x)."""
    return _incomplete_gamma(a, x, library, upper=True)


def _incomplete_gamma(a: Array, x: Array, library: GammaLibrary, upper: bool) -> Array:
    """With the limits at 0 and infinity."""
    inside = (a > 0) & (x > 0) & (a < jnp.inf) & (x < jnp.inf)
    one = jnp.ones_like(a)
    values = incomplete_gamma(library, jnp.where(inside, a, one), jnp.where(inside, x, one))
    none = ((x == 0) & (a > 0)) | ((a == jnp.inf) & (x >= 0) & (x < jnp.inf))
    all_of_it = ((a == 0) & (x > 0)) | ((x == jnp.inf) & (a >= 0) & (a < jnp.inf))
    below, above = (1, 0) if upper else (0, 1)
    edge = jnp.where(none, below, jnp.where(all_of_it, above, jnp.nan))
    return jnp.where(inside, values[upper], edge)


def gammainc_grad_a(a: Array, x: Array, library: GammaLibrary) -> Array:
    """∂P(a, x)/∂a."""
    inside = (a > 0) & (x > 0) & (a < jnp.inf) & (x < jnp.inf)
    one = jnp.ones_like(a)
    slope = incomplete_gamma(library, jnp.where(inside, a, one), jnp.where(inside, x, one))[2]
    edge = jnp.where((a > 0) & ((x == 0) | (x == jnp.inf)), 0, jnp.nan)
    return jnp.where(inside, slope, edge)


def betainc(a: Array, b: Array, x: Array, library: GammaLibrary) -> Array:
    """With the limits at 0 and infinity, where the mass is at 0 or at 1."""
    finite = (a < jnp.inf) & (b < jnp.inf)
    inside = (a > 0) & (b > 0) & finite & (x > 0) & (x < 1)
    one, half = jnp.ones_like(a), jnp.full_like(a, 0.5)
    operands = jnp.where(inside, a, one), jnp.where(inside, b, one), jnp.where(inside, x, half)
    value = incomplete_beta(library, *operands)
    known = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & ((a != b) | (finite & (a > 0)))
    at_0 = ((a == 0) & (b > 0)) | ((b == jnp.inf) & (a < jnp.inf))
    at_1 = ((b == 0) & (a > 0)) | ((a == jnp.inf) & (b < jnp.inf))
    edge = jnp.where(x == 0, 0, jnp.where((x == 1) | at_0, 1, jnp.where(at_1, 0, jnp.nan)))
    return jnp.where(inside, value, jnp.where(known, edge, jnp.nan))


def gamma_density(a: Array, x: Array) -> Array:
    """∂P(a, x)/∂x; at x = 0 it is 0, 1 or infinite, as a is above, at or below 1."""
    inside = (a > 0) & (a < jnp.inf) & (x < jnp.inf)
    value = density_of_gamma(DOUBLE, jnp.where(inside, a, 1), jnp.where(inside, x, 1))
    known = (a >= 0) & (x >= 0) & ~((a == jnp.inf) & (x == jnp.inf))
    return jnp.where(inside, value, jnp.where(known, 0, jnp.nan))


def beta_density(a: Array, b: Array, x: Array) -> Array:
    """∂I(a, b, x)/∂x."""
    inside = (a > 0) & (b > 0) & (a < jnp.inf) & (b < jnp.inf)
    value = density_of_beta(DOUBLE, jnp.where(inside, a, 1), jnp.where(inside, b, 1), x)
    return jnp.where(inside, value, jnp.nan)


def betaln(a: Array, b: Array) -> Array:
    """log |B(a, b)|, with the limits at infinity."""
    finite = jnp.isfinite(a) & jnp.isfinite(b)
    one = jnp.ones_like(a)
    value = log_beta(DOUBLE, jnp.where(finite, a, one), jnp.where(finite, b, one))
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    edge = jnp.where((low > 0) & (high == jnp.inf), -jnp.inf, jnp.inf)
    unknown = jnp.isnan(a + b) | (low == jnp.inf)
    return jnp.where(finite, value, jnp.where(unknown, jnp.nan, edge))


def poch(z: Array, m: Array) -> Array:
    """Γ(z + m)/Γ(z)."""
    value: Array = pochhammer(DOUBLE, z, m)
    return value


def comb(n: Array, k: Array) -> Array:
    """0 outside of 0 ≤ k ≤ n."""
    inside = (k >= 0) & (k <= n) & (n < jnp.inf)
    one = jnp.ones_like(n)
    value = combinations(DOUBLE, jnp.where(inside, n, one), jnp.where(inside, k, one))
    edge = jnp.where((n == jnp.inf) & (k >= 0), jnp.where(k == 0, 1, jnp.inf), 0)
    unknown = jnp.isnan(n) | jnp.isnan(k) | ((n == jnp.inf) & (k == jnp.inf))
    return jnp.where(inside, value, jnp.where(unknown, jnp.nan, edge))


def digamma_step(x: Array, d: Array) -> Array:
    """digamma(x + d) - digamma(x)."""
    value: Array = step_of_digamma(DOUBLE, x, d)
    return value


def polygamma_step(n: Array, x: Array, d: Array) -> Array:
    """polygamma(n, x + d) - polygamma(n, x) for n from 1."""
    value: Array = step_of_polygamma(DOUBLE, n, x, d)
    return value


DOUBLE = GammaLibrary(jnp, lax.lgamma, lax.digamma, polygamma)
SINGLE = GammaLibrary(jnp, lax.lgamma, lax.digamma, polygamma, 20.0, 18, 12)
"""How exact integrals are, in double precision: for results of either precision."""


# Functions of the normal distribution.

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


# Special functions: XLA's own, those of `jax.scipy.special`, and those of this package.


@lower.register
def _(op: Special, *operands: Array) -> Array:
    function = _FUNCTIONS.get(op.function) or getattr(special, op.function)
    dtype = operands[0].dtype
    single = dtype == np.float32 and op.function in _IN_SINGLE_PRECISION
    if not single and op.function != "nextafter":  # whose steps are those of the dtype
        operands = tuple(x.astype(np.float64) for x in operands)
    library = DOUBLE if dtype == np.float64 else SINGLE
    by_integral = op.function in _BY_INTEGRALS
    result: Array = function(*operands, library) if by_integral else function(*operands)
    return result.astype(dtype)


_IN_SINGLE_PRECISION = frozenset(
    ("lgamma", "digamma", "i0e", "i1e", "xlogy", "xlog1py", "ndtri", "dawsn", "spence",
     "sine_integral")
)  # fmt: skip
"""Functions that are as exact in it as it allows."""
_BY_INTEGRALS = frozenset({"gammainc", "gammaincc", "gammainc_grad_a", "betainc"})
"""Functions that take how exact these are to be."""


class _WithOwn:
    """The special functions of JAX, with tenferro's in the place of what is wrong."""

    dawsn, erfc = map(staticmethod, (special.dawsn, special.erfc))
    erfcx = staticmethod(erfcx)


def _slope(name: str) -> Callable[..., Array]:
    return lambda *operands: SLOPES[name](*operands, jnp, _WithOwn)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _slope(name) for name in SLOPES},
    **{
        f.__name__: f
        for f in (
            lgamma,
            digamma,
            digamma_step,
            polygamma,
            polygamma_step,
            zeta,
            gammainc,
            gammaincc,
            gammainc_grad_a,
            gamma_density,
            betainc,
            beta_density,
            betaln,
            poch,
            comb,
            i0,
            i1,
            i1_slope,
            i0e_slope,
            i1e_slope,
            bessel_j,
            bessel_y,
            hyp1f1,
            hyp2f1,
            i0_derivative,
            i0e_derivative,
            i1e_derivative,
            expi,
            exp1,
            expn,
            erfcx,
            log_ndtr,
            owens_t,
        )
    },
    "i0e": lax.bessel_i0e,
    "i1e": lax.bessel_i1e,
    "nextafter": lax.nextafter,
    "sine_integral": lambda x: special.sici(x)[0],
    "cosine_integral": lambda x: special.sici(x)[1],
    "fresnel_sine": lambda x: special.fresnel(x)[0],
    "fresnel_cosine": lambda x: special.fresnel(x)[1],
}


# Derivatives of samples of the gamma distribution.


@lower.register
def _(op: GammaSample, sample: Array, a: Array) -> Array:
    return sample


@lower.register
def _(op: GammaGrad, a: Array, x: Array) -> Array:
    """JAX's series, on numbers for which it ends; 0 at 0, and NaN for what is not a sample."""
    one, zero, nan = (lax.full_like(x, value) for value in (1, 0, float("nan")))
    known = lax.bitwise_and(_is_sample(a), _is_sample(x))
    moderate = lax.bitwise_and(known, lax.le(a, lax.full_like(a, LARGE_SHAPE)))
    slope = lax.random_gamma_grad(lax.select(moderate, a, one), lax.select(moderate, x, one))
    slope = lax.select(moderate, slope, lax.select(known, gamma_grad_of_large(a, x), nan))
    at_zero = lax.bitwise_and(lax.eq(x, zero), lax.gt(a, zero))
    result: Array = lax.select(at_zero, zero, slope)
    return result


def _is_sample(x: Array) -> Array:
    return lax.bitwise_and(lax.gt(x, lax.full_like(x, 0)), lax.is_finite(x))
