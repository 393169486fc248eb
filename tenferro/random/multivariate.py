"""Vectors and matrices: normal with a covariance, in a ball, and orthogonal."""

from __future__ import annotations

from typing import Any

from tenferro import linalg
from tenferro import numpy as tn
from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike, Shape, TensorMeta
from tenferro.random.continuous import AnyKey, exponential, normal
from tenferro.random.derived import generalized_normal
from tenferro.random.prng import (
    element,
    natural,
    prepared,
    real_array,
    sizes,
    sizes_for,
    split,
    words_of,
)

__all__ = ["ball", "multivariate_normal", "orthogonal"]

_METHODS = ("cholesky", "eigh", "svd")


def multivariate_normal(
    key: AnyKey,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
) -> AnyTensor:
    """Vectors of the normal distribution with this mean and covariance.

    Args:
        key: a key.
        mean: [..., n]. Results are differentiable by it.
        cov: [..., n, n], symmetric and positive definite. Results are differentiable by it.
        shape: of the result without the last axis; by default the common shape of the axes before.
        dtype: floating-point; float64 by default.
        method: "cholesky"; or "eigh" or "svd", which also take singular covariances.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a parameter is complex.
        ConfigError: the method is none of these.
        ShapeError: it is an array of keys, or the shapes do not fit.

    >>> tn.random.multivariate_normal(tn.random.key(0), [0.0, 0.0], tn.eye(2), (3,)).shape
    (3, 2)
    """
    name = "random.multivariate_normal"
    words_of(name, key)
    kind = element(name, dtype)
    if method not in _METHODS:
        raise ConfigError(f"{name}: method must be one of {', '.join(_METHODS)}, got {method!r}")
    center, matrix = real_array(name, "mean", mean, kind), real_array(name, "cov", cov, kind)
    if not center.ndim or matrix.ndim < 2 or matrix.shape[-2:] != (center.shape[-1],) * 2:
        raise ShapeError(
            f"{name}: mean must be [..., n] and cov [..., n, n], "
            f"got {center.meta} and {matrix.meta}"
        )
    result = sizes_for(name, shape, [_before(center.meta, 1), _before(matrix.meta, 2)])
    noise: Any = normal(key, (*result, center.shape[-1]), kind)
    turned: Any = tn.matmul(_factor(matrix, method), noise[..., None])
    return center + turned[..., 0]  # type: ignore[no-any-return]


def _before(meta: TensorMeta, axes: int) -> TensorMeta:
    return meta.with_extents(meta.extents[: meta.rank - axes])


def _factor(matrix: Any, method: str) -> Any:
    """F with F·Fᵀ = the matrix."""
    if method == "cholesky":
        return linalg.cholesky(matrix)
    if method == "eigh":
        values, vectors = linalg.eigh(matrix)
        return vectors * tn.sqrt(values)[..., None, :]
    left, singular, _ = linalg.svd(matrix)
    return left * tn.sqrt(singular)[..., None, :]


def ball(
    key: AnyKey, d: int, p: float = 2, shape: Shape = (), dtype: DTypeLike | None = None
) -> AnyTensor:
    """Vectors [..., d] in the unit ball of the p-norm, each place as likely.

    Args:
        key: a key.
        d: the number of elements of a vector.
        p: the exponent of the norm, positive.
        shape: of the result without the last axis.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, d is not an integer, or p is
            complex.
        ShapeError: it is an array of keys, or d is negative.

    >>> bool(tn.linalg.norm(tn.random.ball(tn.random.key(0), 3)) < 1)
    True
    """
    kind, result = prepared("random.ball", key, shape, dtype)
    exponent = real_array("random.ball", "p", p, kind)
    keys: Any = split(key)
    whole = (*result, natural("random.ball", "d", d))
    vectors: Any = generalized_normal(keys[0], exponent, whole, kind)
    further: Any = exponential(keys[1], result, kind)
    norms = (tn.sum(tn.abs(vectors) ** exponent, axis=-1) + further) ** (1 / exponent)
    return vectors / norms[..., None]  # type: ignore[no-any-return]


def orthogonal(
    key: AnyKey, n: int, shape: Shape = (), dtype: DTypeLike | None = None, m: int | None = None
) -> AnyTensor:
    """Matrices [..., n, m] with orthonormal columns, or rows if m is larger, each as likely.

    Args:
        key: a key.
        n: the number of rows.
        shape: of the result without the last two axes.
        dtype: floating-point, float64 by default; or complex, which gives unitary matrices.
        m: the number of columns; by default n.

    Raises:
        DTypeError: it is not a key, dtype is neither floating-point nor complex, or n or m is not
            an integer.
        ShapeError: it is an array of keys, or n or m is negative.

    >>> q = tn.random.orthogonal(tn.random.key(0), 3)
    >>> bool(tn.allclose(q.T @ q, tn.eye(3)))
    True
    """
    name = "random.orthogonal"
    words_of(name, key)
    kind, rows = element(name, dtype, "fc"), natural(name, "n", n)
    columns = rows if m is None else natural(name, "m", m)
    tall = (*sizes(name, shape), max(rows, columns), min(rows, columns))
    q, r = linalg.qr(normal(key, tall, kind))
    signs: Any = tn.sign(tn.diagonal(r, axis1=-2, axis2=-1))
    result: Any = q * signs[..., None, :]
    return tn.matrix_transpose(result) if rows < columns else result
