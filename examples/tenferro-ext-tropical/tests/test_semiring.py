"""The scalars obey the laws of a semiring, and einsum obeys the scalars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenferro_ext_tropical as tropical
from tenferro_ext_tropical import MaxPlus, MinPlus

SCALARS = pytest.mark.parametrize("scalar", [MaxPlus, MinPlus])
VALUES = st.sampled_from([-3.0, -1.0, 0.0, 2.0, 5.0, math.inf, -math.inf])


@SCALARS
@given(VALUES, VALUES, VALUES)
def test_the_laws_of_a_commutative_idempotent_semiring(
    scalar: Any, x: float, y: float, z: float
) -> None:
    a, b, c = scalar(x), scalar(y), scalar(z)
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a * b == b * a
    assert (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c
    assert a + a == a
    assert a + scalar.zero == a
    assert a * scalar.one == a
    assert a * scalar.zero == scalar.zero


@SCALARS
def test_nan_adds_nothing(scalar: Any) -> None:
    nan = scalar(math.nan)
    assert nan + scalar(2) == scalar(2) + nan == scalar(2)
    assert nan + nan == scalar.zero
    assert math.isnan(float(nan * scalar(2)))


@SCALARS
def test_einsum_is_numpys_on_arrays_of_scalars(scalar: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    wrap = np.vectorize(scalar, otypes=[object])
    expected = np.dot(wrap(a), wrap(b))
    found = tropical.einsum("ij,jk", a, b, kind=scalar.semiring.kind)
    np.testing.assert_array_equal(found, np.vectorize(float)(expected))


@SCALARS
def test_the_builtin_sum_starts_from_zero(scalar: Any) -> None:
    assert sum([scalar(1), scalar(3)]) == scalar(1) + scalar(3)


def test_scalars_of_different_semirings_do_not_mix() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        MaxPlus(1) + MinPlus(1)
    with pytest.raises(TypeError, match="unsupported operand"):
        MaxPlus(1) * 2
    assert MaxPlus(1) != MinPlus(1)
