"""The generalized normal distribution of exponent beta.

>>> tn.scipy.stats.gennorm.cdf(0.0, 2.0)
Tensor(0.5)
"""

from __future__ import annotations

from tenferro.namespace import abs, lgamma, log, sign
from tenferro.scipy.special import gammainc
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: ArrayLike, beta: ArrayLike) -> AnyTensor:
    """Logarithm of the density."""
    y, _, beta_ = standard("gennorm.logpdf", x, 0, 1, beta)
    return log(beta_ * 0.5) - lgamma(1 / beta_) - abs(y) ** beta_


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, beta: ArrayLike) -> AnyTensor:
    """The probability of at most x."""
    y, _, beta_ = standard("gennorm.cdf", x, 0, 1, beta)
    return (sign(y) * gammainc(1 / beta_, abs(y) ** beta_) + 1) * 0.5
