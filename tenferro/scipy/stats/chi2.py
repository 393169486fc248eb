"""The distribution of the sum of df squared standard normal numbers.

>>> tn.scipy.stats.chi2.pdf(0.0, 2.0)
Tensor(0.5)
"""

from __future__ import annotations

from tenferro.scipy.real import real
from tenferro.scipy.stats import gamma
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    value, freedom, place, width = real("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(value, freedom / 2, place, width * 2)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The density."""
    value, freedom, place, width = real("chi2.pdf", x, df, loc, scale)
    return gamma.pdf(value, freedom / 2, place, width * 2)


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    value, freedom, place, width = real("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(value, freedom / 2, place, width * 2)


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of `cdf`."""
    value, freedom, place, width = real("chi2.logcdf", x, df, loc, scale)
    return gamma.logcdf(value, freedom / 2, place, width * 2)


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    value, freedom, place, width = real("chi2.sf", x, df, loc, scale)
    return gamma.sf(value, freedom / 2, place, width * 2)


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of `sf`."""
    value, freedom, place, width = real("chi2.logsf", x, df, loc, scale)
    return gamma.logsf(value, freedom / 2, place, width * 2)
