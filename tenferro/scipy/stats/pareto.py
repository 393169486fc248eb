"""The Pareto distribution of exponent b, from `loc + scale` on.

>>> tn.scipy.stats.pareto.sf(2.0, 1.0)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import exp, expm1, log, log1p, maximum, where
from tenferro.scipy.real import real
from tenferro.scipy.stats.form import exponential, logarithm, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width, b_ = standard("pareto.logpdf", x, loc, scale, b)
    return where(y < 1, -math.inf, log(b_) - (b_ + 1) * log(maximum(y, 1)) - log(width))


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _, b_ = standard("pareto.cdf", x, loc, scale, b)
    return -expm1(-b_ * log(maximum(y, 1)))


logcdf = logarithm(cdf, "logcdf")


def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    y, _, b_ = standard("pareto.sf", x, loc, scale, b)
    return exp(-b_ * log(maximum(y, 1)))


def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of `sf`."""
    y, _, b_ = standard("pareto.logsf", x, loc, scale, b)
    return -b_ * log(maximum(y, 1))


def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `cdf`."""
    q_, loc_, scale_, *shapes = real("pareto.ppf", q, loc, scale, b)
    return (exp(-log1p(-q_) / shapes[0])) * scale_ + loc_
