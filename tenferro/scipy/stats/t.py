"""Student's t distribution of df degrees of freedom.

>>> tn.scipy.stats.t.pdf(0.0, 2.0)
Tensor(0.35355339)
"""

from __future__ import annotations

import math

from tenferro.namespace import lgamma, log, log1p
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> AnyTensor:
    """Logarithm of the density."""
    y, width, df_ = standard("t.logpdf", x, loc, scale, df)
    return (
        lgamma((df_ + 1) / 2)
        - lgamma(df_ / 2)
        - log(df_ * math.pi) / 2
        - log(width)
        - (df_ + 1) / 2 * log1p(y * y / df_)
    )


pdf = exponential(logpdf, "pdf")
