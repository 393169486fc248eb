"""The von Mises distribution on the circle, of concentration kappa.

>>> tn.scipy.stats.vonmises.logpdf(0.0, 1.0)
Tensor(-1.07379142)
"""

from __future__ import annotations

import math

from tenferro.namespace import cos, i0e, log, where
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, kappa: ArrayLike) -> AnyTensor:
    """Logarithm of the density."""
    y, _, kappa_ = standard("vonmises.logpdf", x, 0, 1, kappa)
    return where(kappa_ > 0, kappa_ * (cos(y) - 1) - log(i0e(kappa_) * (2 * math.pi)), math.nan)


pdf = exponential(logpdf, "pdf")
