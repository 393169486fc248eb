"""Functions of the gamma family on NumPy: SciPy's, mended where SciPy's series end too early.

Those of `tenferro.ops.gamma_integrals` stand in for them there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.special
from scipy.special import digamma, gammaln

from tenferro.exec_ir import Array
from tenferro.ops.gamma_integrals import GammaLibrary, combinations, incomplete_gamma, log_beta, pochhammer

_LIBRARY = GammaLibrary(np, gammaln, digamma)
_LONG_SERIES = 1000.0
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


def poch(z: Array, m: Array) -> Array:
    """Γ(z + m)/Γ(z). SciPy's takes the difference of large logarithms."""
    large = (np.abs(z) > 10) & np.isfinite(z) & np.isfinite(m)
    return _mended(
        scipy.special.poch(z, m), large, lambda z, m: pochhammer(_LIBRARY, z, m), z, m
    )


def betaln(a: Array, b: Array) -> Array:
    """log |B(a, b)|. SciPy's takes the difference of large logarithms at negative operands."""
    negative = (np.minimum(a, b) < -10) & np.isfinite(a) & np.isfinite(b)
    return _mended(
        scipy.special.betaln(a, b), negative, lambda a, b: log_beta(_LIBRARY, a, b), a, b
    )


def comb(n: Array, k: Array) -> Array:
    """In how many ways k of n things can be taken. SciPy's is 0 for NaN."""
    value = np.where(np.isnan(n) | np.isnan(k), np.nan, scipy.special.comb(n, k))
    large = (n > 1000) & (n < np.inf) & (k >= 0) & (k <= n) & (k != np.floor(k))
    large = large | ((n > 1000) & (n < np.inf) & (k >= 20) & (k <= n))
    return _mended(value, large, lambda n, k: combinations(_LIBRARY, n, k), n, k)


def zeta(s: Array, q: Array) -> Array:
    """Hurwitz's zeta function. SciPy's coefficients overflow where s is huge."""
    value = scipy.special.zeta(s, q)
    return np.where(np.isnan(value) & (s > 1e6) & (q > 0), np.power(q, -s), value)


def _is_far(a: Array, x: Array) -> Array:
    finite = np.isfinite(a) & np.isfinite(x) & (x > 0)
    return finite & (a > _LONG_SERIES) & (np.abs(x - a) > 4.4 * np.sqrt(a))


def _part(i: int) -> Callable[..., Array]:
    def part(a: Array, x: Array) -> Array:
        return np.asarray(incomplete_gamma(_LIBRARY, a, x)[i])

    return part


def _mended(
    value: Array, wrong: Array, function: Callable[..., Array], *operands: Array
) -> Array:
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
