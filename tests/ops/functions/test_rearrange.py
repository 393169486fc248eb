from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import tenferro as tn
from tenferro.errors import AxisError, DTypeError, ExtentError, ShapeError
from tests.ops.functions.strategies import arrays, filled

Array = np.ndarray[Any, Any]
X = np.arange(24.0).reshape(2, 3, 4)


def assert_equal(actual: tn.Tensor, expected: Any) -> None:
    expected = np.asarray(expected)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(np.asarray(actual), expected)


def assert_both(function: Any, x: Array, expected: Any) -> None:
    """At once, and in a compiled program."""
    assert_equal(function(tn.Tensor(x)), expected)
    assert_equal(tn.jit(function, executor="numpy")(x), expected)


@given(arrays(), st.sampled_from(["C", "F"]))
def test_reshape_with_an_inferred_size_in_either_order(x: Array, order: str) -> None:
    assert_both(lambda t: tn.reshape(t, (-1,), order=order), x, x.reshape((-1,), order=order))
    assert_both(lambda t: t.ravel(order), x, x.ravel(order))
    if x.size:
        expected = x.reshape((1, -1, 1), order=order)
        assert_both(lambda t: tn.reshape(t, (1, -1, 1), order=order), x, expected)


def test_reshape_takes_one_size_and_numpys_integers() -> None:
    assert_equal(tn.reshape(X, 24), X.reshape(24))
    assert_equal(tn.Tensor(X).reshape(np.int64(6), np.int32(4)), X.reshape(6, 4))
    assert_equal(tn.reshape(X, [4, np.int64(-1)], order="F"), X.reshape((4, -1), order="F"))


