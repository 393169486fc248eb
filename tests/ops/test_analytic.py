"""Analytic functions at the edges of their domains."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

import tenferro as tn
from tenferro import ops
from tests.graphs import evaluated, function, gradients, metas_of
from tests.in_jax import in_jax

INF, NAN = float("inf"), float("nan")


@pytest.mark.exhaustive(but=5)
@pytest.mark.parametrize(
    ("x", "y"),
    [(0.0, 2.0), (0.0, 1.0), (0.0, 0.5), (0.0, 3.0), (2.0, 0.0), (-2.0, 0.0), (-2.0, 3.0),
     (1.0, INF), (INF, 0.0), (NAN, 1.0)],
)  # fmt: skip
def test_powers_and_their_derivatives_are_those_of_jax(x: float, y: float) -> None:
    value, expected = in_jax(jax.value_and_grad(lax.pow, (0, 1)), x, y)
    np.testing.assert_allclose(evaluated(ops.POW, x, y), value)
    np.testing.assert_allclose(gradients(ops.POW, x, y, wrt=(0, 1)), expected)


def test_both_derivatives_of_0_to_the_0_are_0() -> None:
    # Here lax.pow gives NaN; with an integer exponent JAX gives 0 as well.
    assert evaluated(ops.POW, 0.0, 0.0) == 1
    assert gradients(ops.POW, 0.0, 0.0, wrt=(0, 1)) == [0, 0]
    assert gradients(ops.POW, 0j, 0j, wrt=(0, 1)) == [0, 0]


def test_the_mixed_second_derivative_of_a_power_is_right_where_the_exponent_is_0() -> None:
    x, y = np.array(2.0), np.array(0.0)
    by_base = function(ops.POW, metas_of([x, y])).jvp([0])
    (mixed,) = by_base.jvp([1])(x, y, np.array(1.0), np.array(1.0))
    np.testing.assert_allclose(mixed, 0.5)  # d/dy of y·x^(y-1)


@pytest.mark.parametrize(("power", "second"), [(1.0, 0.0), (2.0, 2.0), (3.0, 0.0)])
def test_powers_of_0_are_twice_differentiable(power: float, second: float) -> None:
    x, y = np.array(0.0), np.array(power)
    df = function(ops.POW, metas_of([x, y])).jvp([0])
    (ddf,) = df.jvp([0])(x, y, np.array(1.0), np.array(1.0))
    assert ddf == second


@pytest.mark.parametrize(
    "op", [ops.EXP, ops.LOG, ops.SIN, ops.COS, ops.TANH, ops.SQRT, ops.RSQRT, ops.EXPM1, ops.LOG1P]
)
def test_nan_stays_nan(op: ops.StdTensorOp) -> None:
    assert np.isnan(evaluated(op, NAN))
    assert np.isnan(gradients(op, NAN)).all()


def test_complex_expm1_has_the_limits_of_exp_at_infinities() -> None:
    z = np.array([complex(np.inf, 0), complex(-np.inf, 0), complex(-np.inf, np.inf)])
    np.testing.assert_array_equal(evaluated(ops.EXPM1, z), [complex(np.inf, 0), -1, -1])


def test_small_arguments_keep_their_digits() -> None:
    for op in (ops.EXPM1, ops.LOG1P):
        np.testing.assert_allclose(evaluated(op, 1e-20), 1e-20)
        np.testing.assert_allclose(gradients(op, 1e-20), [1.0])


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_complex_log1p_and_expm1_keep_the_digits_of_either_part(executor: str) -> None:
    z = np.array([1e-12, 1e-16, 1e-30 + 1e-15j, -0.5 + 0.75j, 3.0 - 4j, -1e-9])
    log1p, expm1 = tn.jit(lambda z: (tn.log1p(z), tn.expm1(z * 1)), executor=executor)(z)
    right = [1e-12, 1e-16, 1.5e-30 + 1e-15j, -0.103819682389 + 0.982793723247j,
             1.73286795139 - 0.785398163397j, -1.0000000005e-9]  # fmt: skip
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(log1p), part(right), 1e-11)
    np.testing.assert_allclose(np.real(expm1)[2], 1e-30 - 0.5e-30, 1e-12)
    narrow = tn.jit(tn.log1p, executor=executor)(np.complex64(1e-5))
    np.testing.assert_allclose(narrow, 9.99995e-6, 1e-6)
    large = tn.jit(tn.expm1, executor=executor)(np.array([800, complex(800, -0.0)]))
    np.testing.assert_array_equal(large, [complex(np.inf, 0)] * 2)
    assert np.signbit(np.imag(large)).tolist() == [False, True]


def test_roots_at_zero_have_infinite_derivatives() -> None:
    assert evaluated(ops.RSQRT, 0.0) == INF
    assert gradients(ops.SQRT, 0.0) == [INF]
    assert gradients(ops.RSQRT, 0.0) == [-INF]


def test_tanh_of_large_arguments_is_flat() -> None:
    assert gradients(ops.TANH, np.array([-800.0, 800.0]))[0].tolist() == [0, 0]


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_complex_powers_vanish_at_the_infinity_where_they_decay(executor: str) -> None:
    z = np.array([complex(-np.inf, im) for im in (0.0, 1.0, -3.0)])
    assert np.asarray(tn.jit(tn.exp2, executor=executor)(z)).tolist() == [0, 0, 0]
    halves = tn.jit(lambda z: tn.pow(0.5, -z), executor=executor)
    assert np.asarray(halves(z)).tolist() == [0, 0, 0]
