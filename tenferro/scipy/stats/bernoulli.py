"""One trial that succeeds with probability p.

>>> tn.scipy.stats.bernoulli.pmf(1, 0.25)
Tensor(0.25)
"""

from __future__ import annotations

import math

from tenferro.namespace import isnan, where, xlog1py, xlogy
from tenferro.scipy.real import real
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """Logarithm of the probability of k."""
    y, _, p_ = standard("bernoulli.logpmf", k, loc, 1, p)
    return where((y == 0) | (y == 1), xlogy(y, p_) + xlog1py(1 - y, -p_), -math.inf)


pmf = exponential(logpmf, "pmf")


def cdf(k: ArrayLike, p: ArrayLike) -> AnyTensor:
    """The probability of at most k."""
    y, p_ = real("bernoulli.cdf", k, p)
    return where(y < 0, 0.0, where(y < 1, 1 - p_, 1.0))


def ppf(q: ArrayLike, p: ArrayLike) -> AnyTensor:
    """The smallest number whose `cdf` is at least q; -1 for q = 0, as in SciPy."""
    q_, p_ = real("bernoulli.ppf", q, p)
    wrong = isnan(q_) | isnan(p_) | (p_ < 0) | (p_ > 1) | (q_ < 0) | (q_ > 1)
    found = where(q_ == 0, -1.0, where(q_ <= 1 - p_, 0.0, 1.0))
    return where(wrong, math.nan, found)
