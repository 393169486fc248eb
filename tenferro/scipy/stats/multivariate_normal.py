"""The normal distribution of vectors, along the last axis.

>>> tn.scipy.stats.multivariate_normal.logpdf([0.0], [0.0], [[1.0]])
Tensor(-0.91893853)
"""

from __future__ import annotations

import math

from tenferro.errors import ShapeError
from tenferro.linalg import cholesky, diagonal, solve_triangular
from tenferro.namespace import asarray, expand_dims, log, square, squeeze
from tenferro.scipy.stats.form import exponential
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> AnyTensor:
    """Logarithm of the density.

    Args:
        x: vectors `[..., n]`.
        mean: vectors `[..., n]`.
        cov: positive definite matrices `[..., n, n]`.

    Raises:
        ShapeError: an operand has too few axes.
    """
    vectors, center, matrix = asarray(x), asarray(mean), asarray(cov)
    if vectors.ndim < 1 or center.ndim < 1 or matrix.ndim < 2:
        raise ShapeError(
            "multivariate_normal.logpdf: takes vectors, vectors and matrices, got "
            f"{vectors.meta}, {center.meta} and {matrix.meta}; use norm for numbers"
        )
    factor = cholesky(matrix)
    offsets = expand_dims(vectors - center, axis=-1)
    scaled = squeeze(solve_triangular(factor, offsets, lower=True), axis=-1)
    n = matrix.shape[-1]
    volume = log(diagonal(factor)).sum(-1)
    return square(scaled).sum(-1) * -0.5 - volume - math.log(2 * math.pi) / 2 * asarray(n)


pdf = exponential(logpdf, "pdf")
