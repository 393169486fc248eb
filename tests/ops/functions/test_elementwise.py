from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tenferro as tn
from tenferro.errors import DTypeError, ShapeError
from tests.ops.functions.strategies import DTYPES, REAL, arrays, filled, pairs
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]


def assert_same(actual: tn.Tensor, expected: Any) -> None:
    """Same dtype, shape and, up to rounding, elements."""
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert_close(np.asarray(actual), expected, rounding(expected.dtype))


def traced(function: Any, *args: Array) -> tn.Tensor:
    return tn.jit(function, executor="numpy")(*args)


ANY_DTYPE = ["add", "multiply", "equal", "not_equal"]
ORDERED = ["maximum", "minimum", "less", "less_equal", "greater", "greater_equal"]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", ANY_DTYPE)
@given(pairs())
def test_promotion_and_broadcasting_are_those_of_numpy(
    name: str, pair: tuple[Array, Array]
) -> None:
    x, y = pair
    if x.dtype == y.dtype == bool and name in ("add", "multiply"):
        assume(False)  # NumPy's or and and
    expected = getattr(np, name)(x, y)
    assert_same(getattr(tn, name)(x, y), expected)
    assert_same(traced(getattr(tn, name), x, y), expected)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", [*ORDERED, "subtract"])
@given(pairs(REAL))
def test_functions_of_real_numbers_agree_with_numpy(name: str, pair: tuple[Array, Array]) -> None:
    assert_same(getattr(tn, name)(*pair), getattr(np, name)(*pair))


@given(pairs(DTYPES[1:]))
def test_division_makes_integers_float64(pair: tuple[Array, Array]) -> None:
    expected = np.divide(*pair)
    assert_same(tn.divide(*pair), expected)
    assert_same(tn.Tensor(pair[0]) / tn.Tensor(pair[1]), expected)


@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
@given(pairs(REAL))
def test_remainder_and_floor_divide_follow_the_sign_of_the_divisor(
    name: str, pair: tuple[Array, Array]
) -> None:
    expected = getattr(np, name)(*pair)
    assert_same(getattr(tn, name)(*pair), expected)
    assert_same(traced(getattr(tn, name), *pair), expected)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_floor_divide_of_floats_is_exact_and_infinite_at_zero(executor: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=1000) * 10 ** rng.uniform(-3, 6, 1000), rng.normal(size=1000)
    x, y = np.append(x, [1.0, -1.0, 0.0]), np.append(y, [0.0, 0.0, 0.0])
    with np.errstate(all="ignore"):
        expected = np.floor_divide(x, y)
    actual = tn.jit(tn.floor_divide, executor=executor)(x, y)
    np.testing.assert_array_equal(np.asarray(actual), expected)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.array([-(2**63), 2**63 - 1, -7, 7]), np.array([3, -3, 2, -2])),
        (np.array([1.0, -1.0, 2.5, 1e308, -1e308]), np.array([-np.inf, np.inf, np.inf, 0.1, 0.1])),
    ],
    ids=["integers", "floats"],
)
def test_floor_divide_neither_overflows_on_the_way_nor_meets_infinities(
    executor: str, x: Array, y: Array
) -> None:
    with np.errstate(all="ignore"):
        expected = np.floor_divide(x, y)
    actual = tn.jit(tn.floor_divide, executor=executor)(x, y)
    np.testing.assert_array_equal(np.asarray(actual), expected)


def test_floor_divide_has_derivative_zero() -> None:
    f = tn.grad(lambda x, y: tn.floor_divide(x, y), argnums=(0, 1))
    assert [g.item() for g in f(7.5, 2.0)] == [0.0, 0.0]


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("number", [True, 2, 2.5, 1.5 + 1j])
def test_python_numbers_are_weak(dtype: str, number: complex) -> None:
    x = filled((2, 3), dtype, 0)
    expected = np.result_type(x.dtype, number)
    assert tn.add(x, number).dtype == expected
    assert tn.multiply(number, x).dtype == expected
    assert traced(lambda x: number * x, x).dtype == expected
    assert traced(lambda x, number: x - number, x, number).dtype == expected  # type: ignore[arg-type]


