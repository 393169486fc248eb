"""How often each of several outcomes, of probabilities p, comes in n trials.

>>> tn.scipy.stats.multinomial.pmf([1.0, 1.0], 2.0, [0.5, 0.5])
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import all, asarray, lgamma, sum, where, xlogy
from tenferro.scipy.stats.form import exponential
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> AnyTensor:
    """Logarithm of the probability of these counts.

    Args:
        x: counts `[..., k]`.
        n: the number of trials `[...]`.
        p: probabilities `[..., k]`.
    """
    counts, trials = asarray(x), asarray(n)
    possible = (sum(counts, axis=-1) == trials) & all(counts >= 0, axis=-1)
    ways = lgamma(trials + 1) - sum(lgamma(where(counts >= 0, counts, 0) + 1), axis=-1)
    return where(possible, ways + sum(xlogy(counts, p), axis=-1), -math.inf)


pmf = exponential(logpmf, "pmf")
