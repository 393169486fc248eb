"""The Laplace distribution about `loc`.

>>> tn.scipy.stats.laplace.cdf(0.0)
Tensor(0.5)
"""

from __future__ import annotations

from tenferro.namespace import abs, exp, log, where
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width = standard("laplace.logpdf", x, loc, scale)
    return -abs(y) - log(width * 2)


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _ = standard("laplace.cdf", x, loc, scale)
    return where(y <= 0, exp(-abs(y)) * 0.5, 1 - exp(-abs(y)) * 0.5)
