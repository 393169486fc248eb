from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenferro as tn
from tenferro.errors import AxisError, ShapeError
from tests.ops.functions.strategies import DTYPES, filled
from tests.tolerances import assert_close, rounding

SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((0, 2, 3), (3, 4)),
    ((2, 0), (0, 4)),
]


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize(("left", "right"), SHAPES)
@given(st.sampled_from(DTYPES[1:]), st.sampled_from(DTYPES[1:]))
def test_matmul_is_numpys(left: Any, right: Any, first: str, second: str) -> None:
    x, y = filled(left, first, 0), filled(right, second, 1)
    expected = x @ y
    for actual in (tn.matmul(x, y), tn.jit(tn.matmul, executor="numpy")(x, y)):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        assert_close(np.asarray(actual), expected, rounding(expected.dtype))


@pytest.mark.parametrize(("left", "right"), [*SHAPES[:4], ((5, 2, 3), (7, 3, 4)), ((), (2, 3))])
def test_dot_is_numpys(left: Any, right: Any) -> None:
    x, y = filled(left, "float64", 0), filled(right, "float64", 1)
    assert_close(np.asarray(tn.dot(x, y)), np.dot(x, y), rounding("f64"))


@pytest.mark.parametrize(
    "axes", [0, 1, 2, np.int64(1), ([2, 1], [0, 1]), (2, 0), ((-1,), (0,)), ([2, 0], [0, 2])]
)
def test_tensordot_is_numpys(axes: Any) -> None:
    x, y = filled((2, 3, 4), "float64", 0), filled((4, 3, 2), "float64", 1)
    if isinstance(axes, int) and axes == 2:
        y = filled((3, 4, 2), "float64", 1)
    expected = np.tensordot(x, y, axes)
    assert tn.tensordot(x, y, axes).shape == expected.shape
    assert_close(np.asarray(tn.tensordot(x, y, axes)), expected, rounding("f64"))


def test_outer_is_numpys() -> None:
    x, y = np.array([1, 2]), np.array([3.0, 4.0, 5.0])
    assert_close(np.asarray(tn.outer(x, y)), np.outer(x, y), rounding("f64"))
    assert tn.outer(tn.ones((2, 2)), y).shape == (4, 3)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            lambda: tn.ones((2, 3)) @ tn.ones((4, 5)),
            "axis 1 of f64[2,3] and axis 0 of f64[4,5] are contracted but have sizes 3 and 4",
        ),
        (
            lambda: tn.matmul(1.0, tn.ones(3)),
            "matmul: operands f64[] and f64[3] must have at least",
        ),
        (lambda: tn.ones((2, 2, 3)) @ tn.ones((3, 3, 4)), "their batch axes [2] and [3] do not"),
        (lambda: tn.ones((5, 2, 3)) @ tn.ones((5, 4, 2)), "have sizes 3 and 4"),
    ],
)
def test_a_contraction_of_different_sizes_names_the_axes(function: Any, text: str) -> None:
    with pytest.raises(ShapeError, match=re.escape(text)):
        function()


def test_axes_that_tensordot_cannot_contract_are_refused() -> None:
    x = tn.ones((2, 3))
    with pytest.raises(AxisError, match="tensordot: cannot contract 3 axes of ranks 2 and 2"):
        tn.tensordot(x, x, 3)
    with pytest.raises(AxisError, match="tensordot: got 2 axes of x1 and 1 axis of x2"):
        tn.tensordot(x, x, ([0, 1], [0]))
    with pytest.raises(AxisError, match="tensordot: axis 2 is out of range for rank 2"):
        tn.tensordot(x, x, (2, 0))
