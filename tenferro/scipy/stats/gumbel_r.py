"""The Gumbel distribution of largest values.

>>> tn.scipy.stats.gumbel_r.logcdf(0.0)
Tensor(-1.)
"""

from __future__ import annotations

from tenferro.namespace import exp, expm1, log
from tenferro.scipy.real import real
from tenferro.scipy.stats.form import exponential, logarithm, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width = standard("gumbel_r.logpdf", x, loc, scale)
    return -y - exp(-y) - log(width)


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _ = standard("gumbel_r.cdf", x, loc, scale)
    return exp(-exp(-y))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of `cdf`."""
    y, _ = standard("gumbel_r.logcdf", x, loc, scale)
    return -exp(-y)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    y, _ = standard("gumbel_r.sf", x, loc, scale)
    return -expm1(-exp(-y))


logsf = logarithm(sf, "logsf")


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `cdf`."""
    q_, loc_, scale_ = real("gumbel_r.ppf", q, loc, scale)
    return (-log(-log(q_))) * scale_ + loc_
