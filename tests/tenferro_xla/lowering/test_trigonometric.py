"""Hyperbolic functions of complex numbers: small parts keep their digits, and ends are NumPy's."""

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
    [(tn.sinh, np.sinh), (tn.cosh, np.cosh), (slope_of_cosh, np.sinh)],
    ids=["sinh", "cosh", "slope of cosh"],
)
def test_hyperbolic_functions_are_exact_in_either_part(
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
