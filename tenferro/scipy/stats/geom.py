"""How many trials until one succeeds, each with probability p.

>>> tn.scipy.stats.geom.pmf(1, 0.5)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import log, where, xlog1py
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """Logarithm of the probability of k."""
    y, _, p_ = standard("geom.logpmf", k, loc, 1, p)
    return where(y >= 1, xlog1py(y - 1, -p_) + log(p_), -math.inf)


pmf = exponential(logpmf, "pmf")
