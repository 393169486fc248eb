"""Comparison, choice and the piecewise functions at their kinks."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import tenferro as tn
from tenferro import ops
from tests.graphs import evaluated, function, gradients, metas_of
from tests.in_jax import in_jax

NAN = float("nan")


@pytest.mark.parametrize(("op", "theirs"), [(ops.MAXIMUM, lax.max), (ops.MINIMUM, lax.min)])
def test_ties_share_the_derivative_equally(op: Any, theirs: Any) -> None:
    x, y = np.array([1.0, 2.0, 3.0, 0.0]), np.array([2.0, 2.0, 1.0, -0.0])
    ours = gradients(op, x, y, wrt=(0, 1))
    assert ours[0].tolist()[1] == ours[1].tolist()[1] == 0.5
    assert ours[0].tolist()[3] == ours[1].tolist()[3] == 0.5
    expected = in_jax(jax.grad(lambda x, y: theirs(x, y).sum(), (0, 1)), x, y)
    assert [ct.tolist() for ct in ours] == [ct.tolist() for ct in expected]


@pytest.mark.parametrize("op", [ops.MAXIMUM, ops.MINIMUM])
def test_nan_wins(op: Any) -> None:
    assert np.isnan(evaluated(op, np.array([NAN, 1.0]), np.array([1.0, NAN]))).all()
    assert gradients(op, np.array([NAN]), np.array([1.0]), wrt=(0, 1)) == [[0.0], [0.0]]


def test_clamp_is_active_strictly_inside() -> None:
    low, high = np.zeros(5), np.ones(5)
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    ours = gradients(ops.CLAMP, low, x, high, wrt=(0, 1, 2))
    assert [ct.tolist() for ct in ours] == [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]]
    expected = in_jax(jax.grad(lambda *xs: lax.clamp(*xs).sum(), (0, 1, 2)), low, x, high)
    assert [ct.tolist() for ct in ours] == [ct.tolist() for ct in expected]


def test_clamp_lets_nan_through_and_high_wins_over_low() -> None:
    assert np.isnan(evaluated(ops.CLAMP, 0.0, NAN, 1.0))
    low, high = np.full(3, 2.0), np.ones(3)
    x = np.array([0.0, 1.5, 3.0])
    assert evaluated(ops.CLAMP, low, x, high).tolist() == [1, 1, 1]
    ours = gradients(ops.CLAMP, low, x, high, wrt=(0, 1, 2))
    assert [ct.tolist() for ct in ours] == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("zero", [0.0, -0.0, 0j, np.float32(0)])
def test_abs_has_derivative_0_at_0(zero: Any) -> None:
    (gradient,) = gradients(ops.ABS, zero)
    assert gradient == 0


def test_the_gradient_of_complex_abs_is_the_sign() -> None:
    z = np.array([3 + 4j, -2j, 0])
    np.testing.assert_allclose(gradients(ops.ABS, z)[0], [0.6 + 0.8j, -1j, 0])
    np.testing.assert_allclose(evaluated(ops.SIGN, z), [0.6 + 0.8j, -1j, 0])


def test_complex_sign_has_derivative_0_at_0() -> None:
    z = np.array([0j, 2.0])
    df = function(ops.SIGN, metas_of([z])).jvp([0])
    np.testing.assert_allclose(df(z, np.array([1 + 1j, 1 + 1j]))[0], [0, 0.5j])


def test_real_sign_is_inactive() -> None:
    assert function(ops.SIGN, metas_of([np.ones(2)])).jvp([0]).outputs == (None,)


def test_remainder_has_the_sign_of_the_dividend() -> None:
    x, y = np.array([7.0, -7.0, 7.0, -7.0]), np.array([3.0, 3.0, -3.0, -3.0])
    assert evaluated(ops.REM, x, y).tolist() == [1, -1, 1, -1]
    assert evaluated(ops.REM, x.astype(int), y.astype(int)).tolist() == [1, -1, 1, -1]
    assert gradients(ops.REM, x, y, wrt=(1,))[0].tolist() == [-2, 2, 2, -2]


def test_integer_remainder_by_zero_is_zero() -> None:
    assert evaluated(ops.REM, np.array([5, -5, 0]), np.zeros(3, int)).tolist() == [0, 0, 0]
    assert np.isnan(evaluated(ops.REM, 5.0, 0.0))


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("EQ", [False, True, False, False]),
        ("NE", [True, False, True, True]),
        ("LT", [True, False, False, False]),
        ("LE", [True, True, False, False]),
        ("GT", [False, False, True, False]),
        ("GE", [False, True, True, False]),
    ],
)
def test_nothing_compares_with_nan_but_to_differ(direction: str, expected: list[bool]) -> None:
    x, y = np.array([1.0, 2.0, 3.0, NAN]), np.array([2.0, 2.0, 2.0, NAN])
    assert evaluated(ops.Compare(direction), x, y).tolist() == expected


def test_complex_numbers_can_be_equal() -> None:
    z = np.array([1 + 1j, 1 - 1j])
    assert evaluated(ops.Compare("EQ"), z, np.conj(z[::-1])).tolist() == [True, True]


def test_select_takes_nothing_of_what_is_not_chosen() -> None:
    p, x, y = np.array([True, False]), np.array([1.0, NAN]), np.array([NAN, 2.0])
    assert evaluated(ops.SELECT, p, x, y).tolist() == [1, 2]
    assert [g.tolist() for g in gradients(ops.SELECT, p, x, y, wrt=(1, 2))] == [[1, 0], [0, 1]]


def test_unsigned_integers_have_signs_and_negatives() -> None:
    x = np.array([0, 3], np.uint8)
    assert evaluated(ops.SIGN, x).tolist() == [0, 1]
    assert evaluated(ops.NEG, x).tolist() == [0, 253]


INF = np.inf
INF_PARTS = np.array([complex(*p) for p in itertools.product((INF, -INF, NAN, 2.0, 0.0), repeat=2)])


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_magnitude_and_sign_of_complex_infinities_are_those_of_numpy(executor: str) -> None:
    z = INF_PARTS.copy()
    with np.errstate(all="ignore"):
        size, sign = np.abs(z), np.sign(z)
        hypot = np.hypot(z.real, z.imag)
    found = tn.jit(lambda z: (tn.abs(z), tn.hypot(z.real, z.imag), tn.sign(z)), executor=executor)
    a, b, c = map(np.asarray, found(z))
    np.testing.assert_array_equal(a, size)
    np.testing.assert_array_equal(b, hypot)
    known = ~np.isnan(sign)
    np.testing.assert_array_equal(c[known], sign[known])
    np.testing.assert_array_equal(np.isnan(c), ~known)
