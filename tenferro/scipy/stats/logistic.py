"""The logistic distribution about `loc`.

>>> tn.scipy.stats.logistic.cdf(0.0)
Tensor(0.5)
"""

from __future__ import annotations

from tenferro.namespace import log, log_sigmoid, sigmoid
from tenferro.scipy.real import real
from tenferro.scipy.special import logit
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width = standard("logistic.logpdf", x, loc, scale)
    return log_sigmoid(y) + log_sigmoid(-y) - log(width)


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _ = standard("logistic.cdf", x, loc, scale)
    return sigmoid(y)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of more than x."""
    y, _ = standard("logistic.sf", x, loc, scale)
    return sigmoid(-y)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `cdf`."""
    q_, loc_, scale_ = real("logistic.ppf", q, loc, scale)
    return (logit(q_)) * scale_ + loc_


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `sf`."""
    q_, loc_, scale_ = real("logistic.isf", q, loc, scale)
    return (-logit(q_)) * scale_ + loc_
