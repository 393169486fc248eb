"""The gamma distribution of shape a.

>>> tn.scipy.stats.gamma.pdf(0.0, 1.0)
Tensor(1.)
"""

from __future__ import annotations

import math

from tenferro.namespace import lgamma, log, maximum, where, xlogy
from tenferro.scipy.special import gammainc, gammaincc
from tenferro.scipy.stats.form import exponential, inside, logarithm, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width, a_ = standard("gamma.logpdf", x, loc, scale, a)
    return where(y < 0, -math.inf, xlogy(a_ - 1, inside(y >= 0, y)) - y - lgamma(a_) - log(width))


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _, a_ = standard("gamma.cdf", x, loc, scale, a)
    return gammainc(a_, maximum(y, 0))


logcdf = logarithm(cdf, "logcdf")


def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    y, _, a_ = standard("gamma.sf", x, loc, scale, a)
    return gammaincc(a_, maximum(y, 0))


logsf = logarithm(sf, "logsf")
