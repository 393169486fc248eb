"""Vectors of the normal distribution with a covariance."""

from __future__ import annotations

from typing import Any

from tenferro import linalg
from tenferro import namespace as tn
from tenferro.errors import DTypeError, ShapeError
from tenferro.random.continuous import AnyKey, normal
from tenferro.random.gammas import positive
from tenferro.random.keys import words_of
from tenferro.random.parameters import element, sizes
from tenferro.shape import FLOAT64, TensorMeta
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike, Shape

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
        DTypeError: it is not a key, dtype is not floating-point, a parameter is complex, or the
            method is none of these.
        ShapeError: it is an array of keys, or the shapes do not fit.

    >>> tn.random.multivariate_normal(tn.random.key(0), [0.0, 0.0], tn.eye(2), (3,)).shape
    (3, 2)
    """
    name = "random.multivariate_normal"
    words_of(name, key)
    kind = element(name, dtype)
    if method not in _METHODS:
        raise DTypeError(f"{name}: method must be one of {', '.join(_METHODS)}, got {method!r}")
    center, matrix = positive(name, "mean", mean, kind), positive(name, "cov", cov, kind)
    if not center.ndim or matrix.ndim < 2 or matrix.shape[-2:] != (center.shape[-1],) * 2:
        raise ShapeError(
            f"{name}: mean must be [..., n] and cov [..., n, n], "
            f"got {center.meta} and {matrix.meta}"
        )
    batches = [_batch(center, 1), _batch(matrix, 2)]
    result = sizes(name, shape, *batches)
    noise: Any = normal(key, (*result, center.shape[-1]), kind)
    turned: Any = tn.matmul(_factor(matrix, method), noise[..., None])
    return center + turned[..., 0]  # type: ignore[no-any-return]


def _batch(array: Any, axes: int) -> Any:
    """What has the leading axes of an array, for checks of shapes."""
    meta: TensorMeta = array.meta
    return _Typed(TensorMeta(FLOAT64, meta.extents[: meta.rank - axes]))


class _Typed:
    """Something with a type."""

    def __init__(self, meta: TensorMeta) -> None:
        self.meta = meta


def _factor(matrix: Any, method: str) -> Any:
    """F with F·Fᵀ = the matrix."""
    if method == "cholesky":
        return linalg.cholesky(matrix)
    if method == "eigh":
        values, vectors = linalg.eigh(matrix)
        return vectors * tn.sqrt(values)[..., None, :]
    left, singular, _ = linalg.svd(matrix)
    return left * tn.sqrt(singular)[..., None, :]
