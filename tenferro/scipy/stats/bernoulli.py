"""One trial that succeeds with probability p.

>>> tn.scipy.stats.bernoulli.pmf(1, 0.25)
Tensor(0.25)
"""

from __future__ import annotations

import math

from tenferro.namespace import where, xlog1py, xlogy
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """Logarithm of the probability of k."""
    y, _, p_ = standard("bernoulli.logpmf", k, loc, 1, p)
    return where((y == 0) | (y == 1), xlogy(y, p_) + xlog1py(1 - y, -p_), -math.inf)


pmf = exponential(logpmf, "pmf")
