"""The Cauchy distribution about `loc`.

>>> tn.scipy.stats.cauchy.cdf(0.0)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import atan2, log, log1p, tan
from tenferro.scipy.real import real
from tenferro.scipy.stats.form import exponential, logarithm, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width = standard("cauchy.logpdf", x, loc, scale)
    return -log(width * math.pi) - log1p(y * y)


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _ = standard("cauchy.cdf", x, loc, scale)
    return atan2(1.0, -y) / math.pi


logcdf = logarithm(cdf, "logcdf")


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    y, _ = standard("cauchy.sf", x, loc, scale)
    return atan2(1.0, y) / math.pi


logsf = logarithm(sf, "logsf")


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `cdf`."""
    q_, loc_, scale_ = real("cauchy.ppf", q, loc, scale)
    return (tan(math.pi * (q_ - 0.5))) * scale_ + loc_


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `sf`."""
    q_, loc_, scale_ = real("cauchy.isf", q, loc, scale)
    return (tan(math.pi * (0.5 - q_))) * scale_ + loc_
