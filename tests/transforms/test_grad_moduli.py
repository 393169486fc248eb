"""Squares of moduli, which are smooth where moduli are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn

SQUARES: dict[str, Callable[[Any], Any]] = {
    "power": lambda x: tn.abs(x) ** 2,
    "float power": lambda x: tn.abs(x) ** 2.0,
    "square": lambda x: tn.square(tn.abs(x)),
    "product": lambda x: (lambda a: a * a)(tn.abs(x)),
    "in a map": lambda x: tn.vmap(lambda x: abs(x) ** 2)(tn.stack([x]))[0],
}


@pytest.mark.parametrize("square", SQUARES.values(), ids=SQUARES)
def test_the_square_of_a_modulus_has_second_derivatives_at_0(square: Any) -> None:
    for x in (0.0, -1.5):
        assert tn.hessian(square)(x).item() == 2.0
        assert tn.grad(tn.grad(square))(x).item() == 2.0
    of_complex = tn.hessian(lambda x: square(x[0] + 1j * x[1]))
    for point in (np.zeros(2), np.array([1.5, -2.0])):
        np.testing.assert_allclose(of_complex(point), 2 * np.eye(2), rtol=1e-14)


def test_squares_of_moduli_are_the_same_numbers_computed_at_once_and_compiled() -> None:
    z = np.array([3 - 4j, 0, 1e-5 + 1j])
    for square in list(SQUARES.values())[:-1]:
        both = [np.asarray(how(square)(z)) for how in (lambda f: f, tn.jit(executor="numpy"))]
        np.testing.assert_allclose(both[0], np.abs(z) ** 2, rtol=1e-15)
        np.testing.assert_allclose(both[1], both[0], rtol=1e-15)


def test_other_powers_of_moduli_are_right_too() -> None:
    third = tn.grad(tn.grad(tn.grad(lambda x: tn.abs(x) ** 3)))
    assert tn.hessian(lambda x: tn.abs(x) ** 4)(-2.0).item() == 48.0
    assert third(-2.0).item() == -6.0
    assert tn.pow(tn.asarray([-3]), 2).tolist() == [9]
    assert (abs(tn.asarray([-3])) ** 2).tolist() == [9]
