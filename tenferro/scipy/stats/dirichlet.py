"""The Dirichlet distribution of concentrations alpha, of points whose coordinates sum to 1.

>>> tn.scipy.stats.dirichlet.pdf([0.2, 0.8], [1.0, 1.0])
Tensor(1.)
"""

from __future__ import annotations

import math

from tenferro.errors import ShapeError
from tenferro.namespace import abs, all, asarray, concat, expand_dims, lgamma, sum, where, xlogy
from tenferro.scipy.stats.form import exponential
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, alpha: ArrayLike) -> AnyTensor:
    """Logarithm of the density.

    Args:
        x: coordinates `[n, ...]`, along the first axis as in SciPy; the last one may be left out.
        alpha: concentrations `[n]`.

    Raises:
        ShapeError: the shapes are not these.
    """
    point, power = asarray(x), asarray(alpha)
    if power.ndim != 1 or point.ndim < 1 or power.shape[0] - point.shape[0] not in (0, 1):
        raise ShapeError(
            "dirichlet.logpdf: takes coordinates [n, ...] or [n-1, ...] and concentrations [n], "
            f"got {point.meta} and {power.meta}"
        )
    if point.shape[0] != power.shape[0]:
        point = concat([point, 1 - sum(point, axis=0, keepdims=True)])
    total = sum(lgamma(power)) - lgamma(sum(power))
    for _ in range(point.ndim - 1):
        power = expand_dims(power, axis=-1)
    valid = all(point > 0, axis=0) & (abs(sum(point, axis=0) - 1) < 1e-6)
    density = sum(xlogy(power - 1, where(valid, point, 0.5)), axis=0) - total
    return where(valid, density, -math.inf)


pdf = exponential(logpdf, "pdf")
