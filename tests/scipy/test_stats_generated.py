"""Every function of every distribution at random numbers and parameters of all magnitudes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import tenferro as tn
from tenferro.scipy import stats

INF, NAN = math.inf, math.nan
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]


def mixed(rng: np.random.Generator, values: Any, places: list[float], share: float) -> Any:
    """The values, with a share of them replaced by special ones."""
    return np.where(rng.random(len(values)) < share, rng.choice(places, len(values)), values)


def magnitudes(rng: np.random.Generator, n: int, low: float, high: float) -> Any:
    return 10.0 ** rng.uniform(low, high, n)


def numbers(rng: np.random.Generator, n: int) -> Any:
    far = magnitudes(rng, n, -12, 12) * rng.choice([-1, 1], n)
    values = np.where(rng.random(n) < 0.5, rng.normal(size=n) * 3, far)
    ends = [0, -0.0, 1, -1, 2, 2 * math.pi, 0.5, INF, -INF, NAN, 1e300, -1e300, 1e-300]
    return mixed(rng, values, ends, 0.2)


def positive(rng: np.random.Generator, n: int) -> Any:
    values = np.where(rng.random(n) < 0.7, rng.gamma(2.0, 2.0, n), magnitudes(rng, n, -4, 4))
    return mixed(rng, values, [0, -1, NAN, 1, 2, 0.5], 0.15)


def probabilities(rng: np.random.Generator, n: int) -> Any:
    return mixed(rng, rng.random(n), [0, 1, NAN, -0.5, 1.5, 1e-12, 0.5], 0.2)


def trials(rng: np.random.Generator, n: int) -> Any:
    return mixed(rng, rng.integers(0, 60, n) * 1.0, [0, 1, -1, 2.5, NAN, 1e3], 0.15)


def counts(rng: np.random.Generator, n: int) -> Any:
    return mixed(rng, rng.integers(-2, 70, n) * 1.0, [0, 1, 0.5, NAN, INF, -INF, 1e3, 1e5], 0.2)


def bounds(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    low = mixed(rng, rng.normal(size=n) * 2, [-INF, NAN, 0, 3, -30, 8], 0.2)
    width = mixed(rng, rng.gamma(1.0, 2.0, n), [0, -1, 1e9, NAN, 1e-3, 50], 0.2)
    return low, np.where(width == 1e9, INF, low + width)


SHAPES: dict[str, tuple[Callable[..., Any], ...]] = {
    **dict.fromkeys(("norm", "uniform", "expon", "laplace", "logistic", "cauchy"), ()),
    **dict.fromkeys(("gumbel_l", "gumbel_r"), ()),
    **dict.fromkeys(("gamma", "chi2", "pareto", "t", "gennorm", "vonmises"), (positive,)),
    **dict.fromkeys(("wrapcauchy", "bernoulli", "geom"), (probabilities,)),
    "beta": (positive, positive),
    "truncnorm": (bounds,),
    "binom": (trials, probabilities),
    "nbinom": (positive, probabilities),
    "poisson": (positive,),
    "betabinom": (trials, positive, positive),
}
CIRCULAR = ("gennorm", "vonmises", "wrapcauchy")
"""Those without location and scale."""


def drawn(name: str, f: str, rng: np.random.Generator, n: int) -> tuple[list[Any], dict[str, Any]]:
    """Operands of a function, those not allowed among them."""
    discrete = hasattr(getattr(stats, name), "pmf")
    first = probabilities if f in ("ppf", "isf") else counts if discrete else numbers
    operands = [] if f == "entropy" else [first(rng, n)]
    if name == "truncnorm":  # SciPy takes differences of logarithms near 0
        operands[0] = np.where(np.abs(operands[0]) < 1e-5, 0.3, operands[0])
    for draw in SHAPES[name]:
        operands += draw(rng, n) if draw is bounds else [draw(rng, n)]
    if name == "gennorm":  # where |x|^beta is 0, SciPy's probability is 1/2
        operands[1] = np.minimum(operands[1], 30.0)
    placed: dict[str, Any] = {}
    if name not in CIRCULAR and rng.random() < 0.5:
        loc = rng.integers(-3, 3, n) * 1.0 if discrete else rng.normal(size=n)
        placed["loc"] = mixed(rng, loc, [0, NAN, 3], 0.3)
        if not discrete:
            placed["scale"] = positive(rng, n)
    return operands, placed


def expectation(name: str, f: str, operands: list[Any], placed: dict[str, Any]) -> Any:
    """What SciPy says, but for NaN: any argument's is the result's, and infinity has a value."""
    theirs = getattr(scipy.stats, name)
    with np.errstate(all="ignore"):
        expected = np.array(getattr(theirs, f)(*operands, **placed))
        shapes = operands if f == "entropy" else operands[1:]
        loc, scale = placed.get("loc", 0.0), placed.get("scale", 1.0)
        allowed = np.asarray(theirs._argcheck(*shapes), bool) & (np.asarray(scale) > 0)
        wrong = ~np.broadcast_to(allowed, expected.shape)
        wrong = wrong | np.isnan(loc)
        for operand in operands:
            wrong = wrong | np.isnan(operand)
        if f in ("logpdf", "pdf", "logpmf", "pmf") and name != "vonmises":
            expected[np.isinf(operands[0])] = -INF if f.startswith("log") else 0.0
        return np.where(wrong, NAN, expected)


def agree(name: str, f: str, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands, placed = drawn(name, f, rng, n)
    if f == "entropy":
        operands[0] = np.minimum(operands[0], 900.0)  # SciPy sums too few terms of more
    expected = expectation(name, f, operands, placed)
    if (name, f) == ("bernoulli", "ppf"):  # SciPy: the end of the support, also of probability 0
        expected[(operands[0] == 1) & (operands[1] == 0)] -= 1
    found = np.asarray(getattr(getattr(stats, name), f)(*operands, **placed))
    # SciPy: differences of logarithms of large probabilities, and logarithms of denormal numbers
    close = 1e-5 if name == "truncnorm" or f in ("logcdf", "logsf") else 1e-8
    tiny = 1e-11 if f.startswith("log") else 1e-300
    with np.errstate(all="ignore"):
        right = np.abs(found - expected) <= close * np.abs(expected) + tiny
        right |= (found == expected) | (np.isnan(found) & np.isnan(expected))
        if f.startswith("log"):
            right |= (expected < -600) & (np.abs(found / expected - 1) < 1e-2)
            right |= (expected < -700) & (found == -INF)
    first = np.flatnonzero(~right)[:3]
    seen = [tuple(each[i] for each in (*operands, *placed.values())) for i in first]
    assert right.all(), f"{name}.{f}{seen}: {found[first]}, SciPy {expected[first]}"


@pytest.mark.parametrize("name", SHAPES)
def test_values_are_scipys_also_of_nan_and_of_parameters_that_are_not_allowed(name: str) -> None:
    for f in getattr(stats, name).__all__:
        for seed in range(2):
            agree(name, f, 150, seed)


@pytest.mark.large
@pytest.mark.parametrize("name", SHAPES)
def test_values_are_scipys_at_many_numbers(name: str) -> None:
    for f in getattr(stats, name).__all__:
        for seed in range(10):
            agree(name, f, 5000, seed)


INTERIORS: dict[str, Callable[[np.random.Generator, int], list[Any]]] = {
    "uniform": lambda rng, n: [rng.uniform(0.05, 0.95, n)],
    "beta": lambda rng, n: [rng.uniform(0.05, 0.95, n), rng.gamma(2, 2, n), rng.gamma(2, 2, n)],
    "pareto": lambda rng, n: [1 + magnitudes(rng, n, -2, 3), rng.gamma(2, 2, n)],
    "wrapcauchy": lambda rng, n: [rng.uniform(0.1, 6, n), rng.uniform(0.1, 0.9, n)],
    "truncnorm": lambda _, n: [np.linspace(-0.9, 1.9, n), np.full(n, -1.0), np.full(n, 2.0)],
    "bernoulli": lambda rng, n: [rng.integers(0, 2, n) * 1.0, rng.uniform(0.05, 0.95, n)],
    "geom": lambda rng, n: [rng.integers(1, 9, n) * 1.0, rng.uniform(0.05, 0.95, n)],
    "binom": lambda rng, n: [rng.integers(0, 9, n), np.full(n, 9), rng.uniform(0.05, 0.95, n)],
    "nbinom": lambda rng, n: [rng.integers(0, 9, n), rng.gamma(2, 2, n), rng.uniform(0.05, 0.9, n)],
    "poisson": lambda rng, n: [rng.integers(0, 9, n) * 1.0, rng.gamma(2, 2, n)],
    "betabinom": lambda rng, n: [rng.integers(0, 9, n), np.full(n, 9), *rng.gamma(2, 2, (2, n))],
}


def interior(name: str, rng: np.random.Generator, n: int) -> list[Any]:
    if name in INTERIORS:
        return INTERIORS[name](rng, n)
    sign = 1 if name in ("gamma", "chi2", "expon") else rng.choice([-1, 1], n)
    return [magnitudes(rng, n, -3, 0.8) * sign, *(rng.gamma(2, 2, n) for _ in SHAPES[name])]


@pytest.mark.exhaustive(but=6)
@pytest.mark.parametrize("name", SHAPES)
def test_derivatives_by_all_parameters_are_differences(name: str) -> None:
    rng, distribution = np.random.default_rng(0), getattr(stats, name)
    for f in distribution.__all__:
        operands = interior(name, rng, 12)
        if f in ("ppf", "isf"):
            operands[0] = rng.uniform(0.01, 0.99, 12)
        for i, x in enumerate(operands):
            counted = x.dtype.kind == "i" or (i == 0 and "pmf" in distribution.__all__)
            no_rule = {"beta": i, "t": i == 1}.get(name) and f not in (
                "pdf",
                "logpdf",
            )  # of betainc
            if f == "entropy" or counted or no_rule:
                continue

            def value(x: Any, f: str = f, i: int = i, operands: Any = operands) -> Any:
                return getattr(distribution, f)(*operands[:i], x, *operands[i + 1 :])

            h = 1e-5 * np.maximum(np.abs(x), 1e-3)
            near, far = ((np.asarray(value(x + k * h) - value(x - k * h))) for k in (1, 2))
            slope = np.asarray(tn.grad(lambda x: tn.sum(value(x)))(x))
            where = np.isfinite(np.asarray(value(x)))
            np.testing.assert_allclose(
                slope[where], ((8 * near - far) / (12 * h))[where], 1e-5, 1e-6, err_msg=f
            )


def test_dtypes_are_those_of_the_operands_on_both_executors() -> None:
    def every(numbers: Any) -> list[Any]:
        return [
            getattr(getattr(stats, name), f)(*[numbers] * (1 + shapes - (f == "entropy")))
            for name in SHAPES
            for f in getattr(stats, name).__all__
            for shapes in [sum(2 if draw is bounds else 1 for draw in SHAPES[name])]
        ]

    for dtype in ("float32", "float64"):
        x = np.array([0.25, 0.5], dtype)
        assert {str(value.dtype) for value in tn.jit(every, executor="numpy")(x)} == {dtype}
        assert {str(value.dtype) for value in every(x)} == {dtype}
        found = [
            stats.multivariate_normal.logpdf(x, x, np.eye(2, dtype=dtype)),
            stats.dirichlet.pdf(x, x),
            stats.multinomial.pmf(x * 2, x[0] * 4, x),
        ]
        assert {str(value.dtype) for value in found} == {dtype}


@pytest.mark.large
@pytest.mark.parametrize("name", SHAPES)
def test_the_executors_agree(name: str) -> None:
    rng, distribution = np.random.default_rng(5), getattr(stats, name)
    cases = [drawn(name, f, rng, 500) for f in distribution.__all__]

    def every(cases: Any) -> list[Any]:
        return [
            getattr(distribution, f)(*operands, **placed)
            for f, (operands, placed) in zip(distribution.__all__, cases, strict=True)
        ]

    for f, found, expected in zip(
        distribution.__all__, tn.jit(every)(cases), every(cases), strict=True
    ):
        if f.startswith("log"):  # logarithms of denormal numbers, which XLA takes for 0
            found, expected = (np.where(np.asarray(v) < -700, -INF, v) for v in (found, expected))
        np.testing.assert_allclose(found, expected, 1e-8, 1e-11, err_msg=f)
