"""Parameters at which the formulas of JAX give no numbers of the distribution."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest
import scipy.stats

import tenferro as tn
from tenferro import random

KEY = random.key(0)
INF = math.inf


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def fits(numbers: Any, distribution: Any) -> bool:
    """Whether numbers are of a distribution, by the test of Kolmogorov and Smirnov."""
    return bool(scipy.stats.kstest(np.asarray(numbers, "f8"), distribution.cdf).pvalue > 0.01)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        *(("float64", 9.0, 1e6), ("float64", -INF, -12.0), ("float64", 8.0, 8.00001)),
        *(("float64", -40.0, -39.5), ("float64", 30.0, INF)),
        *(("float32", 5.25, 1e6), ("float32", 7.0, 9.0), ("float32", -20.0, -8.0)),
    ],
)
def test_normal_numbers_far_in_a_tail_are_of_their_distribution(
    dtype: str, low: float, high: float
) -> None:
    numbers = random.truncated_normal(KEY, low, high, (4000,), dtype)
    assert fits(numbers, scipy.stats.truncnorm(low, high))
    bounds = np.asarray(low, dtype), np.asarray(high, dtype)
    np.testing.assert_array_equal(random.truncated_normal(KEY, *bounds, (4000,), dtype), numbers)


def test_normal_numbers_that_erf_can_tell_apart_are_those_of_jax() -> None:
    low = np.array([-3.0, 0.0, 2.0, 5.0, -7.0, 1.0, 2.5])
    high = np.array([3.0, INF, 2.5, INF, -4.0, 1.0, 1.0])
    ours = random.truncated_normal(KEY, low, high, (500, 7))
    theirs = jax.random.truncated_normal(jax.random.key(0), low, high, (500, 7))
    np.testing.assert_allclose(ours, theirs, 1e-8)  # erf has few digits left at 5


def test_the_derivative_by_a_bound_in_the_tail_is_the_difference() -> None:
    def total(low: Any) -> Any:
        return tn.sum(random.truncated_normal(KEY, low, 20.0, (3,)))

    difference = (total(9.0 + 1e-6) - total(9.0 - 1e-6)).item() / 2e-6
    for slope in (tn.grad(total)(9.0), tn.jit(tn.grad(total), executor="numpy")(9.0)):
        np.testing.assert_allclose(slope, difference, 1e-7)


@pytest.mark.parametrize("mean", [2.0, 1e4, 1e10, 1e200, INF])
def test_wald_numbers_of_large_means_are_of_their_distribution(mean: float) -> None:
    numbers = np.asarray(random.wald(KEY, mean, (4000,)))
    assert (numbers > 0).all()
    theirs = scipy.stats.invgauss(mean) if mean < 1e5 else scipy.stats.levy
    assert fits(numbers, theirs)
    assert np.isfinite(tn.grad(lambda m: tn.sum(random.wald(KEY, m, (9,))))(mean).item())
    if mean < 100:
        expected = jax.random.wald(jax.random.key(0), mean, (4000,))
        np.testing.assert_allclose(numbers, expected, 1e-10)


@pytest.mark.exhaustive
def test_infinitely_many_degrees_of_freedom_are_normal() -> None:
    both = np.asarray(random.t(KEY, np.array([INF, 3.0]), (300, 2)))
    theirs = np.asarray(jax.random.t(jax.random.key(0), np.array([INF, 3.0]), (300, 2)))
    np.testing.assert_allclose(both[:, 1], theirs[:, 1], 1e-11)
    np.testing.assert_array_equal(both[:, 0], random.normal(random.split(KEY)[0], (300, 2))[:, 0])
    assert fits(random.f(KEY, 4.0, INF, (2000,)) * 4, scipy.stats.chi2(4))
    assert random.f(KEY, INF, INF).item() == 1


def test_concentrations_near_0_have_a_derivative() -> None:
    def total(draw: Any, *others: float) -> Any:
        return lambda a: tn.sum(draw(KEY, a, *others, dtype="float32") ** 2)

    alpha = np.array([2.5e-37, 2.4, 4.0], "float32")
    for f in (total(random.dirichlet), total(random.beta, 2.0), total(random.chisquare)):
        for slope in (tn.grad(f)(alpha), tn.jit(tn.grad(f), executor="numpy")(alpha)):
            assert slope[0].item() == 0
            assert np.isfinite(np.asarray(slope)).all()


def test_an_infinite_poisson_mean_is_minus_1_beside_any_other() -> None:
    means = np.array([INF, 20.0, -INF, 50.0, 3.0, np.nan, -2.0])
    ordinary = [1, 3, 4]
    for seed in range(12):
        drawn = np.asarray(random.poisson(random.key(seed), means, (7,)))
        assert np.delete(drawn, ordinary).tolist() == [-1] * 4
        assert (drawn[ordinary] >= 0).all()


def test_bits_without_a_dtype_are_those_of_jax_with_64_bits() -> None:
    for seed in range(3):
        ours = random.bits(random.key(seed), (5,))
        theirs = jax.random.bits(jax.random.key(seed), (5,))
        assert ours.dtype == theirs.dtype == "uint64"
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("dtype", "width"), [("float64", 1e300), ("float32", 1e-30), ("float64", 2)]
)
def test_triangles_may_be_of_any_width(dtype: str, width: float) -> None:
    numbers = random.triangular(KEY, 0.0, 0.25 * width, width, (2000,), dtype)
    assert fits(np.asarray(numbers, "f8") / width, scipy.stats.triang(0.25))
    if width == 2:
        theirs = jax.random.triangular(jax.random.key(0), 0.0, 0.5, 2.0, (2000,))
        np.testing.assert_allclose(numbers, theirs, 1e-14)
        assert random.triangular(KEY, 3.0, 3.0, 3.0).item() == 3


def test_wald_numbers_of_small_means_are_near_the_mean() -> None:
    for dtype, mean in (("float64", 1e-300), ("float32", 1e-30)):
        numbers = np.asarray(random.wald(KEY, mean, (2000,), dtype), "f8")
        np.testing.assert_allclose(numbers, mean, 1e-6)
