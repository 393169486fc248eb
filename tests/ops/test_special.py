"""Special functions at their edges, and what derivatives are where forms change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ShapeError
from tenferro.ops import ERF, ERF_INV, ERFC, LOGISTIC


def test_error_functions_are_exact_to_rounding() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=2000) * 2, rng.uniform(-6, 26, 2000), [0.0, 1.0, 8.0]])
    for op, exact in ((ERF, math.erf), (ERFC, math.erfc)):
        expected = np.array([exact(value) for value in x])
        np.testing.assert_allclose(op.numpy(x), expected, rtol=2e-15)
    x = np.concatenate([rng.uniform(-3, 3, 2000), rng.normal(size=500) * 1e-8])
    y = np.array([math.erf(value) for value in x])
    condition = 1 + np.abs(y) * np.exp(x * x) / np.abs(x)
    assert np.max(np.abs(ERF_INV.numpy(y) / x - 1) / condition) < 2e-15


def test_error_functions_at_the_ends() -> None:
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, 40.0, -40.0])
    np.testing.assert_array_equal(ERF.numpy(ends), [1, -1, np.nan, 0, 1, -1])
    np.testing.assert_array_equal(ERFC.numpy(ends), [0, 2, np.nan, 1, 0, 2])
    y = np.array([1.0, -1.0, 2.0, np.nan, 0.0])
    np.testing.assert_array_equal(ERF_INV.numpy(y), [np.inf, -np.inf, np.nan, np.nan, 0.0])
    assert np.signbit(ERF.numpy(np.array(-0.0)))


def test_the_logistic_function_neither_overflows_nor_loses_its_tail() -> None:
    x = np.array([-745.0, -40.0, 0.0, 40.0, 800.0, np.inf, -np.inf])
    tail = math.exp(-40)
    np.testing.assert_allclose(LOGISTIC.numpy(x), [5e-324, tail, 0.5, 1.0, 1.0, 1.0, 0.0])
    slope = tn.grad(lambda x: tn.sum(tn.sigmoid(x)))(x)
    np.testing.assert_allclose(np.asarray(slope)[[1, 2, 3]], [tail, 0.25, tail])


def test_softplus_is_smooth_at_zero() -> None:
    assert tn.grad(tn.softplus)(0.0).item() == 0.5
    assert tn.grad(tn.grad(tn.softplus))(0.0).item() == 0.25
    assert tn.grad(tn.grad(lambda x: tn.logaddexp(x, 1.0)))(1.0).item() == 0.25


@pytest.mark.parametrize("end", [math.inf, -math.inf])
def test_equal_infinities_share_the_derivative_of_logaddexp(end: float) -> None:
    gradients = tn.grad(tn.logaddexp, argnums=(0, 1))(end, end)
    assert [g.item() for g in gradients] == [0.5, 0.5]
    gradients = tn.grad(tn.logaddexp, argnums=(0, 1))(end, 0.0)
    assert [g.item() for g in gradients] == ([1.0, 0.0] if end > 0 else [0.0, 1.0])


def test_sums_of_exponentials_take_infinities_and_nan() -> None:
    inf, nan = math.inf, math.nan
    x = np.array([[1000.0, 1000.0], [-inf, -inf], [inf, 0.0], [nan, 0.0], [-inf, 3.0]])
    expected = [1000 + math.log(2), -inf, inf, nan, 3.0]
    np.testing.assert_allclose(np.asarray(tn.logsumexp(x, axis=1)), expected)
    np.testing.assert_allclose(np.asarray(tn.jit(lambda x: tn.logsumexp(x, axis=1))(x)), expected)
    np.testing.assert_allclose(np.asarray(tn.softmax(x))[[0, 4]], [[0.5, 0.5], [0.0, 1.0]])
    slope = tn.grad(lambda x: tn.logsumexp(x))(np.array([1000.0, -inf, 1000.0]))
    assert slope.tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_sums_of_exponentials_over_a_named_axis_may_be_empty(executor: str) -> None:
    def both(v: Any) -> Any:
        total = (tn.logsumexp(v), tn.logsumexp(v, b=2.0), tn.logsumexp(v, axis=0, keepdims=True))
        return *total, tn.softmax(v), tn.log_softmax(v), tn.vmap(tn.softmax)(v[None])

    f = tn.jit(both, executor=executor, symbolic={"v": ("n",)})
    g = tn.jit(tn.grad(tn.logsumexp), executor=executor, symbolic={"a": ("n",)})
    for v in (np.zeros(0), np.arange(2.0)):
        with np.errstate(divide="ignore"):
            largest = np.log(np.sum(np.exp(v)))
            doubled = largest + np.log(2.0)
        soft = np.exp(v - largest)
        expected = [largest, doubled, [largest], soft, v - largest, soft[None]]
        for found, value in zip(f(v), expected, strict=True):
            np.testing.assert_allclose(np.asarray(found), value, rtol=1e-14)
        np.testing.assert_allclose(np.asarray(g(v)), soft, rtol=1e-14)
    with pytest.raises(ShapeError, match=r"max: axis 0 of f64\[0\] has no elements"):
        tn.jit(tn.max, executor=executor, symbolic={"a": ("n",)})(np.zeros(0))


def test_derivatives_at_kinks() -> None:
    assert tn.grad(tn.relu)(0.0).item() == 0.0
    assert [g.item() for g in tn.grad(tn.hypot, argnums=(0, 1))(0.0, 0.0)] == [0.0, 0.0]
    for name in ("floor", "ceil", "trunc", "round"):
        assert tn.grad(getattr(tn, name))(1.5).item() == 0.0
        assert tn.grad_optional(getattr(tn, name))(1.5) is None


def test_a_stopped_gradient_is_a_symbolic_zero() -> None:
    assert tn.grad_optional(lambda x: tn.lax.stop_gradient(x))(1.5) is None
    assert tn.grad(lambda x: x * tn.lax.stop_gradient(x))(1.5).item() == 1.5


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_logarithms_of_powers_are_exact(executor: str) -> None:
    exponents = np.arange(-60.0, 61.0)
    for base, log in ((2.0, tn.log2), (10.0, tn.log10)):
        result = tn.jit(log, executor=executor)(base**exponents)
        assert result.tolist() == exponents.tolist()
    assert tn.grad(tn.log2)(8.0).item() == pytest.approx(1 / (8 * math.log(2)))


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_the_derivative_of_a_running_product_is_right_with_zeros(executor: str) -> None:
    def last(x: tn.TracedTensor) -> tn.TracedTensor:
        return tn.cumprod(x)[3]

    x = np.array([2.0, 0.0, 3.0, 4.0])
    assert tn.jit(tn.grad(last), executor=executor)(x).tolist() == [0.0, 24.0, 0.0, 0.0]
    hessian = np.asarray(tn.jit(tn.hessian(last), executor=executor)(x))
    expected = np.zeros((4, 4))
    expected[1] = expected[:, 1] = [12.0, 0.0, 8.0, 6.0]
    np.testing.assert_allclose(hessian, expected)
