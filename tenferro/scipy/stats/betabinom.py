"""The binomial distribution whose probability has a beta distribution.

>>> tn.scipy.stats.betabinom.pmf(0, 1, 1.0, 1.0)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import betaln, where
from tenferro.scipy.stats.form import exponential, standard, ways
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """Logarithm of the probability of k."""
    y, _, n_, a_, b_ = standard("betabinom.logpmf", k, loc, 1, n, a, b)
    return where(
        (y >= 0) & (y <= n_), ways(n_, y) + betaln(y + a_, n_ - y + b_) - betaln(a_, b_), -math.inf
    )


pmf = exponential(logpmf, "pmf")
