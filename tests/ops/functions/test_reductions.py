from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenferro as tn
from tenferro.errors import AxisError, DTypeError, ShapeError
from tests.ops.functions.strategies import DTYPES, REAL, arrays
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]


def check(name: str, x: Array, expected: Any, **options: Any) -> None:
    """At once, and in a compiled program."""
    expected = np.asarray(expected)
    function = getattr(tn, name)
    compiled = tn.jit(lambda t: function(t, **options), executor="numpy")
    for actual in (function(x, **options), compiled(x)):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        assert_close(np.asarray(actual), expected, rounding(expected.dtype))


@st.composite
def axes_of(draw: st.DrawFn, x: Array) -> Any:
    """None, one axis, or several."""
    if x.ndim == 0:
        return draw(st.sampled_from([None, ()]))
    axis = st.integers(-x.ndim, x.ndim - 1)
    several = st.sets(st.integers(0, x.ndim - 1)).map(tuple)
    return draw(st.one_of(st.none(), axis, several))


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("name", ["sum", "prod"])
@given(st.data())
def test_sums_and_products_have_numpys_dtype(name: str, data: st.DataObject) -> None:
    x = data.draw(arrays())
    axis, keepdims = data.draw(axes_of(x)), data.draw(st.booleans())
    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    check(name, x, expected, axis=axis, keepdims=keepdims)


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("name", ["max", "min"])
@given(st.data())
def test_extrema_are_numpys(name: str, data: st.DataObject) -> None:
    x = data.draw(arrays(REAL).filter(lambda x: x.size))
    axis, keepdims = data.draw(axes_of(x)), data.draw(st.booleans())
    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    check(name, x, expected, axis=axis, keepdims=keepdims)


def test_the_mean_of_many_halves_does_not_overflow() -> None:
    x = np.full(70_000, 3, np.float16)
    check("mean", x, np.mean(x))


@given(st.data())
def test_the_mean_is_numpys(data: st.DataObject) -> None:
    x = data.draw(arrays(DTYPES).filter(lambda x: x.size))
    axis, keepdims = data.draw(axes_of(x)), data.draw(st.booleans())
    expected = np.mean(x, axis=axis, keepdims=keepdims)
    check("mean", x, expected, axis=axis, keepdims=keepdims)


def test_the_mean_of_small_integers_does_not_wrap() -> None:
    assert tn.mean(np.int8([100, 100])).item() == 100.0


def test_extrema_propagate_nan() -> None:
    x = np.array([[1.0, np.nan], [2.0, 3.0]])
    np.testing.assert_array_equal(np.asarray(tn.max(x, axis=1)), [np.nan, 3.0])
    np.testing.assert_array_equal(np.asarray(tn.min(x, axis=0)), [1.0, np.nan])


def test_reductions_of_nothing() -> None:
    empty = np.zeros((0, 3))
    check("sum", empty, np.zeros(3), axis=0)
    check("prod", empty, np.ones(3), axis=0)
    check("max", empty, np.zeros((0,)), axis=1)
    with pytest.raises(ShapeError, match=r"max: axis 0 of f64\[0,3\] has no elements"):
        tn.max(empty, axis=0)


def test_reductions_that_cannot_be_are_refused() -> None:
    with pytest.raises(DTypeError, match=r"max: takes .* operands, got c128\[1\]"):
        tn.max([1j])
    with pytest.raises(AxisError, match="sum: axis 1 is out of range for rank 1"):
        tn.sum([1.0], axis=1)
    with pytest.raises(AxisError, match=r"mean: axes \(0, -1\) name an axis twice"):
        tn.mean([1.0], axis=(0, -1))


def test_methods_of_arrays_take_the_options_of_functions() -> None:
    x = np.array([3, 100, 100], "int8")
    t = tn.asarray(x)
    for dtype in ("int8", "int32", "bool"):
        for name in ("sum", "prod"):
            expected = getattr(x, name)(dtype=dtype)
            for actual in (
                getattr(t, name)(dtype=dtype),
                tn.jit(lambda v, n=name, d=dtype: getattr(v, n)(dtype=d))(t),
            ):
                assert (actual.dtype, actual) == (expected.dtype, expected)
    assert t.sort(stable=True, descending=True).tolist() == [100, 100, 3]
    assert t.argsort(kind="stable").tolist() == [0, 1, 2]
    assert t.searchsorted(50, method="sort") == 1
    assert t.view() is t
