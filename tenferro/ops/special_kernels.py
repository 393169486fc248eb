"""Special functions on NumPy: SciPy's, mended where SciPy's lose digits or end too early.

Those of `tenferro.ops.gamma_integrals` stand in for them there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
from scipy.special import digamma, gammaln, polygamma

from tenferro.exec_ir import Array
from tenferro.ops import slopes
from tenferro.ops.gamma_integrals import (
    GammaLibrary,
    combinations,
    incomplete_gamma,
    log_beta,
    pochhammer,
)
from tenferro.ops.gamma_integrals import beta_density as density_of_beta
from tenferro.ops.gamma_integrals import (
    digamma_step as step_of_digamma,
)
from tenferro.ops.gamma_integrals import gamma_density as density_of_gamma
from tenferro.ops.gamma_integrals import polygamma_step as step_of_polygamma

_LIBRARY = GammaLibrary(np, gammaln, digamma, polygamma)
_LONG_SERIES = 1000.0
_LOSS = 1e-3
_LARGE_ORDER = 1e7
_CHUNK = 1 << 10


def gammainc(a: Array, x: Array) -> Array:
    """P(a, x). SciPy's series of at most 2000 terms is too short far from a large a."""
    return _mended(scipy.special.gammainc(a, x), _is_far(a, x), _part(0), a, x)


def gammaincc(a: Array, x: Array) -> Array:
    """1 - P(a, x)."""
    return _mended(scipy.special.gammaincc(a, x), _is_far(a, x), _part(1), a, x)


def gammainc_grad_a(a: Array, x: Array) -> Array:
    """∂P(a, x)/∂a; NaN where P is not defined."""
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    edge = np.where((a > 0) & ((x == 0) | (x == np.inf)), 0.0, np.nan)
    return _mended(edge, inside, _part(2), a, x)


def gamma_density(a: Array, x: Array) -> Array:
    """∂P(a, x)/∂x; at x = 0 it is 0, 1 or infinite, as a is above, at or below 1."""
    inside = (a > 0) & (a < np.inf) & (x < np.inf)
    known = (a >= 0) & (x >= 0) & ~((a == np.inf) & (x == np.inf))
    edge = np.where(known, 0.0, np.nan)
    return _mended(edge, inside, lambda a, x: density_of_gamma(_LIBRARY, a, x), a, x)


def beta_density(a: Array, b: Array, x: Array) -> Array:
    """∂I(a, b, x)/∂x."""
    inside = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf)
    edge = np.full(x.shape, np.nan)
    return _mended(edge, inside, lambda *v: density_of_beta(_LIBRARY, *v), a, b, x)


def poch(z: Array, m: Array) -> Array:
    """Γ(z + m)/Γ(z). SciPy's takes the difference of large logarithms."""
    large = (np.abs(z) > _LONG_SERIES) | (np.abs(m) > _LONG_SERIES)
    return _mended(
        scipy.special.poch(z, m),
        large | np.isnan(z + m),
        lambda z, m: pochhammer(_LIBRARY, z, m),
        z,
        m,
    )


def betaln(a: Array, b: Array) -> Array:
    """log |B(a, b)|. SciPy's takes the difference of large logarithms at negative operands."""
    negative = (np.minimum(a, b) < 0) & np.isfinite(a) & np.isfinite(b)
    value = scipy.special.betaln(a, b)
    value = np.where(
        (a > 0) & (b > 0) & np.isinf(a + b) & (np.minimum(a, b) < np.inf), -np.inf, value
    )
    value = np.where(np.isnan(a + b), np.nan, value)
    return _mended(value, negative, lambda a, b: log_beta(_LIBRARY, a, b), a, b)


def comb(n: Array, k: Array) -> Array:
    """In how many ways k of n things can be taken. SciPy's is 0 for NaN."""
    value = scipy.special.comb(n, k)
    value = np.where((n == np.inf) & (k > 0) & (k < np.inf), np.inf, value)
    value = np.where(np.isnan(n) | np.isnan(k), np.nan, value)
    large = (n > 1000) & (n < np.inf) & (k >= 0) & (k <= n) & (k != np.floor(k))
    large = large | ((n > 1000) & (n < np.inf) & (k >= 20) & (k <= n))
    return _mended(value, large, lambda n, k: combinations(_LIBRARY, n, k), n, k)


def digamma_step(x: Array, d: Array) -> Array:
    """digamma(x + d) - digamma(x)."""
    n = x + d
    with np.errstate(all="ignore"):
        start = digamma(x)
        value = digamma(n) - start
        lost = ~(np.abs(value) > _LOSS * np.abs(start)) | (np.minimum(x, n) < 0)
    return _mended(value, lost, lambda *v: step_of_digamma(_LIBRARY, *v), x, d)


def polygamma_step(n: Array, x: Array, d: Array) -> Array:
    """polygamma(n, x + d) - polygamma(n, x) for n from 1."""
    return np.asarray(step_of_polygamma(_LIBRARY, n, x, d))


def zeta(s: Array, q: Array) -> Array:
    """Hurwitz's zeta function. SciPy's coefficients overflow where s is huge."""
    value = scipy.special.zeta(s, q)
    with np.errstate(all="ignore"):
        steep = np.isnan(value) & (s > 1e6) & (q > 0)
        value = np.where(steep, np.power(np.where(steep, q, 1.0), -s), value)
    return np.where(np.isnan(s) | np.isnan(q), np.nan, value)


def expn(n: Array, x: Array) -> Array:
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


def fresnel(x: Array) -> tuple[Array, Array]:
    """SciPy's, with the limit for large x, where it is NaN."""
    sine, cosine = scipy.special.fresnel(x)
    limit = np.copysign(0.5, x)
    far = np.abs(x) > 1e100
    return np.where(far, limit, sine), np.where(far, limit, cosine)


def _on_numpy(slope: Callable[..., Any]) -> Callable[..., Array]:
    """A formula of `slopes` on NumPy arrays."""
    return lambda *operands: np.asarray(slope(*operands, np, scipy.special))


dawsn_slope = _on_numpy(slopes.dawsn_slope)
erfcx_slope = _on_numpy(slopes.erfcx_slope)
log_ndtr_slope = _on_numpy(slopes.log_ndtr_slope)
spence_slope = _on_numpy(slopes.spence_slope)


def _is_far(a: Array, x: Array) -> Array:
    finite = np.isfinite(a) & np.isfinite(x) & (x > 0)
    return np.asarray(finite & (a > _LONG_SERIES) & (np.abs(x - a) > 4.4 * np.sqrt(a)))


def _part(i: int) -> Callable[..., Array]:
    def part(a: Array, x: Array) -> Array:
        return np.asarray(incomplete_gamma(_LIBRARY, a, x)[i])

    return part


def _mended(value: Array, wrong: Array, function: Callable[..., Array], *operands: Array) -> Array:
    """The value, with that of another function at some places."""
    places = np.flatnonzero(wrong)
    if not places.size:
        return value
    result = np.array(value)
    flat, values = result.reshape(-1), [x.reshape(-1) for x in operands]
    with np.errstate(all="ignore"):
        for start in range(0, places.size, _CHUNK):  # an integral takes 36 numbers for each
            part = places[start : start + _CHUNK]
            flat[part] = function(*(x[part] for x in values))
    return result
