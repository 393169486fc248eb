"""The uniform distribution from `loc` to `loc + scale`.

>>> tn.scipy.stats.uniform.cdf(0.5)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import clip, log, where
from tenferro.scipy.real import real
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width = standard("uniform.logpdf", x, loc, scale)
    return where((y >= 0) & (y <= 1), -log(width), -math.inf)


pdf = exponential(logpdf, "pdf")


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The probability of at most x."""
    y, _ = standard("uniform.cdf", x, loc, scale)
    return clip(y, 0, 1)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """The inverse of `cdf`."""
    q_, loc_, scale_ = real("uniform.ppf", q, loc, scale)
    return (where((q_ >= 0) & (q_ <= 1), q_, math.nan)) * scale_ + loc_
