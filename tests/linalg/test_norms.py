"""Norms and condition numbers, against NumPy, and their gradients."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import AxisError, ConfigError, DTypeError, ShapeError
from tests.linalg.matrices import Array, difference, inner, random
from tests.tolerances import assert_close, rounding

RNG = np.random.default_rng(0)
DTYPES = ("float32", "float64", "complex64", "complex128")
MATRIX_NORMS = ("fro", "nuc", inf, -inf, 1, -1, 2, -2)
VECTOR_NORMS = (0, 1, 2, 3, 0.5, -1, inf, -inf)


@pytest.mark.parametrize("order", MATRIX_NORMS)
def test_matrix_norms_are_those_of_numpy(order: Any) -> None:
    for dtype in DTYPES:
        a = random(RNG, 2, 3, 4, dtype=dtype)
        for keep in (False, True):
            expected = np.linalg.matrix_norm(a, ord=order, keepdims=keep)
            result = tn.linalg.matrix_norm(a, ord=order, keepdims=keep)
            assert result.dtype == expected.dtype
            assert_close(result, expected, rounding(dtype))
            moved = np.linalg.norm(a, order, axis=(0, 2), keepdims=keep)
            assert_close(tn.linalg.norm(a, order, (0, 2), keep), moved, rounding(dtype))
        assert_close(tn.linalg.norm(a[0], order), np.linalg.norm(a[0], order), rounding(dtype))


@pytest.mark.parametrize("order", VECTOR_NORMS)
def test_vector_norms_are_those_of_numpy(order: Any) -> None:
    for dtype in DTYPES:
        a = random(RNG, 2, 3, 4, dtype=dtype)
        for axis in (None, 0, -1, (0, 2)):
            expected = np.linalg.vector_norm(a, axis=axis, ord=order)
            result = tn.linalg.vector_norm(a, axis=axis, ord=order)
            assert result.dtype == expected.dtype
            assert_close(result, expected, rounding(dtype))
        kept = np.linalg.norm(a, order, axis=1, keepdims=True)
        assert_close(tn.linalg.norm(a, order, 1, True), kept, rounding(dtype))
    assert_close(tn.linalg.norm(a), np.linalg.norm(a), rounding(dtype))


@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_norms_of_infinite_numbers_are_infinite(dtype: str, executor: str) -> None:
    numbers = [complex(inf, 1), complex(1, -inf), complex(-inf, 0), complex(inf, inf), 3 + 4j]
    a = np.array([[number, 0] for number in numbers], dtype)
    result = tn.jit(lambda a: tn.linalg.norm(a, axis=1), executor=executor)(a)
    assert result.tolist() == [inf, inf, inf, inf, 5]


@pytest.mark.parametrize("p", [None, *[order for order in MATRIX_NORMS if order != "nuc"]])
def test_condition_numbers_are_those_of_numpy(p: Any) -> None:
    a = random(RNG, 2, 3, 3, dtype=complex)
    assert_close(tn.linalg.cond(a, p), np.linalg.cond(a, p), 1e-11)
    if p not in (None, 2, -2):
        assert np.isinf(np.asarray(tn.linalg.cond(np.zeros((2, 2)), p)))
        assert np.isnan(np.asarray(tn.linalg.cond(np.full((2, 2), np.nan), p)))


@pytest.mark.parametrize("order", MATRIX_NORMS)
@pytest.mark.parametrize("dtype", [float, complex])
def test_gradients_are_slopes(order: Any, dtype: type) -> None:
    a, d = random(RNG, 4, 3, dtype=dtype), random(RNG, 4, 3, dtype=dtype)

    def loss(x: Any) -> Any:
        return tn.linalg.matrix_norm(x, ord=order)

    gradient = np.asarray(tn.grad(loss)(tn.Tensor(a)))
    slope = difference(lambda x: loss(tn.Tensor(x)), a, d)
    assert abs(inner(gradient, d) - slope) < 1e-8


def test_norms_of_16_bits_are_computed_in_single_precision_and_rounded() -> None:
    wide = random(RNG, 4, 300, dtype="float32") * 300  # squares that overflow in float16
    orders: list[tuple[Any, Any]] = [(each, 1) for each in VECTOR_NORMS[1:]]
    orders += [(None, None), *((each, None) for each in MATRIX_NORMS if each not in ("nuc", 2, -2))]
    for dtype in ("float16", "bfloat16"):
        x = tn.asarray(wide).astype(dtype)
        for order, axis in orders:
            expected = tn.linalg.norm(x.astype("float32"), order, axis).astype(dtype)
            found = tn.linalg.norm(x, order, axis)
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(found.tolist(), expected.tolist())
        assert tn.grad(tn.linalg.vector_norm)(x).dtype == x.dtype
        assert tn.linalg.matrix_power(x[:, :4], 2).dtype == x.dtype
        for order in ("nuc", 2):
            with pytest.raises(DTypeError, match="matrix_norm: takes single and double precision"):
                tn.linalg.matrix_norm(x, ord=order)


def gradient_of(order: Any, a: Array) -> Array:
    return np.asarray(tn.grad(lambda x: tn.linalg.matrix_norm(x, ord=order))(tn.Tensor(a)))


def test_the_gradient_of_the_nuclear_norm_is_right_at_equal_singular_values() -> None:
    q = np.linalg.qr(random(RNG, 4, 3, dtype=complex))[0]
    assert_close(gradient_of("nuc", 3 * q), q, 1e-12)
    assert np.isnan(gradient_of("nuc", np.ones((2, 2)))).all()


def test_the_nuclear_norm_has_second_derivatives_at_equal_singular_values() -> None:
    rng = np.random.default_rng(5)
    q = np.linalg.qr(rng.normal(size=(4, 3)))[0]
    a, d, step = q * np.array([2, 2, 1.0]), rng.normal(size=(4, 3)), 1e-5
    slope = (gradient_of("nuc", a + step * d) - gradient_of("nuc", a - step * d)) / (2 * step)
    product = tn.hvp(lambda x: tn.linalg.matrix_norm(x, ord="nuc"), a, d)
    np.testing.assert_allclose(product, slope, rtol=0, atol=1e-8)


def test_the_gradient_of_the_spectral_norm_at_a_tie_is_the_mean() -> None:
    assert_close(gradient_of(2, np.diag([2.0, 2.0, 1.0])), np.diag([0.5, 0.5, 0.0]), 1e-12)
    assert_close(gradient_of(-2, np.diag([2.0, 1.0, 1.0])), np.diag([0.0, 0.5, 0.5]), 1e-12)


def test_wrong_orders_and_axes_are_refused() -> None:
    known = "'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
    with pytest.raises(ConfigError) as caught:
        tn.linalg.matrix_norm(np.eye(2), ord=3)
    assert str(caught.value) == f"matrix_norm: ord must be {known} for matrices, got 3"
    with pytest.raises(ConfigError, match="vector_norm: ord must be a number, got 'fro'"):
        tn.linalg.norm(np.ones(3), "fro")
    with pytest.raises(AxisError, match="norm: takes one axis or two, got 3"):
        tn.linalg.norm(np.ones((1, 1, 1)), 2)
    with pytest.raises(AxisError, match=r"norm: axes \(0, 0\) repeat"):
        tn.linalg.norm(np.eye(2), 2, (0, 0))
    with pytest.raises(AxisError, match=r"norm: axis 2 is out of range for f64\[2,2\]"):
        tn.linalg.norm(np.eye(2), 2, (0, 2))
    with pytest.raises(ShapeError, match=r"cond: takes square matrices, got f64\[2,3\]"):
        tn.linalg.cond(np.ones((2, 3)), 1)


@pytest.mark.parametrize("order", [(1, 2), np.array([1.0, 2.0]), 1j, object()])
def test_an_order_is_one_number_or_a_name(order: Any) -> None:
    x = np.eye(2)
    for function in (tn.linalg.norm, tn.linalg.vector_norm, tn.linalg.matrix_norm):
        with pytest.raises(ConfigError, match="norm: ord must be one real number or a name, got"):
            function(x, ord=order)
    with pytest.raises(ConfigError, match="cond: ord must be one real number or a name, got"):
        tn.linalg.cond(x, p=order)
    assert tn.linalg.vector_norm(x, ord=np.array(1)) == 2.0
