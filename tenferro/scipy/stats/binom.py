"""How many of n trials succeed, each with probability p.

>>> tn.scipy.stats.binom.pmf(1, 2, 0.5)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import where, xlog1py, xlogy
from tenferro.scipy.stats.form import exponential, standard, ways
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """Logarithm of the probability of k."""
    y, _, n_, p_ = standard("binom.logpmf", k, loc, 1, n, p)
    return where((y >= 0) & (y <= n_), ways(n_, y) + xlogy(y, p_) + xlog1py(n_ - y, -p_), -math.inf)


pmf = exponential(logpmf, "pmf")
