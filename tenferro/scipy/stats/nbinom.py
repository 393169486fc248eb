"""How many trials fail before n succeed, each with probability p.

>>> tn.scipy.stats.nbinom.pmf(0, 1, 0.5)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import lgamma, where, xlog1py, xlogy
from tenferro.scipy.stats.form import exponential, inside, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> AnyTensor:
    """Logarithm of the probability of k."""
    y, _, n_, p_ = standard("nbinom.logpmf", k, loc, 1, n, p)
    return where(
        y < 0,
        -math.inf,
        lgamma(inside(y >= 0, y) + n_)
        - lgamma(n_)
        - lgamma(inside(y >= 0, y) + 1)
        + xlogy(n_, p_)
        + xlog1py(y, -p_),
    )


pmf = exponential(logpmf, "pmf")
