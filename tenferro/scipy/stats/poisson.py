"""How many events happen where mu are expected.

>>> tn.scipy.stats.poisson.cdf(0, 1.0)
Tensor(0.36787944)
"""

from __future__ import annotations

import math

from tenferro.namespace import floor, lgamma, where, xlogy
from tenferro.scipy.special import gammaincc
from tenferro.scipy.stats.form import exponential, inside, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logpmf", "pmf"]


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