def test_numpy_numbers_are_not_weak() -> None:
    assert (tn.Tensor(np.float32([1, 2])) * np.float64(2)).dtype == np.float64


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 100])
@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_an_integer_power_is_multiplied_out_and_keeps_the_dtype(dtype: str, exponent: int) -> None:
    x = filled((4,), dtype, 1) / 1 if dtype.startswith(("f", "c")) else np.array([1, -1], dtype)
    x = (x / 4).astype(dtype) if dtype.startswith(("f", "c")) else x
    assert_same(tn.pow(x, exponent), x**exponent)
    assert_same(tn.Tensor(x) ** exponent, x**exponent)


def test_an_integer_power_wraps_around_as_numpy_does() -> None:
    x = np.array([3, -7])
    assert_same(tn.Tensor(x) ** 100, x**100)


def test_powers_that_are_not_integers() -> None:
    x = np.array([1.0, 2.0])
    assert_same(tn.Tensor(x) ** -2, x**-2)
    assert_same(tn.Tensor(x) ** 0.5, x**0.5)
    assert_same(2.0 ** tn.Tensor(x), 2.0**x)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("exponent", [-1, -2, -3, -6])
def test_derivatives_of_inverse_powers_are_infinite_at_0(executor: Any, exponent: int) -> None:
    x = np.array([0.0, -0.0, 2.0, -np.inf])
    factor = 1.0
    for order in range(4):
        function = tn.jit(
            lambda x, order=order: tn.vmap(tn.derivative(lambda x: x**exponent, order))(x),
            executor=executor,
        )
        with np.errstate(divide="ignore"):
            expected = factor * np.float_power(x, exponent - order)
        np.testing.assert_allclose(function(x), expected, rtol=1e-14, err_msg=str(order))
        factor *= exponent - order
    z = np.array([1.0 + 2.0j])
    slope = tn.grad(lambda z: tn.sum(z**exponent), holomorphic=True)
    np.testing.assert_allclose(slope(z), exponent * z ** (exponent - 1), rtol=1e-14)
    modulus = tn.grad(lambda x: tn.sum(tn.abs(x) ** exponent))
    np.testing.assert_allclose(modulus(x[2:3]), exponent * 2.0 ** (exponent - 1))


def test_powers_that_integers_do_not_have_are_refused() -> None:
    x = tn.Tensor([1, 2])
    with pytest.raises(DTypeError, match=r"pow: i64 to the negative power -1 is not an integer"):
        x**-1


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "uint32"])
def test_integers_to_the_power_of_integers_are_numpys(executor: str, dtype: str) -> None:
    signed = np.dtype(dtype).kind == "i"
    x, y = np.meshgrid(np.arange(-5 if signed else 0, 6).astype(dtype), np.arange(9).astype(dtype))
    powers = tn.jit(lambda x, y: x**y, executor=executor)
    assert_same(powers(x, y), x**y)
    assert powers(np.array([3], dtype), np.array([99], dtype)).tolist() == [
        np.power(np.array(3, dtype), np.array(99, dtype)).item()
    ]


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_negative_powers_of_integers_are_rounded_toward_zero(executor: str) -> None:
    x = np.array([-2, -1, -1, 0, 1, 2])
    y = np.array([-1, -1, -2, -1, -9, -3])
    powers = tn.jit(lambda x, y: tn.pow(x, y), executor=executor)
    assert powers(x, y).tolist() == [0, -1, 1, 0, 1, 0]


@given(arrays(REAL), st.sampled_from([(None, 2), (-1, None), (-1, 2), (0.5, 2), (None, None)]))
def test_clip_with_one_bound_or_two(x: Array, bounds: tuple[Any, Any]) -> None:
    expected = np.clip(x, *bounds) if bounds != (None, None) else x
    assert_same(tn.clip(x, *bounds), expected)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_zeros_and_infinities_of_divisions_have_numpys_signs(name: str, executor: str) -> None:
    values = [0.0, -0.0, 1.0, -1.0, 6.0, -6.0, 3.0, -3.0, np.inf, -np.inf, np.nan]
    x, y = np.meshgrid(values, values)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
        found = np.asarray(tn.jit(getattr(tn, name), executor=executor)(x, y))
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(expected[number]))


