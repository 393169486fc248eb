"""Special functions over many magnitudes: both executors and dtypes against SciPy and mpmath."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import tenferro as tn
from tenferro.ops import Special
from tenferro.ops.functions import OpFunction, apply
from tests.scipy import special_points as sp

S = tn.scipy.special
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
WEAKER = {"gammaln": 2}
"""Factors for single precision: logarithms of small magnitudes of the gamma function."""
ENDS = np.array([0.0, -0.0, 1.0, -1.0, -2.0, 3.0, 0.5, -1.5, 30.0, 1e10, np.inf, -np.inf, np.nan])


def assert_right(points: Any, dtype: str, executor: str) -> None:
    operands = {name: tuple(x.astype(dtype) for x in args) for name, args in points.items()}
    run = tn.jit(
        lambda a: {name: sp.ours(name)(*args) for name, args in a.items()}, executor=executor
    )
    wrong = {}
    for name, value in run(operands).items():
        found = np.asarray(value)
        tolerance = TOLERANCE[dtype] * (WEAKER.get(name, 1) if dtype == "float32" else 1)
        places = sp.disagreements(name, operands[name], found, tolerance)
        if places:
            wrong[name] = places[:5]
    assert not wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_values_are_right_over_many_magnitudes(executor: str) -> None:
    assert_right(sp.draw(60), "float64", executor)


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("name", list(sp.DRAWS))
def test_values_are_right_at_many_points(name: str, executor: str, dtype: str) -> None:
    points = sp.DRAWS[name](np.random.default_rng(11), 100_000)
    assert_right({name: points}, dtype, executor)


@pytest.mark.large
@pytest.mark.parametrize("name", list(sp.DRAWS))
def test_executors_agree_at_the_ends_of_the_range(name: str) -> None:
    rank = len(sp.DRAWS[name](np.random.default_rng(0), 1))
    operands = [grid.ravel() for grid in np.meshgrid(*[ENDS] * rank)]
    if name in sp.ORDERS:
        operands[0] = np.where(operands[0] > 20, 7.0, np.abs(operands[0]))
    xla = tn.jit(sp.ours(name))(*operands)
    tolerance = 1e-4 if name == "polygamma" else 1e-9  # near a zero between two poles
    np.testing.assert_allclose(xla, sp.ours(name)(*operands), tolerance, 1e-290)


NO_DERIVATIVE = {"zeta": (0,), "polygamma": (0,), "expn": (0,), "betainc": (0, 1)}


@pytest.mark.large
@pytest.mark.parametrize("name", [name for name in sp.DRAWS if name not in ("dawsn", "erfcx")])
def test_first_derivatives_of_the_executors_agree_at_many_points(name: str) -> None:
    """Or differ by what a change of an operand by eight units of its last place makes."""
    points = sp.DRAWS[name](np.random.default_rng(3), 100_000)
    moves = [8 * step * float(np.finfo("float64").eps) for step in (1, -1)]
    for index in range(len(points)):
        if index in NO_DERIVATIVE.get(name, ()):
            continue
        slope = tn.grad(lambda *x: tn.sum(sp.ours(name)(*x)), argnums=index)
        expected, found = (np.asarray(tn.jit(slope, executor=e)(*points)) for e in ("numpy", "xla"))
        allowed = 1e-9 * np.abs(expected) + 1e-290
        for i in range(name in sp.ORDERS, len(points)):
            for move in moves:
                moved = slope(*(x * (1 + move * (j == i)) for j, x in enumerate(points)))
                with np.errstate(all="ignore"):  # of infinities
                    change = np.abs(np.asarray(moved) - expected)
                allowed += np.where(np.isfinite(change), change, 0)
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        with np.errstate(all="ignore"):
            wrong = np.flatnonzero(~same & ~(np.abs(found - expected) <= allowed))
        assert not [(*(float(x[i]) for x in points), found[i], expected[i]) for i in wrong[:5]], (
            f"by operand {index}"
        )


def both(function: Any, *operands: Any) -> list[np.ndarray]:
    """Results of the NumPy executor and of XLA."""
    return [np.asarray(tn.jit(function, executor=e)(*operands)) for e in ("numpy", "xla")]


@pytest.mark.exhaustive
def test_polygamma_and_zeta_are_right_at_negative_numbers() -> None:
    x = np.array([-14.5, -9.5, -16.5, -300.25])
    right = {
        1: [9.80296238751, 9.76968744503, 9.81079781299, 19.7358837845],
        2: [-0.00443951891328, -0.00997514424772, -0.00345722037203, 124.025095665],
    }
    for order, expected in right.items():
        for value in both(lambda x, n=order: S.polygamma(n, x), x):
            np.testing.assert_allclose(value, expected, 1e-11)
    for value in both(tn.grad(S.digamma), -16.5):
        np.testing.assert_allclose(value, 9.81079781299, 1e-11)
    for value in both(tn.grad(tn.grad(S.gammaln)), np.float32(-9.5)):
        np.testing.assert_allclose(value, 9.76968744503, 1e-6)
    for value in both(S.zeta, np.array([np.inf, 1e19, np.inf, 1.0]), np.array([2.0, 40, 1, 3])):
        np.testing.assert_array_equal(value, [0, 0, 1, np.inf])


@pytest.mark.exhaustive
def test_incomplete_functions_of_large_operands_end_and_are_right() -> None:
    a = np.array([1e10, 1e13, 1e16, 1e20, 1e300, 8685113.0])

    def middle(x: Any) -> Any:
        return tn.stack([S.gammainc(x, x), S.gammaincc(x, x), S.betainc(x, x, x * 0 + 0.5)])

    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-6)):
        x = np.minimum(a, 1e38).astype(dtype)
        below = 0.5 + 1 / (3 * np.sqrt(2 * np.pi * x.astype("float64")))
        for p, q, half in both(middle, x):
            np.testing.assert_allclose(p, below, tolerance)
            np.testing.assert_allclose(q, 1 - below, tolerance)
            np.testing.assert_allclose(half, 0.5, tolerance)
    ones = np.array([0.5, 1.0, 5.0], "float32"), np.array([1e6, 1e8, 1e7], "float32")
    for found in both(S.betainc, *ones, np.array([5e-7, 1e-8, 5e-7], "float32")):
        np.testing.assert_allclose(found, [0.682689, 0.632121, 0.559507], 1e-5)
    # Four standard deviations below the mean, where 2000 terms of a series are not enough.
    for found in both(S.gammainc, 873787026406.1006, 873782805109.1438):
        np.testing.assert_allclose(found, 3.1525046e-06, 1e-7)


def test_derivatives_of_incomplete_functions_are_finite_and_right_at_large_operands() -> None:
    a = np.array([1e6, 1e9, 1e12, 1e16])
    peak = 1 / np.sqrt(2 * np.pi * a)
    for index, sign in ((0, -1), (1, 1)):
        for found in both(tn.grad(lambda a, x: tn.sum(S.gammainc(a, x)), argnums=index), a, a):
            np.testing.assert_allclose(found, sign * peak, 1e-6)
    for found in both(tn.grad(lambda x, a: tn.sum(S.betainc(a, a, x))), np.full(4, 0.5), a):
        np.testing.assert_allclose(found, 2 * np.sqrt(a / np.pi), 1e-6)
    for found in both(tn.grad(lambda x: S.gammainc(np.float32(1e6), x)), np.float32(1e6)):
        np.testing.assert_allclose(found, 1 / np.sqrt(2e6 * np.pi), 1e-5)
    for found in both(tn.grad(S.betaln), 1e8, 1e-3):  # -b/a, from a difference of digammas
        np.testing.assert_allclose(found, -1e-11, 1e-7)


def test_beta_functions_of_negative_numbers() -> None:
    a, b = np.array([-2.0, -3.0, -2.0, -1.5, -10000000.3]), np.array([1.0, 2.0, 0.5, 0.5, 2.5])
    log = [np.log(0.5), np.log(1 / 6), np.inf, -np.inf, -40.3300144088]
    for found in both(S.betaln, a, b):
        np.testing.assert_allclose(found, log, 1e-8)
    for found in both(S.beta, a, b):
        np.testing.assert_allclose(found[:4], [-0.5, 1 / 6, np.inf, 0], 1e-12)


def test_functions_of_the_normal_distribution_have_no_steps() -> None:
    x = np.linspace(9, 9.5, 64, dtype="float32")
    for found in both(S.erfcx, x):
        np.testing.assert_allclose(found, 1 / np.sqrt(np.pi) / x * (1 - 0.5 / x**2), 1e-3)
    for dtype, tolerance in (("float64", 1e-13), ("float32", 1e-6)):
        x = np.linspace(-25, -4, 200).astype(dtype)
        values = both(S.log_ndtr, x)
        np.testing.assert_allclose(*values, rtol=tolerance)


def test_orders_of_exponential_integrals_are_whole() -> None:
    for found in both(S.expn, np.array([0.5, 2.0, np.inf, 1e9]), np.array([1.0, 1, 1, 1])):
        np.testing.assert_allclose(found, [np.nan, 0.148495506775922, 0, np.exp(-1) / 1e9], 1e-8)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_steps_of_polygamma_functions_have_their_digits_near_poles(executor: str) -> None:
    n, x = np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 0.5])
    d = np.array([-3 + 1e-10, -5 + 1e-6, 1e-9])
    step = Special("polygamma_step")
    found = tn.jit(lambda *v: apply(OpFunction(step), *v), executor=executor)(n, x, d)
    with mpmath.workdps(40):
        expected = [
            float(mpmath.polygamma(int(k), mpmath.mpf(a) + b) - mpmath.polygamma(int(k), a))
            for k, a, b in zip(n, x, d, strict=True)
        ]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
