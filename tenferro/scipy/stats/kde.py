"""gaussian_kde: the density that a sample comes from, as a sum of normal distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from tenferro import linalg, random
from tenferro import numpy as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError, counted
from tenferro.ir import AnyTensor, ArrayLike, dtype_kind, is_complex
from tenferro.numpy import cov
from tenferro.scipy.special import ndtr
from tenferro.transforms import register_class

__all__ = ["gaussian_kde"]

_FIELDS = ("dataset", "weights", "covariance", "inv_cov")


class gaussian_kde:  # noqa: N801  # the name that SciPy gives it
    """An estimate of the density that a sample comes from: a normal distribution at each point.

    It is a tree, so that it can be an argument of compiled functions, and results are
    differentiable by the sample.

    Args:
        dataset: points as columns, `[d, n]`, or n numbers.
        bw_method: how wide the distributions are, as a factor of the standard deviation: "scott",
            the default, "silverman", a number, or a function of the estimate.
        weights: of the points; by default all are equal.

    Attributes:
        dataset: the points, `[d, n]`.
        weights: their weights, which sum to 1.
        covariance: of the distributions, `[d, d]`.
        inv_cov: its inverse.

    Raises:
        ShapeError: the dataset has less than two elements, or the weights do not fit.
        DTypeError: the dataset is complex.
        ConfigError: there is no such method.

    >>> kde = tn.scipy.stats.gaussian_kde([0.0, 1.0, 2.0])
    >>> round(kde(1.0).item(), 6)
    0.318156
    """

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: str | float | Callable[[gaussian_kde], ArrayLike] | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        points: Any = tn.atleast_2d(dataset)
        if is_complex(points.dtype):
            raise DTypeError(f"gaussian_kde: takes real points, got {points.meta}")
        if points.ndim != 2 or points.size < 2:
            raise ShapeError(f"gaussian_kde: takes at least two points, got {points.meta}")
        self.dataset = points
        self.weights: Any = _normal_weights(weights, points.shape[1], points.dtype)
        factor = self._factor("scott" if bw_method is None else bw_method)
        spread: Any = tn.atleast_2d(cov(points, aweights=self.weights))
        self.covariance = spread * factor**2
        self.inv_cov: Any = linalg.inv(self.covariance)

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return self.dataset.shape[0]  # type: ignore[no-any-return]  # an int

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]  # type: ignore[no-any-return]  # an int

    @property
    def neff(self) -> Any:
        """How many points of equal weight say as much."""
        return 1 / tn.sum(self.weights**2)

    def evaluate(self, points: ArrayLike) -> AnyTensor:
        """The density at points `[d, m]`, or at numbers if d is 1."""
        return tn.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def logpdf(self, x: ArrayLike) -> AnyTensor:
        """Logarithm of the density at points `[d, m]`, or at numbers if d is 1."""
        points: Any = tn.atleast_2d(x)
        if points.shape[0] != self.d:
            if (points.shape[0], points.shape[1]) != (1, self.d):
                raise ShapeError(
                    f"gaussian_kde: points must have {counted(self.d, 'coordinate')}, got "
                    f"{points.meta}"
                )
            points = points.T  # one point
        factor: Any = linalg.cholesky(self.covariance)
        offsets: Any = points[:, :, None] - self.dataset[:, None, :]
        return _log_sum(factor, offsets, self.weights)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> AnyTensor:
        """The integral of the density times a normal distribution."""
        center: Any = tn.atleast_1d(tn.squeeze(tn.asarray(mean)))
        spread: Any = tn.atleast_2d(cov)
        if center.shape != (self.d,) or spread.shape != (self.d, self.d):
            raise ShapeError(
                f"integrate_gaussian: takes a mean [{self.d}] and a covariance [{self.d},{self.d}]"
                f", got {center.meta} and {spread.meta}"
            )
        factor: Any = linalg.cholesky(self.covariance + spread)
        offsets = (self.dataset - center[:, None])[:, None, :]
        return tn.exp(_log_sum(factor, offsets, self.weights))[0]

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> AnyTensor:
        """The probability of numbers between two bounds."""
        if self.d != 1:
            raise ShapeError(f"integrate_box_1d: the points must be numbers, but have {self.d}")
        deviation = tn.sqrt(self.covariance[0, 0])
        upper, lower = ((end - self.dataset[0]) / deviation for end in (high, low))
        return tn.sum(self.weights * (ndtr(upper) - ndtr(lower)))

    def integrate_kde(self, other: gaussian_kde) -> AnyTensor:
        """The integral of the product with another estimate."""
        if other.d != self.d:
            raise ShapeError(
                f"integrate_kde: points have {self.d} and {counted(other.d, 'coordinate')}"
            )
        factor: Any = linalg.cholesky(self.covariance + other.covariance)
        offsets: Any = other.dataset[:, :, None] - self.dataset[:, None, :]
        return tn.sum(other.weights * tn.exp(_log_sum(factor, offsets, self.weights)))

    def resample(self, key: Any, shape: Any = ()) -> AnyTensor:
        """Points of this density, `[d, *shape]`, as `jax.scipy.stats` draws them from a key."""
        for_place, for_noise = random.split(key)
        places: Any = random.choice(for_place, self.n, shape=shape, p=self.weights)
        mean = tn.zeros(self.d, self.covariance.dtype)
        noise: Any = random.multivariate_normal(
            for_noise, mean, self.covariance, shape=shape, dtype=self.dataset.dtype
        )
        return tn.add(self.dataset[:, places], tn.moveaxis(noise, -1, 0))

    def _factor(self, method: Any) -> Any:
        if callable(method):
            return method(self)
        if method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if isinstance(method, str):
            raise ConfigError(
                f"gaussian_kde: bw_method must be scott, silverman, a number or a function, got "
                f"{method!r}"
            )
        return method


def _normal_weights(weights: ArrayLike | None, count: int, dtype: Any) -> Any:
    if weights is None:
        return tn.full((count,), 1 / count, dtype if dtype_kind(dtype) == "f" else None)
    values: Any = tn.atleast_1d(weights)
    if values.shape != (count,):
        raise ShapeError(f"gaussian_kde: weights must be one for each point, got {values.meta}")
    return values / tn.sum(values)


def _log_sum(factor: Any, offsets: Any, weights: Any) -> AnyTensor:
    """Logarithm of the weighted sum of normal densities at offsets `[d, m, n]`, over n."""
    d, m, n = offsets.shape
    scaled: Any = linalg.solve_triangular(factor, offsets.reshape((d, m * n)), lower=True)
    energy = tn.sum(scaled**2, axis=0).reshape((m, n)) / 2
    volume = tn.sum(tn.log(tn.diagonal(factor))) + d / 2 * math.log(2 * math.pi)
    return tn.subtract(tn.logsumexp(-energy, axis=-1, b=weights), volume)


def _children(kde: Any) -> tuple[tuple[Any, ...], None, tuple[str, ...]]:
    return tuple(getattr(kde, name) for name in _FIELDS), None, _FIELDS


def _rebuilt(_: Any, children: Iterable[Any]) -> Any:
    kde: Any = gaussian_kde.__new__(gaussian_kde)
    for name, value in zip(_FIELDS, children, strict=True):
        setattr(kde, name, value)
    return kde


register_class(gaussian_kde, _children, _rebuilt)