def test_clip_broadcasts_bounds() -> None:
    x, low = np.array([[1, 5, 9]]), np.array([[2], [6]])
    assert_same(tn.clip(x, low, 8), np.clip(x, low, 8))


@given(arrays(DTYPES[1:]))
def test_parts_signs_and_magnitudes(x: Array) -> None:
    for name in ("negative", "abs", "sign", "conj", "real", "imag", "square"):
        assert_same(getattr(tn, name)(x), getattr(np, name)(x))


ANALYTIC = ["exp", "expm1", "sin", "cos", "tan", "tanh", "reciprocal"]


@pytest.mark.parametrize("name", [*ANALYTIC, "log", "log1p", "sqrt"])
@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_analytic_functions_make_integers_float64(name: str, dtype: str) -> None:
    x = abs(filled((2, 3), dtype, 3)) if dtype.startswith(("i", "f")) else filled((3,), dtype, 3)
    x = np.asarray(x, dtype)
    wide = x.astype("float64") if x.dtype.kind == "i" else x
    assert_same(getattr(tn, name)(x), getattr(np, name)(wide))


@given(pairs(), arrays(["bool"]))
def test_where_promotes_and_broadcasts(pair: tuple[Array, Array], mask: Array) -> None:
    x, y = pair
    if mask.ndim == 0:
        assert_same(tn.where(mask, x, y), np.where(mask, x, y))
    assert_same(tn.where(x, x, y), np.where(x != 0, x, y))


def test_logical_functions_ask_whether_a_number_is_not_zero() -> None:
    x, y = np.array([0, 1, 2, 0]), np.array([0.0, 0.0, 3.0, 1.0])
    assert_same(tn.logical_and(x, y), np.logical_and(x, y))
    assert_same(tn.logical_or(x, y), np.logical_or(x, y))
    assert_same(tn.logical_not(x), np.logical_not(x))


def test_casts_and_checked_conversions() -> None:
    assert_same(tn.astype([1.7, -1.7], "int32"), np.array([1, -1], "int32"))
    assert_same(tn.convert(np.float32([1.5]), "float64"), np.array([1.5]))
    with pytest.raises(DTypeError, match="convert: f64 does not fit f32; use cast if loss is"):
        tn.convert([1.5], "float32")
    with pytest.raises(DTypeError, match="dtype: 'int65' is not an element type"):
        tn.astype([1], "int65")


def test_shapes_that_do_not_broadcast_name_the_axis() -> None:
    expected = r"add: operands have types f64\[2,3\] and f64\[4,3\]; axis -2 has sizes 2 and 4"
    with pytest.raises(ShapeError, match=expected):
        tn.zeros((2, 3)) + tn.zeros((4, 3))
    with pytest.raises(ShapeError, match=expected):
        tn.jit(lambda x, y: x + y)(tn.zeros((2, 3)), tn.zeros((4, 3)))


@pytest.mark.parametrize("name", [*ORDERED, "remainder", "floor_divide"])
def test_complex_numbers_have_no_order(name: str) -> None:
    with pytest.raises(DTypeError, match=r"takes .* operands, got c128|have no order"):
        getattr(tn, name)([1j], [2.0])


def test_numbers_that_do_not_fit_a_dtype_are_refused() -> None:
    with pytest.raises(DTypeError, match="promotion: 300 does not fit i8"):
        tn.Tensor([1], "int8") + 300
    with pytest.raises(DTypeError, match="promotion: -1 does not fit u8"):
        tn.Tensor([1], "uint8") + -1


def test_operands_that_are_not_arrays_are_refused_by_name() -> None:
    with pytest.raises(DTypeError, match="add: takes arrays and numbers, got str, int"):
        tn.add("a", 1)
    with pytest.raises(DTypeError, match="exp: takes arrays and numbers, got NoneType"):
        tn.exp(None)


def test_sums_and_products_of_bools_are_or_and_and() -> None:
    x, y = np.array([True, True, False]), np.array([True, False, False])
    assert_same(tn.add(x, y), x + y)
    assert_same(tn.multiply(x, y), x * y)
