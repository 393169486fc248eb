"""Derivatives of modified Bessel functions of every order, at and near 0 and far away."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import tenferro as tn

ORDERS = range(9)
POINTS = 10


@cache
def compiled(name: str, executor: str) -> Any:
    function = getattr(tn, name)
    each = tn.vmap(lambda x: [tn.derivative(function, n)(x) for n in ORDERS])
    return tn.jit(each, executor=executor)


def derivatives(name: str, executor: str, x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The derivatives of all orders at up to `POINTS` points, by one program for all tests."""
    found = compiled(name, executor)(np.resize(x, POINTS))
    return [np.asarray(value)[: len(x)] for value in found]


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("order", [0, 1])
def test_derivatives_of_unscaled_functions_are_exact_to_rounding(order: int, executor: str) -> None:
    x = np.array([-30.0, -2.0, -1e-4, -1e-20, 0.0, 1e-8, 0.3, 5.0, 300.0, 700.0])
    found = derivatives(f"i{order}", executor, x)
    for n in ORDERS:
        terms = (sp.comb(n, j) * sp.iv(abs(order - n + 2 * j), x) for j in range(n + 1))
        np.testing.assert_allclose(found[n], sum(terms) / 2**n, rtol=1e-14, err_msg=str(n))
    zero = [float(found[n][4]) for n in (3, 4)]
    assert zero == pytest.approx([0, 0.375] if order == 0 else [0.375, 0], rel=1e-15)
    tiny = derivatives(f"i{order}", executor, np.full(1, 1e-300))
    np.testing.assert_allclose(tiny[3 - order], 3.75e-301, rtol=1e-9)


SCALED = {
    "i0e": {
        1e-20: [-1.0, 1.5, -7.875, 50.2734375],
        0.5: [-0.4886144672642784, 0.6643873281588133, -3.167320098354516, 19.60539569976057],
        1e5: [-6.307854959639557e-9, 9.461806094270259e-14, -3.725614092283465e-27,
              9.989377707890175e-40],
        1e8: [-1.994711409487331e-13, 2.992067121711165e-21, -1.17812643800972e-43,
              3.158851535604948e-65],
    },
    "i1e": {
        1e-20: [0.5, -1.0, 6.5625, -44.6875],
        0.5: [0.175772860894535, -0.3902498372083965, 2.562488337607859, -17.20344870571278],
        1e5: [-6.307760341578614e-9, 9.461569548526527e-14, -3.725409182996099e-27,
              9.988528608662155e-40],
        1e8: [-1.99471137956666e-13, 2.992067046909486e-21, -1.178126373212765e-43,
              3.158851267102567e-65],
    },
}  # fmt: skip
"""Derivatives of orders 1, 2, 5 and 8, by mpmath."""


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("name", SCALED)
def test_derivatives_of_scaled_functions_are_exact_to_rounding(name: str, executor: str) -> None:
    table = SCALED[name]
    parity = 1 if name == "i0e" else -1
    for sign in (1, -1):
        found = derivatives(name, executor, sign * np.array(list(table)))
        for n, column in zip((1, 2, 5, 8), np.transpose(list(table.values())), strict=True):
            expected = column * (parity * (-1) ** n if sign < 0 else 1)
            np.testing.assert_allclose(found[n], expected, rtol=2e-13)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_derivatives_of_scaled_functions_at_zero_are_the_mean_of_both_sides(executor: str) -> None:
    found = [
        [value.item() for value in derivatives(f"i{k}e", executor, np.zeros(1))] for k in range(2)
    ]
    assert found[0][:4] == pytest.approx([1, 0, 1.5, 0], rel=1e-14)
    assert found[1][:4] == pytest.approx([0, 0.5, 0, 1.875], rel=1e-14)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_derivatives_of_bessel_functions_at_the_ends(executor: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan])
    slope = derivatives("i0", executor, x)[3]
    np.testing.assert_array_equal(slope, [np.inf, -np.inf, np.nan])
    slope = derivatives("i0e", executor, x)[3]
    np.testing.assert_array_equal(slope, [0.0, 0.0, np.nan])


@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "i1e"])
def test_a_derivative_of_a_bessel_function_is_one_op(name: str) -> None:
    def nodes(n: int) -> int:
        program = tn.make_program(tn.derivative(getattr(tn, name), n), tn.TensorSpec((), "float64"))
        return len(program.exec_program.instructions)

    assert [nodes(n) for n in (1, 3, 4, 8)] == [1, 2, 2, 2]


def test_large_arrays_are_computed_in_parts() -> None:
    x = np.linspace(-5, 5, 10001)
    slope = tn.derivative(lambda x: tn.i0(x), 2)
    found = tn.jit(tn.vmap(slope), executor="numpy")(x)
    np.testing.assert_allclose(np.asarray(found), sp.ivp(0, x, 2), rtol=1e-14)
