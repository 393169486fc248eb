"""Distributions: JAX's numbers, derivatives, and moments for fixed seeds."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADRuleError
from tests.random.calls import CALLS, SHAPES, draw

WEIGHTS = np.array([0.3, -1.2])

exhaustive = pytest.mark.exhaustive


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


WIDE: dict[str, tuple[Any, ...]] = {
    **CALLS,
    **dict.fromkeys(
        ["normal", "exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell"], ((40,),)
    ),
    "bits": ((9,), "uint32"),
    "truncated_normal": (-1.0, np.array([0.5, 2.0]), (20, 2)),
    "gamma": (np.array([0.01, 0.5, 1.0, 3.0, 50.0]), (4, 5)),
    "wald": (SHAPES, (20, 2)),
    "poisson": (np.array([0.0, 0.5, 3.0, 9.9, 10.0, 50.0, 1e3, np.nan]),),
    "triangular": (0.0, np.array([0.2, 0.9]), 1.0, (20, 2)),
    "dirichlet": (SHAPES, (3,)),
    "orthogonal": (2, (3,), None, 4),
    "multivariate_normal": (np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]]), (4,)),
}
"""More numbers of each kind."""


@exhaustive
@pytest.mark.parametrize("name", WIDE)
def test_numbers_are_those_of_jax(name: str) -> None:
    ours = getattr(tn.random, name)(tn.random.key(42), *WIDE[name])
    theirs = getattr(jax.random, name)(jax.random.key(42), *WIDE[name])
    # XLA's log1p and erf_inv have errors of hundreds of units of rounding near 0.
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12)
    assert ours.dtype == theirs.dtype


@exhaustive
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_on_xla_numbers_are_those_of_jax_bit_for_bit(dtype: str) -> None:
    names = ["normal", "exponential", "gumbel", "laplace", "logistic", "cauchy"]

    def draws(module: Any) -> Any:
        return lambda key: [getattr(module, name)(key, (40,), dtype) for name in names]

    ours = tn.jit(draws(tn.random), executor="xla")(tn.random.key(42))
    with jax.enable_x64(dtype == "float64"):
        theirs = jax.jit(draws(jax.random))(jax.random.key(42))
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one.numpy(), other, rtol=4 * np.finfo(dtype).eps, atol=0)


def test_normal_numbers_on_numpy_are_rounded_to_a_few_units() -> None:
    special = pytest.importorskip("scipy.special")
    key = tn.random.key(1)
    uniform = tn.random.uniform(key, (4000,), minval=np.nextafter(-1, 0), maxval=1.0).numpy()
    exact = np.sqrt(2) * special.erfinv(uniform)
    drawn = tn.random.normal(key, (4000,)).numpy()
    np.testing.assert_allclose(drawn, exact, rtol=5 * 2.0**-52)


DIRECT = ["lognormal", "pareto", "rayleigh", "wald", "weibull_min"]
BY_REJECTION = ["beta", "chisquare", "dirichlet", "f", "gamma", "loggamma", "t"]


@exhaustive
@pytest.mark.parametrize("name", DIRECT + BY_REJECTION)
def test_derivatives_by_parameters_are_those_of_jax(name: str) -> None:
    _, *further = CALLS[name]

    def weighted(module: Any, key: Any, total: Any) -> Any:
        return lambda a: total(WEIGHTS * getattr(module, name)(key, a, *further))

    ours = tn.grad(weighted(tn.random, tn.random.key(2), tn.sum))(SHAPES)
    theirs = jax.jit(jax.grad(weighted(jax.random, jax.random.key(2), jax.numpy.sum)))(SHAPES)
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9)


@pytest.mark.parametrize("name", DIRECT)
def test_derivatives_by_parameters_are_those_of_what_is_drawn(name: str) -> None:
    _, *further = CALLS[name]

    def total(a: Any) -> Any:
        return tn.sum(WEIGHTS * getattr(tn.random, name)(tn.random.key(2), a, *further))

    steps = 1e-6 * np.eye(2)
    expected = [(total(SHAPES + e) - total(SHAPES - e)).item() / 2e-6 for e in steps]
    np.testing.assert_allclose(tn.grad(total)(SHAPES).numpy(), expected, rtol=1e-7)


def test_the_derivative_of_a_gamma_number_is_that_of_its_quantile() -> None:
    special = pytest.importorskip("scipy.special")
    key, a, step = tn.random.key(3), np.array([0.3, 2.0, 30.0]), 1e-5
    x = tn.random.gamma(key, a).numpy()
    level = special.gammainc(a, x)
    ahead, behind = (special.gammaincinv(a + change, level) for change in (step, -step))
    ours = tn.grad(lambda a: tn.sum(tn.random.gamma(key, a)))(a)
    np.testing.assert_allclose(ours.numpy(), (ahead - behind) / (2 * step), rtol=1e-6)


def test_a_second_derivative_of_a_gamma_number_is_refused() -> None:
    key = tn.random.key(3)
    with pytest.raises(ADRuleError, match="gamma_grad: has no linearize rule"):
        tn.grad(tn.grad(lambda a: tn.random.gamma(key, a)))(2.0)


def test_numbers_are_differentiable_by_bounds() -> None:
    key = tn.random.key(4)
    u = tn.random.uniform(key, (3,)).numpy()
    low, high = tn.grad(
        lambda low, high: tn.sum(tn.random.uniform(key, (3,), minval=low, maxval=high)),
        argnums=(0, 1),
    )(0.5, 2.0)
    np.testing.assert_allclose([float(low), float(high)], [np.sum(1 - u), np.sum(u)])


@pytest.mark.parametrize(
    ("name", "args", "mean", "deviation"),
    [
        ("uniform", (), 0.5, 12**-0.5),
        ("normal", (), 0.0, 1.0),
        ("exponential", (), 1.0, 1.0),
        ("gumbel", (), 0.5772156649, np.pi / 6**0.5),
        ("laplace", (), 0.0, 2**0.5),
        ("logistic", (), 0.0, np.pi / 3**0.5),
        ("maxwell", (), (8 / np.pi) ** 0.5, (3 - 8 / np.pi) ** 0.5),
    ],
)
def test_moments(name: str, args: Any, mean: float, deviation: float) -> None:
    drawn = getattr(tn.random, name)(tn.random.key(5), (40_000,), *args).numpy()
    assert abs(drawn.mean() - mean) < 5 * deviation / 200
    assert abs(drawn.std() / deviation - 1) < 0.05


def test_truncated_numbers_stay_between_the_bounds() -> None:
    bounds = np.array([[-np.inf, -1e-300, 5.0], [0.1, 1e-300, 5.0 + 1e-14]])
    drawn = tn.random.truncated_normal(tn.random.key(6), bounds[0], bounds[1], (200, 3)).numpy()
    assert (drawn > bounds[0]).all()
    assert (drawn < bounds[1]).all()


def test_singular_covariances_take_other_methods() -> None:
    cov = np.ones((2, 2))
    for method in ("eigh", "svd"):
        drawn = tn.random.multivariate_normal(
            tn.random.key(7), np.zeros(2), cov, (5,), method=method
        ).numpy()
        np.testing.assert_allclose(drawn[:, 0], drawn[:, 1], atol=1e-7)


def test_nothing_is_drawn_for_empty_shapes() -> None:
    key = tn.random.key(8)
    assert tn.random.normal(key, (0, 3)).shape == (0, 3)
    assert tn.random.gamma(key, 2.0, (0, 3)).shape == (0, 3)
    assert tn.random.poisson(key, 2.0, (0,)).shape == (0,)


def test_columns_or_rows_of_matrices_are_orthonormal() -> None:
    tall = draw("orthogonal", tn.random.key(9)).numpy()
    np.testing.assert_allclose(tall.T @ tall, np.eye(2), atol=1e-14)
    wide = tn.random.orthogonal(tn.random.key(9), 2, (3,), "complex128", 4).numpy()
    np.testing.assert_allclose(wide @ wide.conj().mT, np.stack([np.eye(2)] * 3), atol=1e-14)


@pytest.mark.parametrize("executor", ["numpy", pytest.param("xla", marks=pytest.mark.exhaustive)])
def test_samples_of_large_shapes_have_the_derivative_at_a_fixed_quantile(executor: str) -> None:
    shapes = np.repeat([1e5, 3e6, 5e6, 1e8], 3)
    x = shapes + np.tile([-2.0, 0.3, 3.0], 4) * np.sqrt(shapes)
    slopes = tn.jit(lambda a, x: tn.lax.gamma_grad(a, x), executor=executor)
    z = (x - shapes) / np.sqrt(shapes)
    expected = 1 + z / (2 * np.sqrt(shapes)) - (z * z - 1) / (6 * shapes)  # Cornish and Fisher
    np.testing.assert_allclose(slopes(shapes, x), expected, rtol=1e-6)
    np.testing.assert_allclose(slopes(shapes, x)[3:], expected[3:], rtol=5e-9)
    beyond = np.array([1e15, 1e100, 1e300])
    np.testing.assert_allclose(slopes(beyond, beyond), 1.0)
