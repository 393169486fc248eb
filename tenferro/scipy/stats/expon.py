"""The exponential distribution of mean `scale`, from `loc` on.

>>> tn.scipy.stats.expon.sf(0.0)
Tensor(1.)
"""

from __future__ import annotations

import math

from tenferro.namespace import exp, expm1, log, log1p, maximum, where
from tenferro.scipy.real import real
from tenferro.scipy.stats.form import exponential, logarithm, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width = standard("expon.logpdf", x, loc, scale)
    return where(y < 0, -math.inf, -y - log(width))


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _ = standard("expon.cdf", x, loc, scale)
    return -expm1(-maximum(y, 0))


logcdf = logarithm(cdf, "logcdf")


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    y, _ = standard("expon.sf", x, loc, scale)
    return exp(-maximum(y, 0))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of `sf`."""
    y, _ = standard("expon.logsf", x, loc, scale)
    return -maximum(y, 0)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `cdf`."""
    q_, loc_, scale_ = real("expon.ppf", q, loc, scale)
    return (-log1p(-q_)) * scale_ + loc_
