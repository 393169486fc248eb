"""The normal distribution of mean `loc` and standard deviation `scale`.

>>> tn.scipy.stats.norm.cdf(0.0)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import log
from tenferro.scipy.real import real
from tenferro.scipy.special import log_ndtr, ndtr, ndtri
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width = standard("norm.logpdf", x, loc, scale)
    return y * y * -0.5 - log(width * math.sqrt(2 * math.pi))


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _ = standard("norm.cdf", x, loc, scale)
    return ndtr(y)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of `cdf`."""
    y, _ = standard("norm.logcdf", x, loc, scale)
    return log_ndtr(y)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    y, _ = standard("norm.sf", x, loc, scale)
    return ndtr(-y)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of `sf`."""
    y, _ = standard("norm.logsf", x, loc, scale)
    return log_ndtr(-y)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `cdf`."""
    q_, loc_, scale_ = real("norm.ppf", q, loc, scale)
    return (ndtri(q_)) * scale_ + loc_


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `sf`."""
    q_, loc_, scale_ = real("norm.isf", q, loc, scale)
    return (-ndtri(q_)) * scale_ + loc_
