"""Distributions of vectors."""

from __future__ import annotations

import math
from typing import Any

from tenferro import numpy as tn
from tenferro.config import flag
from tenferro.errors import ShapeError
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.linalg import cholesky, diagonal, eigvalsh, pinv, solve_triangular
from tenferro.numpy import any as any_of
from tenferro.scipy.stats.distribution import of_vectors

__all__ = ["dirichlet", "multinomial", "multivariate_normal"]


@of_vectors("logpdf")
def dirichlet(x: ArrayLike, alpha: ArrayLike) -> AnyTensor:
    """The Dirichlet distribution of concentrations alpha, of points whose coordinates sum to 1.

    Args:
        x: coordinates `[n, ...]`, along the first axis as in SciPy; the last one may be left out.
        alpha: concentrations `[n]`.

    Raises:
        ShapeError: the shapes are not these.

    >>> tn.scipy.stats.dirichlet.pdf([0.2, 0.8], [1.0, 1.0])
    Tensor(1.)
    """
    point, power = tn.asarray(x), tn.asarray(alpha)
    if power.ndim != 1 or point.ndim < 1 or power.shape[0] - point.shape[0] not in (0, 1):
        raise ShapeError(
            "dirichlet.logpdf: takes coordinates [n, ...] or [n-1, ...] and concentrations [n], "
            f"got {point.meta} and {power.meta}"
        )
    if point.shape[0] != power.shape[0]:
        point = tn.concat([point, 1 - tn.sum(point, axis=0, keepdims=True)])
    total = tn.sum(tn.lgamma(power)) - tn.lgamma(tn.sum(power))
    defined = tn.all(power > 0) & ~any_of(tn.isnan(point), axis=0)
    for _ in range(point.ndim - 1):
        power = tn.expand_dims(power, axis=-1)
    inside = tn.all(point >= 0, axis=0) & (tn.abs(tn.sum(point, axis=0) - 1) < 1e-6)
    density = tn.sum(tn.xlogy(power - 1, tn.where(inside, point, 0.5)), axis=0) - total
    return tn.where(defined, tn.where(inside, density, -math.inf), math.nan)


@of_vectors("logpmf")
def multinomial(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> AnyTensor:
    """How often each of several outcomes, of probabilities p, comes in n trials.

    Args:
        x: counts `[..., k]`.
        n: the number of trials `[...]`.
        p: probabilities `[..., k]`.

    >>> tn.scipy.stats.multinomial.pmf([1.0, 1.0], 2.0, [0.5, 0.5])
    Tensor(0.5)
    """
    counts, trials, chances = tn.asarray(x), tn.asarray(n), tn.asarray(p)
    defined = (trials >= 0) & (tn.floor(trials) == trials)
    defined = defined & tn.all((chances >= 0) & (chances <= 1), axis=-1)
    defined = defined & ~any_of(tn.isnan(counts), axis=-1)
    whole = (counts >= 0) & (tn.floor(counts) == counts)
    possible = (tn.sum(counts, axis=-1) == trials) & tn.all(whole, axis=-1)
    orders = tn.lgamma(trials + 1) - tn.sum(tn.lgamma(tn.where(whole, counts, 0) + 1), axis=-1)
    logs = orders + tn.sum(tn.xlogy(tn.where(whole, counts, 0), chances), axis=-1)
    return tn.where(defined, tn.where(possible, logs, -math.inf), math.nan)


def _normal_entropy(mean: ArrayLike | None = None, cov: ArrayLike = 1) -> AnyTensor:
    matrix = tn.asarray(cov)
    if matrix.ndim == 0:
        matrix = matrix * tn.eye(1 if mean is None else tn.asarray(mean).shape[-1])
    if matrix.ndim < 2:
        raise ShapeError(f"multivariate_normal.entropy: takes matrices, got {matrix.meta}")
    _, rank, log_volume = _spectrum(matrix)
    return (rank * (1 + math.log(2 * math.pi)) + log_volume) / 2


def _spectrum(matrix: AnyTensor) -> tuple[AnyTensor, AnyTensor, AnyTensor]:
    """From where on eigenvalues count, how many do, and the logarithm of their product.

    It is NaN for what is no covariance: a matrix with NaN, or with a negative eigenvalue.
    """
    values = eigvalsh(matrix)
    limit = _relative_limit(values) * tn.max(tn.abs(values), axis=-1, keepdims=True)
    counts = values > limit
    logs = tn.log(tn.where(tn.abs(values) <= limit, 1.0, values))
    return limit, tn.sum(counts, axis=-1).astype(values.dtype), tn.sum(logs, axis=-1)


def _relative_limit(values: AnyTensor) -> float:
    """SciPy's: rounding errors of covariances, relative to the largest eigenvalue."""
    return (1e3 if values.dtype == "float32" else 1e6) * float(tn.finfo(values.dtype).eps)


@of_vectors("logpdf", entropy=_normal_entropy)
def multivariate_normal(
    x: ArrayLike,
    mean: ArrayLike | None = None,
    cov: ArrayLike = 1,
    allow_singular: bool | None = None,
) -> AnyTensor:
    """The normal distribution of vectors, along the last axis.

    Args:
        x: vectors `[..., n]`.
        mean: vectors `[..., n]`; 0 by default.
        cov: positive definite matrices `[..., n, n]`, or the variance of all elements.
        allow_singular: matrices may be semidefinite; the density is then that within their range,
            and 0 outside of it.

    Raises:
        ConfigError: `allow_singular` is neither a bool nor None.
        ShapeError: an operand has too few axes.

    >>> tn.scipy.stats.multivariate_normal.logpdf([0.0], [0.0], [[1.0]])
    Tensor(-0.91893853)
    """
    vectors, matrix = tn.asarray(x), tn.asarray(cov)
    center = tn.zeros_like(vectors) if mean is None else tn.asarray(mean)
    if matrix.ndim == 0 and vectors.ndim:
        matrix = matrix * tn.eye(vectors.shape[-1], dtype=matrix.dtype)
    if vectors.ndim < 1 or center.ndim < 1 or matrix.ndim < 2:
        raise ShapeError(
            "multivariate_normal.logpdf: takes vectors, vectors and matrices, got "
            f"{vectors.meta}, {center.meta} and {matrix.meta}; use norm for numbers"
        )
    offsets: Any = tn.expand_dims(vectors - center, axis=-1)
    if allow_singular is not None and flag("multivariate_normal: allow_singular", allow_singular):
        limit, rank, log_volume = _spectrum(matrix)
        inverse: Any = pinv(matrix, _relative_limit(limit), hermitian=True)
        solved = inverse @ offsets
        rest = tn.squeeze(offsets - matrix @ solved, axis=-1)
        wide = 1e3 if limit.dtype == "float64" else 10.0
        outside = tn.sum(rest * rest, axis=-1) > (wide * tn.squeeze(limit, axis=-1)) ** 2
        squares = tn.sum(tn.squeeze(offsets * solved, axis=-1), axis=-1)
        density = -(squares + rank * math.log(2 * math.pi) + log_volume) / 2
        return tn.where(outside, -math.inf, density)
    factor: Any = cholesky(matrix)
    scaled: Any = tn.squeeze(solve_triangular(factor, offsets, lower=True), axis=-1)
    size = tn.asarray(matrix.shape[-1]).astype(factor.dtype)
    volume = tn.log(diagonal(factor)).sum(-1) + size * (math.log(2 * math.pi) / 2)
    return tn.square(scaled).sum(-1) * -0.5 - volume
