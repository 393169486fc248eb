"""The gamma function and its relatives, with the limits and poles of SciPy's."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tenferro.ops import (
    GammaLibrary,
    combinations,
    incomplete_beta,
    incomplete_gamma,
    log_beta,
    pochhammer,
)
from tenferro.ops import (
    beta_density as density_of_beta,
)
from tenferro.ops import digamma_step as step_of_digamma
from tenferro.ops import (
    gamma_density as density_of_gamma,
)
from tenferro.ops import polygamma_step as step_of_polygamma


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
