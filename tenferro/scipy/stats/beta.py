"""The beta distribution of shapes a and b.

>>> tn.scipy.stats.beta.cdf(0.5, 1.0, 1.0)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import betaln, clip, log, where, xlog1py, xlogy
from tenferro.scipy.special import betainc
from tenferro.scipy.stats.form import exponential, inside, logarithm, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> AnyTensor:
    """Logarithm of the density."""
    y, width, a_, b_ = standard("beta.logpdf", x, loc, scale, a, b)
    return where(
        (y >= 0) & (y <= 1),
        xlogy(a_ - 1, inside((y >= 0) & (y <= 1), y, 0.5))
        + xlog1py(b_ - 1, -inside((y >= 0) & (y <= 1), y, 0.5))
        - betaln(a_, b_)
        - log(width),
        -math.inf,
    )


pdf = exponential(logpdf, "pdf")


def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> AnyTensor:
    """The probability of at most x."""
    y, _, a_, b_ = standard("beta.cdf", x, loc, scale, a, b)
    return betainc(a_, b_, clip(y, 0, 1))


logcdf = logarithm(cdf, "logcdf")


def sf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> AnyTensor:
    """The probability of more than x."""
    y, _, a_, b_ = standard("beta.sf", x, loc, scale, a, b)
    return betainc(b_, a_, clip(1 - y, 0, 1))


logsf = logarithm(sf, "logsf")
