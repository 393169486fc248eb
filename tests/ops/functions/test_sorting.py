"""Sorting and the places of extrema: values are NumPy's, derivatives JAX's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import tenferro as tn
from tenferro.errors import AxisError, DTypeError, ShapeError
from tests.ops.functions.strategies import REAL, filled
from tests.ops.functions.test_rearrange import X, assert_both, assert_equal
from tests.tolerances import assert_close, rounding

shapes = npst.array_shapes(min_dims=1, max_dims=3, max_side=4)


@given(shapes, st.sampled_from([*REAL, "bool"]), st.data())
@settings(max_examples=40)
def test_sorting_is_numpys(shape: tuple[int, ...], dtype: str, data: st.DataObject) -> None:
    x = filled(shape, dtype, 0)  # with ties
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    assert_both(lambda t: tn.sort(t, axis), x, np.sort(x, axis))
    assert_both(lambda t: tn.argsort(t, axis), x, np.argsort(x, axis, kind="stable"))
    descending = np.flip(np.sort(x, axis), axis)
    assert_both(lambda t: tn.sort(t, axis, descending=True), x, descending)
    places = np.asarray(tn.argsort(x, axis, descending=True))
    if np.dtype(dtype).kind in "fi":  # equal elements keep their order: sorting by the opposite
        np.testing.assert_array_equal(places, np.argsort(-x, axis, kind="stable"))
    np.testing.assert_array_equal(np.take_along_axis(x, places, axis), descending)
    assert_both(lambda t: t.argsort(axis), x, np.argsort(x, axis, kind="stable"))


@given(shapes, st.sampled_from([*REAL, "bool"]), st.data())
@settings(max_examples=40)
def test_the_places_of_extrema_are_numpys(
    shape: tuple[int, ...], dtype: str, data: st.DataObject
) -> None:
    x = filled(shape, dtype, 0)
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    keepdims = data.draw(st.booleans())
    for name in ("argmax", "argmin"):
        expected = getattr(np, name)(x, axis, keepdims=keepdims)
        assert_both(lambda t, name=name: getattr(tn, name)(t, axis, keepdims=keepdims), x, expected)
    assert_both(lambda t: t.argmax(axis), x, np.argmax(x, axis))
    assert_both(lambda t: t.argmin(axis), x, np.argmin(x, axis))


def test_nan_is_the_largest_and_wins() -> None:
    x = np.array([1.0, np.nan, -np.inf, np.nan, 3.0])
    assert_both(tn.sort, x, np.sort(x))
    assert_both(lambda t: tn.argsort(t, descending=True), x, [1, 3, 4, 0, 2])
    assert_both(tn.argmax, x, 1)
    assert_both(tn.argmin, x, 1)
    values, places = tn.top_k(x, 3)
    assert_equal(values, [np.nan, np.nan, 3.0])
    assert_equal(places, [1, 3, 4])


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_the_k_largest_are_those_of_jax(executor: str) -> None:
    x = np.array([[3.0, 1.0, 3.0, 2.0], [0.0, -1.0, 5.0, 0.0]])
    weights = np.arange(1.0, 5).reshape(2, 2)

    def f(lib: Any, x: Any) -> Any:
        values, _ = (lib if lib is tn else jax.lax).top_k(x, 2)
        return lib.sum(values**2 * weights)

    gradient = tn.jit(tn.grad(lambda x: f(tn, x)), executor=executor)(x)
    with jax.enable_x64(True):
        values, places = jax.lax.top_k(x, 2)
        theirs = jax.grad(lambda x: f(jnp, x))(x)
    ours = tn.jit(lambda x: tn.top_k(x, 2), executor=executor)(x)
    assert_close(ours[0], values, 0.0)
    assert ours[1].tolist() == places.tolist()
    assert_close(gradient, theirs, rounding("f64"))
    assert_equal(tn.lax.top_k(x, 0)[0], np.zeros((2, 0)))


@pytest.mark.parametrize("descending", [False, True])
def test_symbolic_and_empty_axes_are_sorted(descending: bool) -> None:
    def f(x: Any) -> Any:
        return tn.sum(tn.sort(x, 0, descending=descending) ** 3 * tn.sort(x, 1))

    spec = tn.TensorSpec(("n", "m"))
    program = tn.make_program(lambda x: (tn.grad(f)(x), tn.argsort(x, 0, descending=True)), spec)
    executor = tn.GraphExecutor(tn.NumpyBackend())
    for shape in ((3, 2), (1, 4), (0, 2), (3, 0)):
        x = np.random.default_rng(0).normal(size=shape)
        gradient, places = executor.run(program, {"x": x})
        assert_close(gradient, tn.grad(f)(x), rounding("f64"))
        assert_equal(places, np.flip(np.argsort(x, 0), 0))


def test_what_has_no_order_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"sort: takes bool, integer, .*, got c128\[2\]"):
        tn.sort(np.ones(2) * 1j)
    with pytest.raises(AxisError, match="argsort: axis 1 is out of range for rank 1"):
        tn.argsort([1.0], 1)
    with pytest.raises(AxisError, match="sort: axis -1 is out of range for rank 0"):
        tn.sort(1.0)
    with pytest.raises(ShapeError, match=r"argmax: axis 0 of f64\[0\] has no elements to choose"):
        tn.argmax(np.zeros(0))
    with pytest.raises(ShapeError, match=r"top_k: f64\[2,3,4\] does not have 5 elements along"):
        tn.top_k(X, 5)
    with pytest.raises(ShapeError, match="top_k: k must be a number of elements, got -1"):
        tn.top_k(X, -1)
