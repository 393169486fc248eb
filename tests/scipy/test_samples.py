"""What is said of samples, and distributions of vectors, against SciPy and JAX."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import numpy as np
import pytest
import scipy.stats
from scipy.special import digamma

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.scipy import stats

R = np.random.default_rng(0)
A = R.integers(0, 4, size=(5, 3)).astype(float)
POINTS = R.normal(size=(2, 9))
AT = np.array([[0.1], [0.2]])
WEIGHTS = R.uniform(0.5, 1.5, size=9)


def close(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    for one, other in zip(tn.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol, 1e-14)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_samples_are_described_as_in_scipy(axis: int | None) -> None:
    def ours(a: Any) -> Any:
        ranks = [stats.rankdata(a, method, axis=axis) for method in METHODS]
        return stats.sem(a, axis), *stats.mode(a, axis), *stats.mode(a, axis, keepdims=True), ranks

    METHODS = ("average", "min", "max", "dense", "ordinal")  # noqa: N806  # read above
    theirs = scipy.stats
    expected = (
        theirs.sem(A, axis),
        *theirs.mode(A, axis),
        *theirs.mode(A, axis, keepdims=True),
        [theirs.rankdata(A, method, axis=axis) for method in METHODS],
    )
    close(ours(A), expected)
    close(tn.jit(ours, executor="numpy")(A), expected)


def test_nan_in_a_sample() -> None:
    a = np.array([1.0, np.nan, np.nan, 2.0, 2.0])
    assert np.isnan(stats.rankdata(a).numpy()).all()
    close(tuple(stats.mode(a)), tuple(jax.scipy.stats.mode(a)))
    close(stats.sem(a, nan_policy="omit"), scipy.stats.sem(a, nan_policy="omit"))
    assert stats.mode(np.ones((0, 2))).count.tolist() == [0, 0]
    assert stats.rankdata([]).shape == (0,)


def test_densities_of_vectors_and_their_gradients() -> None:
    alpha, x = np.array([0.7, 2.0, 1.3]), np.array([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]])
    close(stats.dirichlet.logpdf(x, alpha), scipy.stats.dirichlet.logpdf(x, alpha))
    close(stats.dirichlet.pdf(x[:2], alpha), scipy.stats.dirichlet.pdf(x, alpha))
    assert stats.dirichlet.pdf([0.5, 0.6, 0.1], alpha).item() == 0
    n, k, p = 5, np.array([[2, 1, 2], [5, 0, 0], [1, 1, 1]]), np.array([0.2, 0.3, 0.5])
    close(stats.multinomial.logpmf(k, n, p), scipy.stats.multinomial.logpmf(k, n, p))
    slopes = (alpha - 1) / x[:, 0], np.log(x[:, 0]) - digamma(alpha) + digamma(alpha.sum())
    close(tn.grad(stats.dirichlet.logpdf, (0, 1))(x[:, 0], alpha), slopes)
    close(tn.grad(lambda p: stats.multinomial.logpmf(k[0], n, p))(p), k[0] / p)


def test_the_entropy_of_the_poisson_distribution_is_scipys() -> None:
    mu = np.array([0.0, 0.4, 5.0, 60.0, 99.9, 100.1, 900.0])
    close(stats.poisson.entropy(mu), scipy.stats.poisson.entropy(mu), 1e-9)
    slopes = tn.vmap(tn.grad(stats.poisson.entropy))(mu[4:6])
    np.testing.assert_allclose(slopes[0], slopes[1], 5e-3)


@pytest.mark.parametrize("method", ["scott", "silverman", 0.4])
def test_the_density_of_a_sample_is_scipys(method: Any) -> None:
    for points, weights in ((POINTS, WEIGHTS), (POINTS[0], None)):
        ours = stats.gaussian_kde(points, method, weights)
        theirs = scipy.stats.gaussian_kde(points, method, weights)
        at = R.normal(size=(theirs.d, 4))
        close(ours(at), theirs(at), 1e-9)
        close(ours.logpdf(at), theirs.logpdf(at), 1e-9)
        close(ours.neff, theirs.neff)
        mean, spread = np.ones(theirs.d), np.eye(theirs.d)
        close(ours.integrate_gaussian(mean, spread), theirs.integrate_gaussian(mean, spread), 1e-9)
        close(ours.integrate_kde(ours), theirs.integrate_kde(theirs), 1e-9)
    close(ours.integrate_box_1d(-1.0, 0.5), theirs.integrate_box_1d(-1.0, 0.5), 1e-9)


def test_an_estimate_is_a_tree_and_draws_what_jax_draws() -> None:
    kde = stats.gaussian_kde(POINTS, weights=WEIGHTS)
    density = tn.jit(lambda kde, x: kde.logpdf(x), executor="numpy")
    close(density(kde, POINTS[:, :2]), kde.logpdf(POINTS[:, :2]))
    slope = tn.grad(lambda points: stats.gaussian_kde(points).logpdf(AT)[0])(POINTS)
    with jax.enable_x64(True):
        theirs = jax.scipy.stats.gaussian_kde
        expected = jax.jit(jax.grad(lambda points: theirs(points).logpdf(AT)[0]))(POINTS)
        drawing = jax.jit(lambda key: theirs(POINTS, weights=WEIGHTS).resample(key, (4,)))
        drawn = drawing(jax.random.key(3))
    close(slope, expected, 1e-9)
    close(kde.resample(tn.random.key(3), (4,)), drawn, 1e-9)
    close(pickle.loads(pickle.dumps(kde))(POINTS), kde(POINTS))


def test_wrong_samples_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^sem: nan_policy must be propagate or omit, got 'rai"):
        stats.sem(A, nan_policy="raise")
    with pytest.raises(ConfigError, match=r"^rankdata: method must be one of average, min"):
        stats.rankdata(A, "best")
    with pytest.raises(ShapeError, match=r"^gaussian_kde: takes at least two points, got f64\[1,1"):
        stats.gaussian_kde([1.0])
    with pytest.raises(ShapeError, match=r"^gaussian_kde: points must have 2 coordinates"):
        stats.gaussian_kde(POINTS)(np.ones((3, 4)))
    with pytest.raises(DTypeError, match=r"^gaussian_kde: takes real points"):
        stats.gaussian_kde([1j, 2.0])
    with pytest.raises(ShapeError, match=r"^dirichlet.logpdf: takes coordinates \[n"):
        stats.dirichlet.logpdf([0.5, 0.5], 1.0)


def test_an_estimate_of_float32_points_is_float32() -> None:
    points = np.array([0.1, 0.5, 2.0], "float32")
    estimate = stats.gaussian_kde(points)
    found = [
        estimate.pdf(points),
        estimate.covariance,
        estimate.integrate_box_1d(points[0], points[1]),
    ]
    assert {str(each.dtype) for each in found} == {"float32"}
    assert stats.gaussian_kde(points).pdf(points.astype("float64")).dtype == "float64"
    assert stats.gaussian_kde([1, 2, 4]).pdf(1.0).dtype == "float64"
