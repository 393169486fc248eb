"""Every function of every distribution at random numbers and parameters of all magnitudes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

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
    for draw in SHAPES[name]:
        operands += draw(rng, n) if draw is bounds else [draw(rng, n)]
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
    close = 1e-4 if name == "truncnorm" or f in ("logcdf", "logsf") else 1e-8
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


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHAPES)
def test_values_are_scipys_at_many_numbers(name: str) -> None:
    for f in getattr(stats, name).__all__:
        for seed in range(10):
            agree(name, f, 5000, seed)
