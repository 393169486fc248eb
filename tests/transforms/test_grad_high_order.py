"""Derivatives of high order: their programs stay small, and their values are right.

Values are compared with Taylor coefficients by recurrences, which know nothing of graphs. That of
exp(x²) is g′ = 2x·g, that of y = tanh(u) is y′ = (1 − y²)·u′.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, factorial, fsum, pi, sin, tanh
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import OptimizerOptions
from tests.tolerances import assert_close, rounding

Function = Callable[[Any], Any]
Series = list[float]
"""Taylor coefficients around a point, constant term first."""

POINTS = (-1.1, -0.3, 0.0, 0.3, 0.8, 1.7)
RNG = np.random.default_rng(0)
W1, B1, W2, B2, W3 = (RNG.normal(size=size) / 2 for size in ((8,), (8,), (8, 8), (8,), (8,)))


def sine_times_gauss(x: Any) -> Any:
    return tn.sin(x) * tn.exp(x * x)


def tanh_chain(x: Any) -> Any:
    for _ in range(4):
        x = tn.tanh(x)
    return x


def mlp(x: Any) -> Any:
    return W3 @ tn.tanh(W2 @ tn.tanh(x * W1 + B1) + B2)


def forward(function: Function, order: int) -> Function:
    """Forward over forward, by nested `tn.jvp`."""
    for _ in range(order):
        function = pushed(function)
    return function


def pushed(function: Function) -> Function:
    return lambda x: tn.jvp(function, (x,), (1.0,))[1]


def reverse(function: Function, order: int) -> Function:
    """Reverse over reverse, by nested `tn.vjp`."""
    for _ in range(order):
        function = pulled(function)
    return function


def pulled(function: Function) -> Function:
    return lambda x: tn.vjp(function, x)[1](1.0)[0]


def gradients(function: Function, order: int) -> Function:
    """Nested `tn.grad`, which takes forward mode here."""
    for _ in range(order):
        function = tn.grad(function)
    return function


MODES = [forward, reverse, gradients, tn.derivative]


def count(function: Function) -> int:
    program = tn.make_program(function, tn.TensorSpec((), "float64"))
    return len(program.exec_program.instructions)


def product(a: Series, b: Series) -> Series:
    return [fsum(a[k] * b[n - k] for k in range(n + 1)) for n in range(len(a))]


def tanh_of(u: Series) -> Series:
    y = [tanh(u[0])]
    slope = [1 - y[0] ** 2]
    for n in range(1, len(u)):
        y.append(fsum(k * u[k] * slope[n - k] for k in range(1, n + 1)) / n)
        slope.append(-fsum(y[k] * y[n - k] for k in range(n + 1)))
    return y


def taylor_of_sine_times_gauss(x: float, order: int) -> Series:
    turns = (sin(x), cos(x), -sin(x), -cos(x))
    sine = [turns[n % 4] / factorial(n) for n in range(order + 1)]
    gauss = [exp(x * x), 2 * x * exp(x * x)]
    for n in range(1, order):
        gauss.append(2 * (x * gauss[n] + gauss[n - 1]) / (n + 1))
    return product(sine, gauss[: order + 1])


def taylor_of_tanh_chain(x: float, order: int) -> Series:
    series = [x, 1.0, *[0.0] * order][: order + 1]
    for _ in range(4):
        series = tanh_of(series)
    return series


def taylor_of_mlp(x: float, order: int) -> Series:
    point = [x, 1.0, *[0.0] * order][: order + 1]
    hidden = [tanh_of(affine([point], [w], b)) for w, b in zip(W1, B1, strict=True)]
    hidden = [tanh_of(affine(hidden, row, b)) for row, b in zip(W2, B2, strict=True)]
    return affine(hidden, W3, 0.0)


def affine(series: list[Series], weights: Any, bias: float) -> Series:
    sums = [
        fsum(w * each[n] for w, each in zip(weights, series, strict=True))
        for n in range(len(series[0]))
    ]
    return [sums[0] + bias, *sums[1:]]


FUNCTIONS = [
    pytest.param(sine_times_gauss, taylor_of_sine_times_gauss, id="sine_times_gauss"),
    pytest.param(tanh_chain, taylor_of_tanh_chain, id="tanh_chain"),
    pytest.param(mlp, taylor_of_mlp, id="mlp"),
]


# ------------------------------------------------------------------------------------- sizes


def test_the_eighth_derivative_of_sine_times_gauss_has_at_most_150_nodes() -> None:
    assert count(forward(sine_times_gauss, 8)) <= 150
    assert count(tn.derivative(sine_times_gauss, 8)) <= 150


@pytest.mark.parametrize(("function", "most"), [(tanh_chain, 1000), (mlp, 420)])
def test_the_eighth_derivative_of_nested_tanh_stays_small(function: Function, most: int) -> None:
    assert count(forward(function, 8)) <= most


@pytest.mark.parametrize("function", [sine_times_gauss, tanh_chain, mlp])
def test_forward_over_forward_grows_with_a_power_of_the_order(function: Function) -> None:
    fourth, eighth, twelfth = (count(forward(function, order)) for order in (4, 8, 12))
    assert eighth <= 2**3 * fourth  # a cubic at most, where nested passes of JAX double per order
    assert twelfth <= 3**3 * fourth


@pytest.mark.parametrize("function", [sine_times_gauss, tanh_chain, mlp])
def test_derivative_shares_as_much_as_nested_jvp(function: Function) -> None:
    for order in (1, 4, 8):
        assert count(tn.derivative(function, order)) <= count(forward(function, order))


def test_reverse_over_reverse_is_small_at_the_orders_one_uses() -> None:
    sizes = [count(reverse(sine_times_gauss, order)) for order in (1, 2, 3, 4)]
    assert sizes[0] == count(forward(sine_times_gauss, 1))
    assert sizes[-1] <= 100


def test_the_graph_is_small_before_the_passes_run() -> None:
    program = tn.make_program(
        forward(sine_times_gauss, 8),
        tn.TensorSpec((), "float64"),
        options=OptimizerOptions.none(),
    )
    assert len(program.exec_program.instructions) <= 150  # rules simplify as they emit


# ------------------------------------------------------------------------------------ values


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize(("function", "taylor"), FUNCTIONS)
def test_forward_derivatives_to_order_8_are_the_taylor_coefficients(
    function: Function, taylor: Callable[[float, int], Series], x: float
) -> None:
    series = taylor(x, 8)
    for order in (1, 2, 5, 8):
        expected = factorial(order) * series[order]
        scale = factorial(order) * max(map(abs, series[: order + 1]))
        tolerance = rounding("float64") * max(1.0, scale)
        for mode in (forward, tn.derivative):
            actual = float(mode(function, order)(x))
            assert abs(actual - expected) <= tolerance, (mode, order, actual, expected)


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize(("function", "taylor"), FUNCTIONS)
def test_reverse_over_reverse_to_order_4_gives_the_taylor_coefficients(
    function: Function, taylor: Callable[[float, int], Series], x: float
) -> None:
    series = taylor(x, 4)
    for order in range(1, 5):
        expected = factorial(order) * series[order]
        assert_close(float(reverse(function, order)(x)), expected, rounding("float64"))


@pytest.mark.parametrize("mode", MODES)
def test_the_derivative_of_sine_goes_round(mode: Callable[[Function, int], Function]) -> None:
    for order in range(1, 7):
        actual = float(mode(tn.sin, order)(0.7))
        assert_close(actual, sin(0.7 + order * pi / 2), rounding("float64"))


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_beyond_the_degree_of_a_polynomial_are_zero(
    mode: Callable[[Function, int], Function],
) -> None:
    values = [float(mode(lambda x: x * x * x, order)(2.0)) for order in range(1, 6)]
    assert values == [12.0, 12.0, 6.0, 0.0, 0.0]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("order", [1, 3, 6])
def test_compiled_high_orders_agree_with_jax(order: int) -> None:
    expected: Function = lambda x: jax.numpy.sin(x) * jax.numpy.exp(x * x)  # noqa: E731
    for _ in range(order):
        expected = jax.grad(expected)
    with jax.enable_x64(True):
        value = float(expected(jax.numpy.float64(0.3)))
    for mode in (forward, tn.derivative):
        compiled = tn.jit(mode(sine_times_gauss, order))
        assert_close(float(compiled(0.3)), value, rounding("float64"))
