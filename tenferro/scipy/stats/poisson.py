"""How many events happen where mu are expected.

>>> tn.scipy.stats.poisson.cdf(0, 1.0)
Tensor(0.36787944)
"""

from __future__ import annotations

import math

from tenferro.namespace import arange, exp, expand_dims, floor, lgamma, log, sum, where, xlogy
from tenferro.scipy.special import gammaincc
from tenferro.scipy.stats.form import exponential, inside, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "entropy", "logpmf", "pmf"]


def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """Logarithm of the probability of k."""
    y, _, mu_ = standard("poisson.logpmf", k, loc, 1, mu)
    return where(
        (y >= 0) & (floor(y) == y), xlogy(y, mu_) - lgamma(inside(y >= 0, y) + 1) - mu_, -math.inf
    )


pmf = exponential(logpmf, "pmf")


def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """The probability of at most k."""
    y, _, mu_ = standard("poisson.cdf", k, loc, 1, mu)
    return where(y >= 0, gammaincc(floor(inside(y >= 0, y)) + 1, mu_), 0.0)


_SERIES = 100.0
_TERMS = 256
"""Terms for means up to `_SERIES`; all others are below 1e-30."""


def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """The entropy; a sum up to mu = 100, then an expansion that is exact to 1e-10."""
    _, _, mu_ = standard("poisson.entropy", 0, loc, 1, mu)
    small = mu_ <= _SERIES
    mean = expand_dims(where(small, mu_, 1.0), axis=-1)
    k = arange(float(_TERMS))
    logs = xlogy(k, mean) - lgamma(k + 1) - mean
    series = -sum(exp(logs) * where(logs > -math.inf, logs, 0.0), axis=-1)
    r = 1 / where(small, _SERIES, mu_)
    tail = r / 12 + r**2 / 24 + r**3 * 19 / 360 + r**4 * 9 / 80
    return where(small, series, 0.5 * (math.log(2 * math.pi) + 1 - log(r)) - tail)
