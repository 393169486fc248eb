"""Sines and exponentials of complex numbers: small parts keep digits, and ends are NumPy's."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn

MAGNITUDES = [0.0, 1e-200, 1e-8, 0.5, 2.0, 30.0, 709.0, 711.0, 745.0, np.inf]
PARTS = [sign * size for size in MAGNITUDES for sign in (1, -1)] + [np.nan]
POINTS = np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)])


def slope_of_cosh(x: Any) -> Any:
    return tn.vmap(tn.grad(tn.cosh, holomorphic=True))(x)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    ("function", "known"),
    [
        (tn.sinh, np.sinh),
        (tn.cosh, np.cosh),
        (slope_of_cosh, np.sinh),
        (tn.sin, np.sin),
        (tn.cos, np.cos),
    ],
    ids=["sinh", "cosh", "slope of cosh", "sin", "cos"],
)
def test_functions_of_exponentials_are_exact_in_either_part(
    function: Callable[[Any], Any], known: np.ufunc, dtype: type
) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # numbers beyond single precision
        x = POINTS.astype(dtype)
        expected = known(x)
    found = np.asarray(tn.jit(function, executor="xla")(x))
    tolerance = 64 * float(np.finfo(dtype).eps)
    for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_allclose(a, b, rtol=tolerance)
        known_sign = np.isfinite(x) | ~(np.isnan(b) | (b == 0))
        np.testing.assert_array_equal(np.signbit(a)[known_sign], np.signbit(b)[known_sign])


def test_inverse_functions_are_on_the_side_of_the_cut_that_signs_of_zeros_say() -> None:
    parts = [0.0, -0.0, 0.5, -0.5, 3.0, -3.0]
    x = np.array([complex(re, im) for re in parts for im in parts])
    functions: dict[str, Callable[[Any], Any]] = {
        name: getattr(tn, name)
        for name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sqrt", "exp")
    }
    found = tn.jit(lambda x: {name: f(x) for name, f in functions.items()}, executor="xla")(x)
    for name, value in found.items():
        z, expected = np.asarray(value), getattr(np, name)(x)
        np.testing.assert_allclose(z, expected, 1e-14, 1e-15, err_msg=name)
        for a, b in ((z.real, expected.real), (z.imag, expected.imag)):
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b), err_msg=name)
