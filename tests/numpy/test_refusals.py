"""Wrong arguments are refused in the name of the function that was called."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import AxisError, DTypeError, ShapeError

X = tn.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
V = tn.array([1.0, 2.0, 3.0])
WRONG: Any = 2.5
NAME: Any = "a"

CASES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tn.repeat(X, 2.5), DTypeError, "repeat: the counts must be integers, got 2.5"),
    (lambda: tn.tile(X, "a"), DTypeError, "tile: the repetitions must be integers, got 'a'"),
    (lambda: tn.roll(X, 1.5), DTypeError, "roll: the shifts must be integers, got 1.5"),
    (lambda: tn.roll(X, 1, 0.5), AxisError, "roll: axis 0.5 is not an integer"),
    (lambda: tn.round(X, WRONG), DTypeError, "round: decimals must be integers, got 2.5"),
    (lambda: tn.std(X, ddof=NAME), DTypeError, "std: correction must be a number, got 'a'"),
    (lambda: tn.allclose(X, X, rtol=NAME), DTypeError, "allclose: takes arrays and numbers, got"),
    (lambda: tn.split(V, "a"), DTypeError, "split: the number of parts, or the places, must be"),
    (lambda: tn.split(V, 2.5), DTypeError, "the places, must be integers, got 2.5"),
    (lambda: tn.array_split(V, [0.5]), DTypeError, "array_split: the number of parts, or"),
    (
        lambda: tn.concat(X, V),
        AxisError,
        "concat: axis is an array f64[3], not an integer; pass arrays in one list",
    ),
    (lambda: tn.concat(5), DTypeError, "concat: takes a list of arrays, got int"),
    (lambda: tn.stack("ab"), DTypeError, "stack: takes a list of arrays, got str"),
    (lambda: tn.hstack(1.0), DTypeError, "hstack: takes a list of arrays, got float"),
    (lambda: tn.concat(V[0]), DTypeError, "concat: takes a list of arrays, got an array without"),
    (lambda: tn.take(V, [True, False]), DTypeError, "take: indices must be integers, got bools"),
    (lambda: tn.take_along_axis(V, 0), ShapeError, "take_along_axis: indices must be an array of"),
    (lambda: tn.choose(0, 2), DTypeError, "choose: takes a list of arrays to choose from, got 2"),
    (lambda: tn.polyint(1.0), ShapeError, "polyint: f64[] has no axis 0; it needs at least 1"),
    (lambda: tn.sum(X, np.array(0.5)), AxisError, "sum: axis array(0.5) is not an integer"),
    (lambda: tn.concat([X, V]), ShapeError, "concat: operands f64[2,3] and f64[3] must agree"),
    (lambda: tn.stack([X, V]), ShapeError, "stack: f64[2,3] and f64[3] must have equal shapes"),
    (lambda: tn.stack([V, V[:2]]), ShapeError, "stack: f64[3] and f64[2] must have equal shapes"),
    (lambda: tn.stack([V], axis=5), AxisError, "stack: axis 5 is out of range for rank 2"),
    (
        lambda: tn.broadcast_to(X, (3, 3)),
        ShapeError,
        "broadcast_to: axis 0 of f64[2,3] has size 2, but axis 0 of the result f64[3,3] has size 3",
    ),
    (
        lambda: tn.broadcast_to(X, "a"),
        ShapeError,
        "broadcast_to: f64[2,3] has more axes than the result f64[a]",
    ),
    (
        lambda: X.at[0].set([1, 2]),
        ShapeError,
        "update: axis 0 of f64[2] has size 2, but axis 0 of the result f64[3] has size 3",
    ),
    (lambda: tn.transpose(X, (0,)), AxisError, "permute_dims: axes (0,) must name each axis of"),
    (lambda: tn.transpose(X, (0, 0)), AxisError, "permute_dims: axes (0, 0) of f64[2,3] name an"),
    (lambda: tn.trace(V), ShapeError, "trace: needs at least two axes, got f64[3]"),
    (lambda: tn.diagonal(V), ShapeError, "diagonal: needs at least two axes, got f64[3]"),
    (
        lambda: tn.reshape(X, (-1, 4)),
        ShapeError,
        "reshape: f64[2,3] has 6 elements, which the other sizes of (-1, 4) do not divide",
    ),
]


@pytest.mark.parametrize(("wrong", "error", "text"), CASES)
def test_the_error_names_the_function_and_its_operands(
    wrong: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        wrong()


def test_numpys_integers_are_integers() -> None:
    x = np.arange(6.0)
    two = np.int64(2)
    np.testing.assert_array_equal(tn.roll(x, two, np.int32(0)), np.roll(x, 2))
    np.testing.assert_array_equal(tn.repeat(x, two), np.repeat(x, 2))
    np.testing.assert_array_equal(tn.repeat(x[:2], [True, False]), x[:1])
    np.testing.assert_array_equal(tn.tile(x, ()), x)
    np.testing.assert_array_equal(tn.split(x, np.array(2))[1], x[3:])
    np.testing.assert_array_equal(tn.split(x, np.array([1, 2]))[1], x[1:2])
    np.testing.assert_array_equal(tn.round(x / 7, int(two)), np.round(x / 7, 2))
    np.testing.assert_array_equal(
        tn.transpose(x.reshape(2, 3), np.array([1, 0])), x.reshape(2, 3).T
    )


@pytest.mark.parametrize("make", [tn.zeros, tn.ones, tn.empty])
def test_a_new_array_takes_its_dtype_by_place(make: Callable[..., tn.Tensor]) -> None:
    assert make((2, 3), "float32").dtype == np.float32
    assert make((2, 3), np.int64).shape == (2, 3)


def test_further_new_arrays_take_their_dtype_by_place() -> None:
    assert tn.full(2, 1, "complex64").dtype == np.complex64
    assert tn.full_like(X, 1, "int32").dtype == np.int32
    for like in (tn.zeros_like, tn.ones_like, tn.empty_like):
        assert like(X, "int32").dtype == np.int32
    assert tn.arange(0, 3, 1, "float32").dtype == np.float32
    np.testing.assert_array_equal(tn.eye(2, 3, 1, "float32"), np.eye(2, 3, 1, "float32"))


def test_no_dtype_is_the_default_dtype() -> None:
    made = [tn.zeros(3, dtype=None), tn.ones(3, dtype=None), tn.empty(3, dtype=None)]
    made += [tn.eye(3, dtype=None), tn.identity(3, dtype=None), tn.tri(3, dtype=None)]
    assert {str(array.dtype) for array in made} == {"float64"}


def test_constant_indices_out_of_range_are_refused() -> None:
    wrong: Any = np.array([0, 3])
    uses: list[Callable[[Any], Any]] = [
        lambda x: tn.take(x, wrong),
        lambda x: x[[0, -4]],
        lambda x: x.at[wrong].add(1.0),
        lambda x: tn.take_along_axis(x, wrong, 0),
    ]
    for use in uses:
        for f in (use, tn.jit(use, executor="numpy"), tn.grad(lambda x, use=use: tn.sum(use(x)))):
            with pytest.raises(
                IndexError, match=r": (3|-4) is out of range for axis 0 of f64\[3\]; "
            ):
                f(V)
    assert tn.jit(lambda x, i: x[i], executor="numpy")(V, wrong).tolist() == [1, 3]


@pytest.mark.parametrize("mode", ["clip", "wrap", "fill"])
def test_the_modes_of_take_are_jaxs(mode: Any) -> None:
    i = np.array([[0, 7], [-2, -9]])
    x = np.arange(6.0).reshape(2, 3)
    for axis in (0, 1, None):
        size = x.size if axis is None else x.shape[axis]
        inside = {"clip": i.clip(0, size - 1), "wrap": i % size, "fill": i}[mode]
        theirs = partial(jnp.take, indices=inside, axis=axis, mode="fill")
        ours = partial(tn.take, axis=axis, mode=mode)
        np.testing.assert_array_equal(ours(x, i), theirs(x))
        slope = tn.jit(tn.grad(lambda x, i, f=ours: tn.sum(f(x, i))), executor="numpy")
        np.testing.assert_array_equal(slope(x, i), jax.grad(lambda x, f=theirs: f(x).sum())(x))
    assert tn.take([1, 2], [5], mode="fill").tolist() == [np.iinfo("int64").min]
    with pytest.raises(AxisError, match=r"take: mode must be one of clip, wrap, fill, .* 'stop'"):
        tn.take(x, i, mode="stop")  # type: ignore[call-overload]
    with pytest.raises(AxisError, match="7 is out of range for axis 0 of"):
        tn.take(x, i, mode="raise")
