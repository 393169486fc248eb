"""The Gumbel distribution of smallest values.

>>> tn.scipy.stats.gumbel_l.logsf(0.0)
Tensor(-1.)
"""

from __future__ import annotations

from tenferro.namespace import exp, expm1, log, log1p
from tenferro.scipy.real import real
from tenferro.scipy.stats.form import exponential, logarithm, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width = standard("gumbel_l.logpdf", x, loc, scale)
    return y - exp(y) - log(width)


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _ = standard("gumbel_l.cdf", x, loc, scale)
    return -expm1(-exp(y))


logcdf = logarithm(cdf, "logcdf")


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    y, _ = standard("gumbel_l.sf", x, loc, scale)
    return exp(-exp(y))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of `sf`."""
    y, _ = standard("gumbel_l.logsf", x, loc, scale)
    return -exp(y)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `cdf`."""
    q_, loc_, scale_ = real("gumbel_l.ppf", q, loc, scale)
    return (log(-log1p(-q_))) * scale_ + loc_
