"""The wrapped Cauchy distribution on the circle, of concentration c.

>>> tn.scipy.stats.wrapcauchy.pdf(0.0, 0.5)
Tensor(0.47746483)
"""

from __future__ import annotations

import math

from tenferro.namespace import cos, log, log1p, where
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, c: ArrayLike) -> AnyTensor:
    """Logarithm of the density."""
    y, _, c_ = standard("wrapcauchy.logpdf", x, 0, 1, c)
    return where(
        (c_ > 0) & (c_ < 1),
        where(
            (y >= 0) & (y <= 2 * math.pi),
            log1p(-c_ * c_) - math.log(2 * math.pi) - log(c_ * c_ + 1 - c_ * cos(y) * 2),
            -math.inf,
        ),
        math.nan,
    )


pdf = exponential(logpdf, "pdf")