@pytest.mark.parametrize(
    ("shape", "error", "text"),
    [
        ((5, 5), ShapeError, "reshape: f64[2,3,4] has 24 elements, but f64[5,5] has 25"),
        ((-1, -1), ShapeError, "reshape: only one size of (-1, -1) may be -1"),
        ((0, -1), ShapeError, "reshape: -1 in (0, -1) is ambiguous"),
        ((-2, 12), ExtentError, "extent -2 is not between 0 and 2**63 - 1"),
        ((2.0, 12), ShapeError, "shape: 2.0 is not a size; pass an integer"),
        ((True, 24), ShapeError, "shape: True is not a size"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(shape: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        tn.reshape(X, shape)
    with pytest.raises(error, match=re.escape(text)):
        tn.make_program(lambda x: x.reshape(shape), X)


def test_reshape_refuses_other_orders() -> None:
    with pytest.raises(ShapeError, match="order must be 'C' or 'F', got 'A'"):
        tn.reshape(X, (24,), order="A")


@given(st.data())
def test_basic_indexing_is_numpys(data: st.DataObject) -> None:
    x = filled(data.draw(npst.array_shapes(min_dims=1, max_dims=3, max_side=5)), "int64", 0)
    indices = data.draw(npst.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    expected = x[indices]
    assert_both(lambda t: t[indices], x, expected)


INDICES = [
    np.int64(1),
    np.array(1),
    (slice(None, None, -2), np.int32(2)),
    (..., None, -1),
    (slice(5, 1), slice(-100, 100)),
    (slice(np.int64(0), np.int64(1)),),
    (),
    slice(3, None, -1),
]


@pytest.mark.parametrize("indices", INDICES, ids=repr)
def test_indices_that_are_easily_taken_wrongly(indices: Any) -> None:
    assert_both(lambda t: t[indices], X, X[indices])


@given(arrays(), st.data())
def test_transposition_is_numpys(x: Array, data: st.DataObject) -> None:
    axes = tuple(data.draw(st.permutations(range(x.ndim))))
    assert_both(lambda t: tn.permute_dims(t, axes), x, x.transpose(axes))
    assert_both(lambda t: t.T, x, x.T)
    if x.ndim >= 2:
        assert_both(tn.matrix_transpose, x, x.swapaxes(-1, -2))
        assert_both(lambda t: tn.moveaxis(t, 0, -1), x, np.moveaxis(x, 0, -1))
        assert_both(lambda t: tn.flip(t, axis=(0, -1)), x, np.flip(x, (0, -1)))


def test_an_axis_out_of_range_or_named_twice_is_refused() -> None:
    with pytest.raises(AxisError, match="permute_dims: axis 3 is out of range for rank 3"):
        tn.permute_dims(X, (0, 1, 3))
    with pytest.raises(AxisError, match="name an axis twice"):
        tn.permute_dims(X, (0, 1, -2))
    with pytest.raises(AxisError, match="flip: axis -4 is out of range for rank 3"):
        tn.flip(X, -4)
    with pytest.raises(AxisError, match=r"sum: axis 1\.0 is not an integer"):
        tn.sum(X, 1.0)
    with pytest.raises(
        ShapeError, match=r"matrix_transpose: needs at least two axes, got f64\[2\]"
    ):
        tn.matrix_transpose([1.0, 2.0])


def test_axes_of_size_one_come_and_go() -> None:
    assert_both(lambda t: tn.expand_dims(t, (0, -1)), X, np.expand_dims(X, (0, -1)))
    assert_both(lambda t: tn.expand_dims(t, 1), X, np.expand_dims(X, 1))
    one = X.reshape(1, 2, 1, 12)
    assert_both(tn.squeeze, one, one.squeeze())
    assert_both(lambda t: tn.squeeze(t, axis=-2), one, one.squeeze(-2))
    with pytest.raises(ShapeError, match=r"squeeze: axis 1 of f64\[1,2,1,12\] has size 2, not 1"):
        tn.squeeze(one, 1)


def test_broadcast_to() -> None:
    assert_both(lambda t: tn.broadcast_to(t, (5, 2, 3, 4)), X, np.broadcast_to(X, (5, 2, 3, 4)))
    assert_equal(tn.broadcast_to(1, 3), np.ones(3, int))
    with pytest.raises(
        ShapeError, match=r"broadcast_to: f64\[2,3,4\] has more axes than .* f64\[4\]"
    ):
        tn.broadcast_to(X, (4,))
    with pytest.raises(ShapeError, match="broadcast_to: axis 2 of"):
        tn.broadcast_to(X, (2, 3, 5))


@given(arrays(), st.sampled_from(["bool", "int32", "float32", "complex64"]))
def test_concat_and_stack_promote(x: Array, dtype: str) -> None:
    y = filled(x.shape, dtype, 5)
    assert_equal(tn.concat([x, y], axis=None), np.concatenate([x, y], axis=None))
    assert_equal(tn.stack([x, y], axis=-1), np.stack([x, y], axis=-1))
    assert_equal(tn.stack((x, y)), np.stack((x, y)))
    if x.ndim:
        assert_equal(tn.concat([x, y, x], axis=-1), np.concatenate([x, y, x], axis=-1))


def test_concat_and_stack_in_a_program() -> None:
    f = tn.jit(lambda x: tn.concat([x, tn.stack([x[0], [1.0, 2.0]])]), executor="numpy")
    assert f(np.ones((1, 2))).tolist() == [[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]]
    assert tn.concat(tn.Tensor([[1, 2], [3, 4]])).tolist() == [1, 2, 3, 4]


def test_arrays_that_cannot_be_joined_are_refused() -> None:
    with pytest.raises(ShapeError, match="concat: needs at least one array"):
        tn.concat([])
    with pytest.raises(ShapeError, match="stack: needs at least one array"):
        tn.stack([])
    with pytest.raises(ShapeError, match=r"concat: operands.*f64\[2,3\].*f64\[2,4\]"):
        tn.concat([tn.zeros((2, 3)), tn.zeros((2, 4))])
    with pytest.raises(AxisError, match="concat: axis 0 is out of range for rank 0"):
        tn.concat([1.0, 2.0])


@pytest.mark.parametrize(
    "width", [1, (1, 2), ((1, 2),), ((1, 2), (0, 3)), np.array([[1, 0], [2, 2]])]
)
def test_pad_takes_the_widths_that_numpy_takes(width: Any) -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]])
    assert_both(lambda t: tn.pad(t, width), x, np.pad(x, width))
    expected = np.pad(x, width, constant_values=7)
    assert_both(lambda t: tn.pad(t, width, constant_values=7), x, expected)


def test_widths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(
        ShapeError, match=r"pad: .* does not give a pair of sizes for each axis of f"
    ):
        tn.pad(X, ((1, 1), (2, 2)))
    with pytest.raises(ShapeError, match=r"shape: 1\.5 is not a size"):
        tn.pad(X, 1.5)
    with pytest.raises(ShapeError, match="pad: the size 'n' has a number only in a function"):
        tn.pad(X, "n")


@given(arrays(), st.integers(-4, 4))
def test_triangles(x: Array, k: int) -> None:
    if x.ndim >= 2:
        assert_both(lambda t: tn.tril(t, k), x, np.tril(x, k))
        assert_both(lambda t: tn.triu(t, k), x, np.triu(x, k))


@given(arrays(), st.integers(-4, 4), st.booleans())
def test_diagonals_of_any_two_axes_at_any_offset(x: Array, offset: int, swapped: bool) -> None:
    if x.ndim >= 2:
        axes = (-1, 0) if swapped else (0, -1)
        assert_both(lambda t: tn.diagonal(t, offset, *axes), x, np.diagonal(x, offset, *axes))


def test_the_diagonal_of_one_axis_is_refused() -> None:
    with pytest.raises(AxisError, match=r"diagonal: axes \(1, -2\) name an axis twice"):
        tn.diagonal(X, axis1=1, axis2=-2)


def test_new_arrays() -> None:
    assert_equal(tn.zeros((2, 0)), np.zeros((2, 0)))
    assert_equal(tn.ones(np.int64(3), dtype="int32"), np.ones(3, "int32"))
    assert_equal(tn.full((2,), 7), np.full((2,), 7))
    assert_equal(tn.full((2,), 1j, dtype="complex64"), np.full((2,), 1j, "complex64"))
    assert_equal(tn.full_like(X, 2), np.full_like(X, 2))
    assert_equal(tn.ones_like([1, 2], dtype="float32"), np.ones_like([1, 2], dtype="float32"))
    assert_equal(tn.zeros_like(True), np.zeros_like(True))
    with pytest.raises(DTypeError, match="promotion: 1j does not fit f64"):
        tn.full((2,), 1j, dtype="float64")


def test_full_takes_a_traced_value() -> None:
    assert tn.grad(lambda a: tn.sum(tn.full((3,), a)))(2.0).item() == 3.0
    assert tn.grad(lambda a: tn.sum(tn.full_like(X, a)))(2.0).item() == 24.0


def test_asarray_takes_lists_that_hold_traced_values() -> None:
    def f(x: Any) -> Any:
        return tn.sum(tn.array([[x, 2.0], [x * x, 1]]) * tn.asarray([[1.0, 1.0], [1.0, 1.0]]))

    assert tn.grad(f)(3.0).item() == 7.0


def test_asarray_converts_to_the_dtype_asked_for() -> None:
    assert_equal(tn.asarray(tn.Tensor([1, 2]), dtype="float32"), np.float32([1, 2]))
    assert tn.jit(lambda x: tn.asarray(x, dtype="float32"))(X).dtype == np.float32
    t = tn.Tensor([1, 2])
    assert tn.asarray(t) is t


def test_a_number_is_an_array_without_axes() -> None:
    assert_equal(tn.reshape(2.0, (1, 1)), np.full((1, 1), 2.0))
    assert_equal(tn.expand_dims(3, 0), np.array([3]))
    assert_equal(tn.ravel(True), np.array([True]))
    assert_equal(tn.lax.broadcast_in_dim(2.0, (2,), ()), np.full((2,), 2.0))
