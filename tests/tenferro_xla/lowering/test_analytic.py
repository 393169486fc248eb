"""Logarithms of powers, which XLA would write as products with that of |x|, and complex roots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro_xla import XlaExecutor

BASES = np.array([-0.5, -0.5, -2.0, -1.0, 1.0, 0.0, np.inf, -2.0, 3.0])
EXPONENTS = np.array([-1.0, 1.0, -3.0, -np.inf, np.inf, 0.0, 0.0, 2.0, 0.5])


def _in_a_loop(x: Any, y: Any) -> Any:
    return tn.scan(lambda total, each: (total, tn.log(each[0] ** each[1])), 0.0, (x, y))[1]


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: tn.log(tn.pow(x, y)),
        lambda x, y: tn.log2(tn.float_power(x, y)),
        lambda x, y: tn.log10(tn.pow(x, y)),
        lambda x, y: tn.log1p(tn.pow(x, y)),
        lambda x, y: tn.log(tn.pow(x, y).reshape((3, 3))[::-1]),
        lambda x, y: tn.log(tn.pow(x, y)[:, None] + tn.zeros(2)),
        lambda x, y: tn.log(tn.pow(x, 0.5)),
        lambda x, y: tn.log(tn.pow(x, -3.0)),
        lambda x, y: tn.sqrt(tn.pow(x, y)),
        lambda x, y: tn.grad(lambda x: tn.sum(tn.log(tn.pow(x, y))))(x),
        _in_a_loop,
    ],
)
def test_a_logarithm_of_a_power_is_that_of_its_value(function: Callable[[Any, Any], Any]) -> None:
    for dtype in ("float32", "float64"):
        x, y = BASES.astype(dtype), EXPONENTS.astype(dtype)
        expected = tn.jit(function, executor="numpy")(x, y)
        np.testing.assert_allclose(tn.jit(function)(x, y), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_roots_of_complex_numbers_are_those_of_numpy_part_by_part(dtype: str) -> None:
    """Also zeros of either sign, infinities, and sizes whose squares overflow or vanish."""
    limits = np.finfo(dtype)
    sizes = (0.0, 1.0, 2.5, 1e-10, limits.max, limits.max / 5, limits.tiny, limits.tiny * 3, np.inf)
    parts = np.array([*sizes, *(-size for size in sizes), np.nan])
    x = np.empty((parts.size, parts.size), dtype)
    x.real, x.imag = parts[:, None], parts
    found = np.asarray(tn.jit(tn.sqrt)(x))
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(x)
    for one, other in ((found.real, expected.real), (found.imag, expected.imag)):
        normal = ~(np.abs(other) < limits.tiny)  # XLA takes smaller ones for 0
        np.testing.assert_allclose(one[normal], other[normal], rtol=4 * limits.eps)
        numbers = ~np.isnan(other)
        np.testing.assert_array_equal(np.signbit(one)[numbers], np.signbit(other)[numbers])
    gradient = tn.jit(tn.grad(lambda x: tn.sum(tn.real(tn.sqrt(x)))))
    y = np.array([3 - 4j, -3 + 4j, 1e-3j, -2.0], dtype)
    np.testing.assert_allclose(gradient(y), (0.5 / np.sqrt(y)).conj(), rtol=8 * limits.eps)


def test_a_complex_root_stores_nothing_on_its_way() -> None:
    lowered = XlaExecutor("cpu").lower(tn.make_program(tn.sqrt, np.ones((1000, 30), complex)))
    assert lowered.compile().memory().temporaries == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_slope_of_tanh_keeps_its_digits_on_both_sides(dtype: str) -> None:
    bound = {"float16": 4, "float32": 40, "float64": 340}[dtype]
    x = np.concatenate([np.linspace(-bound, bound, 999), [0.0, -0.0, np.inf, -np.inf, np.nan]])
    x = x.astype(dtype)
    found = tn.jit(tn.vmap(tn.grad(tn.tanh)))(x)
    power = np.exp(-2 * np.abs(x.astype(np.longdouble)))
    expected = (4 * power / (1 + power) ** 2).astype(dtype)
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)


def test_a_logistic_function_and_its_slope_have_one_exponential_and_one_quotient() -> None:
    def gate(x: Any, y: Any) -> Any:
        return tn.sum(tn.sigmoid(x) ** 2 * y)

    x = np.linspace(-9.0, 9.0, 1000)
    text = tn.jit(tn.grad(gate)).lower(x, x).compile().as_text()
    assert text.count(" exponential(") == 1
    assert text.count(" divide(") == 1
