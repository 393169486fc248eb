"""`x[...]`, `x.at[...]` and picking along an axis: values are NumPy's, derivatives JAX's."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import tenferro as tn
from tenferro.errors import AxisError, DTypeError, ShapeError, TenferroError, TracingError
from tests.in_jax import in_jax
from tests.ops.functions.strategies import filled
from tests.ops.functions.test_rearrange import X, assert_both, assert_equal
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]

shapes = npst.array_shapes(min_dims=1, max_dims=3, max_side=4)
common = st.sampled_from([(), (3,), (1,), (2, 1), (2, 3), (0,)])


@st.composite
def expressions(draw: st.DrawFn, shape: tuple[int, ...], masks: bool = True) -> tuple[Any, ...]:
    """An index expression of integers, slices, arrays, masks, None and `...` for that shape."""
    items: list[Any] = []
    together = draw(common)
    axes = draw(st.integers(0, len(shape)))
    for size in shape[:axes]:
        kind = draw(st.sampled_from(["slice", "array", "array", "number", "mask"]))
        if kind == "slice":
            items.append(draw(st.slices(size)))
        elif kind == "number":
            items.append(draw(st.integers(-size, size - 1)))
        elif kind == "mask" and masks and together == ():
            items.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))))
            together = (1,)  # no second array that might not broadcast
        else:
            part = draw(st.integers(0, len(together)))
            own = tuple(1 if draw(st.booleans()) else k for k in together[part:])
            bounds = st.integers(-size, size - 1)
            flat = draw(st.lists(bounds, min_size=int(np.prod(own)), max_size=int(np.prod(own))))
            items.append(np.array(flat, draw(st.sampled_from(["i4", "i8"]))).reshape(own))
        if draw(st.integers(0, 4)) == 0:
            items.append(None)
    if draw(st.booleans()):
        rest = len(shape) - axes
        place = len(items) if rest else draw(st.integers(0, len(items)))
        items.insert(place, ...)
    return tuple(items)


def allowed(x: Array, indices: tuple[Any, ...]) -> bool:
    """Whether NumPy takes the expression: masks of several elements may not broadcast."""
    try:
        x[indices]
    except IndexError:
        return False
    return True


def lifted(indices: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """The arrays of an expression, and how to put them, or others, back."""
    arrays = [i for i in indices if isinstance(i, np.ndarray) and i.dtype != bool]

    def again(given: Any) -> tuple[Any, ...]:
        new = iter(given)
        return tuple(
            next(new) if isinstance(i, np.ndarray) and i.dtype != bool else i for i in indices
        )

    return arrays, again


@given(st.data())
@settings(max_examples=60)
def test_indexing_is_numpys(data: st.DataObject) -> None:
    x = filled(data.draw(shapes), "int64", 0)
    indices = data.draw(expressions(x.shape))
    if not allowed(x, indices):
        return
    assert_both(lambda t: t[indices], x, x[indices])
    arrays, again = lifted(indices)
    f = tn.jit(lambda t, *arrays: t[again(arrays)], executor="numpy")
    assert_equal(f(x, *arrays), x[indices])
    assert_equal(tn.Tensor(x)[again([tn.Tensor(i) for i in arrays])], x[indices])


def _array_index(rng: np.random.Generator, size: int, together: tuple[int, ...]) -> Any:
    """Indices along an axis, as a NumPy array, a tensor or a list; the shapes broadcast."""
    own = together[rng.integers(0, len(together) + 1) :]
    own = tuple(1 if rng.random() < 0.3 else k for k in own)
    found = rng.integers(-size, size, own).astype(rng.choice(["i1", "i4", "i8"]))
    return (
        found if rng.random() < 0.4 else tn.asarray(found) if found.ndim == 0 else _any(rng, found)
    )


def _any(rng: np.random.Generator, found: Any) -> Any:
    return [tn.asarray(found), found.tolist()][rng.integers(2)]


def _slice(rng: np.random.Generator, size: int) -> slice:
    low, high = (
        None if rng.random() < 0.4 else int(rng.integers(-size - 2, size + 3)) for _ in "ab"
    )
    return slice(low, high, [None, None, -3, -2, -1, 1, 2][rng.integers(7)])


def _expression(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Anything NumPy takes: bools of any rank, with and without axes, and `...` anywhere."""
    bare = [True, False, np.True_, np.False_, np.array(True), tn.asarray(True), tn.asarray(False)]
    together = [(), (3,), (1,), (2, 1), (2, 3), (0,)][rng.integers(6)]
    items: list[Any] = []
    axis, stop = 0, int(rng.integers(0, len(shape) + 1))
    while axis < stop:
        kind, size, used = rng.random(), shape[axis], 1
        if kind < 0.25 or not size:
            items.append(_slice(rng, size))
        elif kind < 0.45:
            number = int(rng.integers(-size, size))
            items.append([int, np.int64, np.int8, tn.asarray][rng.integers(4)](number))
        elif kind < 0.75:
            items.append(_array_index(rng, size, together))
        else:
            used = int(rng.integers(1, stop - axis + 1))
            items.append(_any(rng, rng.random(shape[axis : axis + used]) < 0.5))
        axis += used
        items += [None] * int(rng.random() < 0.12)
        items += [bare[rng.integers(7)]] * int(rng.random() < 0.2)
    if rng.random() < 0.5:
        items.insert(
            int(rng.integers(0, len(items) + 1)) if stop == len(shape) else len(items), ...
        )
    return items[0] if len(items) == 1 and rng.random() < 0.5 else tuple(items)


def _in_numpy(indices: Any) -> Any:
    if isinstance(indices, tuple):
        return tuple(map(_in_numpy, indices))
    found = np.asarray(indices) if isinstance(indices, tn.Tensor | list) else indices
    empty = isinstance(found, np.ndarray) and not found.size and found.dtype == float
    return found.astype(int) if empty else found


def _check_expressions(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    taken = 0
    for _ in range(count):
        shape = tuple(
            rng.choice([0, 1, 2, 3, 4], rng.integers(0, 5), p=[0.05, 0.2, 0.3, 0.25, 0.2])
        )
        x, indices = rng.integers(-9, 9, shape).astype(float), _expression(rng, shape)
        try:
            expected = x[_in_numpy(indices)]
        except IndexError:
            with pytest.raises(TenferroError):
                tn.Tensor(x)[indices]
            continue
        taken += 1
        at = tn.Tensor(x).at[indices]
        for found in (tn.Tensor(x)[indices], at.get(), at.get(mode="clip"), at.get(mode="fill")):
            assert_equal(found, expected)
        name = sorted(UPDATES)[rng.integers(len(UPDATES))]
        values = rng.integers(-9, 9, [(), expected.shape][rng.integers(2)]).astype(float)
        changed = x.copy()
        UPDATES[name](changed, _in_numpy(indices), values)
        for mode in (None, "clip", "drop"):
            assert_equal(getattr(at, name)(values, mode=mode), changed)
    assert taken > count * 0.9


def test_bools_without_axes_and_any_ellipsis_are_numpys() -> None:
    _check_expressions(0, 120)


@pytest.mark.parametrize(
    "count",
    [pytest.param(1000, marks=pytest.mark.exhaustive), pytest.param(5000, marks=pytest.mark.large)],
)
def test_bools_without_axes_and_any_ellipsis_are_numpys_in_many_expressions(count: int) -> None:
    _check_expressions(1, count)


def test_bools_without_axes_and_ellipses_are_numpys_when_compiled() -> None:
    x = np.arange(8.0).reshape(2, 2, 2)
    pair = np.array([0, 1])
    expressions: list[Any] = [
        np.s_[:, pair, ..., pair], np.s_[..., pair, pair], (np.array(True), 0),
        np.s_[:, True, pair], np.array(False), (False, ..., 0), (pair, ..., np.array(True)),
        np.s_[pair, None, True, 0],
    ]  # fmt: skip

    @tn.jit
    def f(x: Any) -> Any:
        return [(x[i], x.at[i].add(10.0)) for i in expressions]

    for i, (read, added) in zip(expressions, f(x), strict=True):
        assert_equal(read, x[i])
        expected = x.copy()
        np.add.at(expected, i, 10.0)
        assert_equal(added, expected)
    g = tn.grad(lambda x: tn.sum(x[True, :, ..., pair] ** 2))(x)
    assert_equal(g, 2 * x)
    with pytest.raises(TracingError, match="index: a traced mask selects an unknown number"):
        tn.jit(lambda x, b: x.at[b].set(0.0))(x, True)


def test_slices_have_every_mode_and_fills_must_fit() -> None:
    x = tn.Tensor([1.0, 2.0])
    for indices in (np.s_[1:], ..., (), None):
        for mode in ("clip", "fill", "drop", "wrap"):
            assert_equal(x.at[indices].get(mode=mode), x.numpy()[indices])
    places = np.array([0, 9])
    assert_equal(x.at[places].get(mode="fill", fill_value=np.float32(7)), [1.0, 7.0])
    with pytest.raises(DTypeError, match=r"get: fill_value must be one number that is known, got"):
        x.at[places].get(mode="fill", fill_value=(7.0, 8.0))
    with pytest.raises(DTypeError, match=r"get: fill_value 0.5 does not fit i64"):
        tn.asarray([1, 2]).at[places].get(mode="fill", fill_value=0.5)


@given(st.data())
@settings(max_examples=12)
def test_gradients_of_indexing_are_those_of_jax(data: st.DataObject) -> None:
    x = filled(data.draw(shapes), "float64", 0)
    indices = data.draw(expressions(x.shape))
    if not allowed(x, indices):
        return
    weights = filled(x[indices].shape, "float64", 1)

    def f(np_: Any, x: Any) -> Any:
        return np_.sum(x[indices] ** 2 * weights)

    peer = jax.grad(lambda x: f(jnp, x))
    theirs, again = in_jax(lambda x: jax.jvp(peer, (x,), (x,)), x)
    assert_close(tn.grad(lambda x: f(tn, x))(x), theirs, rounding("f64"))
    assert_close(tn.hvp(lambda x: f(tn, x), (x,), (x,)), again, rounding("f64"))


UPDATES = {
    "set": lambda x, i, v: x.__setitem__(i, v),
    "add": np.add.at,
    "subtract": np.subtract.at,
    "multiply": np.multiply.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}


@given(st.data(), st.sampled_from(sorted(UPDATES)))
@settings(max_examples=60)
def test_updates_are_numpys(data: st.DataObject, name: str) -> None:
    x = filled(data.draw(shapes), "float64", 0)
    indices = data.draw(expressions(x.shape))
    if not allowed(x, indices):
        return
    values = filled(data.draw(st.sampled_from([(), x[indices].shape])), "float64", 1)
    expected = x.copy()
    UPDATES[name](expected, indices, values)
    assert_both(lambda t: getattr(t.at[indices], name)(values), x, expected)


@pytest.mark.exhaustive
@given(st.data(), st.sampled_from(["set", "add", "subtract"]))
@settings(max_examples=12)
def test_gradients_of_updates_are_those_of_jax(data: st.DataObject, name: str) -> None:
    x = filled(data.draw(shapes), "float64", 0)
    indices = data.draw(expressions(x.shape, masks=False))
    values = filled(x[indices].shape, "float64", 1)
    weights = filled(x.shape, "float64", 2)

    def f(np_: Any, x: Any, v: Any) -> Any:
        return np_.sum(getattr(x.at[indices], name)(v) ** 2 * weights)

    theirs = in_jax(jax.grad(lambda x, v: f(jnp, x, v), (0, 1)), x, values)
    ours = tn.grad(lambda x, v: f(tn, x, v), (0, 1))(x, values)
    for our, their in zip(ours, theirs, strict=True):
        assert_close(our, their, rounding("f64"))


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("name", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("indices", [(0,), (slice(1, None),), (..., slice(None, None, -2))])
def test_windows_change_as_their_elements_do(name: str, indices: Any) -> None:
    def f(x: Any, v: Any) -> Any:
        return tn.sum(tn.sin(getattr(x.at[indices], name)(v)))

    x, v = X + 0.3, np.float64(10.1)
    ours = tn.grad(f, (0, 1))(x, v)
    peer = jax.grad(lambda x, v: jnp.sum(jnp.sin(jax_update(name, x, indices, v))), (0, 1))
    theirs = in_jax(peer, x, v)
    for our, their in zip(ours, theirs, strict=True):
        assert_close(our, their, rounding("f64"))


def jax_update(name: str, x: Any, indices: Any, v: Any) -> Any:
    """The same in JAX, which has no derivative of its own minimum and maximum."""
    if name in ("min", "max"):
        return x.at[indices].set(getattr(jnp, f"{name}imum")(x[indices], v))
    return getattr(x.at[indices], name)(v)


def test_of_several_updates_of_one_element_the_last_stays() -> None:
    indices = np.array([2, 0, 2, 2, 1])
    values = np.arange(5.0)
    assert_both(lambda t: t.at[indices].set(values), np.zeros(4), [1.0, 4.0, 3.0, 0.0])
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    dx, dv = tn.grad(lambda x, v: tn.sum(x.at[indices].set(v) * weights), (0, 1))(
        np.zeros(4), values
    )
    assert dx.tolist() == [0, 0, 0, 4]
    assert dv.tolist() == [0, 1, 0, 3, 2]


def test_indices_out_of_bounds_are_held_when_read_and_dropped_when_written() -> None:
    indices = tn.array([7, -9, 1])
    for f in (lambda t: t[indices], lambda t: t.at[indices].get()):
        assert_both(f, np.arange(3.0), [2.0, 0.0, 1.0])
    assert_both(lambda t: t.at[indices].add(10.0), np.arange(3.0), [0.0, 11.0, 2.0])
    assert_both(lambda t: t.at[indices].set(10.0), np.arange(3.0), [0.0, 10.0, 2.0])


def test_take_reads_no_number_out_of_bounds() -> None:
    x, places = np.arange(3.0), [7, -9, 1, -1]
    for f in (tn.take, lambda x, i, **options: tn.take_along_axis(x, i, 0, **options)):
        assert_both(lambda t, f=f: f(t, tn.array(places)), x, [np.nan, np.nan, 1.0, 2.0])
        assert_both(lambda t, f=f: f(t, tn.array(places), fill_value=5), x, [5.0, 5.0, 1.0, 2.0])
        assert_both(lambda t, f=f: f(t, np.array(places), mode="wrap"), x, [1.0, 0.0, 1.0, 2.0])
        assert_both(lambda t, f=f: f(t, tn.array([7]), mode="fill"), np.arange(3), [-(2**63)])
        with pytest.raises(AxisError, match=r"mode must be one of clip, wrap, .* got 'stop'"):
            f(x, places, mode="stop")
        with pytest.raises(AxisError, match=r"7 is out of range for axis 0 of f64\[3\]"):
            f(x, tn.array(places), mode="raise")
        with pytest.raises(AxisError, match=r"7 is out of range for axis 0 of f64\[3\]"):
            f(x, places)
        slopes = tn.grad(lambda x, f=f: tn.sum(f(x, tn.array(places), fill_value=0)))(x)
        assert slopes.tolist() == [0.0, 1.0, 1.0]
    assert_both(lambda t: tn.take(t, places, mode="clip"), x, [2.0, 0.0, 1.0, 0.0])
    assert_both(
        lambda t: tn.take_along_axis(t, tn.array(places), 0, mode="clip"), x, [2, 0, 1.0, 2]
    )
    for axis in (0, None):
        for i, expected in ((-1, [0, 1, 9.0]), (-7, [9.0, 1, 2]), (7, [0, 1, 9.0])):
            put = tn.put_along_axis(x, np.array([i]), 9.0, axis, inplace=False, mode="clip")
            assert_equal(put, expected)


PLACES: list[Any] = [(5,), (np.array([0, 4, -1, -9]),), (slice(None), 9), (1, np.array([2, 8]))]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("mode", ["clip", "fill", "drop"])
def test_a_mode_says_what_indices_out_of_bounds_mean(mode: str) -> None:
    x = np.arange(12.0).reshape(3, 4)

    def every(home: Any, x: Any) -> Any:
        chosen = [home.asarray(x).at[place] for place in PLACES]
        read = [each.get(mode=mode) for each in chosen]
        filled = [each.get(mode=mode, fill_value=-1) for each in chosen]
        names = ("set", "add", "multiply", "max", "divide", "power")
        return [read, filled, [[getattr(y, n)(2, mode=mode) for n in names] for y in chosen]]

    with jax.enable_x64(True):
        expected = jax.tree.leaves(jax.jit(lambda x: every(jnp, x))(x))
    for found in (every(tn, x), tn.jit(lambda x: every(tn, x), executor="numpy")(x)):
        for one, other in zip(tn.tree.leaves(found), expected, strict=True):
            np.testing.assert_allclose(one, other)


def test_modes_and_functions_of_elements() -> None:
    x = tn.Tensor([1.0, 4.0])
    assert x.at[5].get(mode="wrap").item() == 4.0
    assert x.at[-3].set(0.0, mode="wrap").tolist() == [1.0, 0.0]
    assert x.at[1].apply(tn.sqrt).tolist() == [1.0, 2.0]
    assert tn.vmap(lambda i: x.at[i].get(mode="fill", fill_value=0))(np.array([1, 7])).tolist() == [
        4.0,
        0.0,
    ]
    with pytest.raises(AxisError, match=r"^get: mode must be one of clip, wrap, fill, drop, prom"):
        x.at[0].get(mode="nearest")
    with pytest.raises(TypeError, match=r"^set: there is no option 'mod'; did you mean 'mode'\? "):
        x.at[0].set(1.0, mod="clip")


def test_an_index_may_be_a_traced_scalar() -> None:
    f = tn.jit(lambda x, i: x[i, 1:], executor="numpy")
    assert_equal(f(X, 1), X[1, 1:])
    assert_equal(f(X, -1), X[-1, 1:])
    assert_equal(f(X, np.int32(0)), X[0, 1:])
    g = tn.jit(lambda x, i: x.at[:, i].set(1.0), executor="numpy")
    expected = X.copy()
    expected[:, 2] = 1
    assert_equal(g(X, 2), expected)
    assert_equal(tn.jit(lambda i: tn.asarray(X)[i])(1), X[1])


@pytest.mark.exhaustive
def test_symbolic_extents_are_indexed_too() -> None:
    def f(x: Any, i: Any, sum_: Any = tn.sum) -> Any:
        return sum_(x[:, i] ** 2) + sum_(x.at[i].add(2.0)[i, 0] ** 2) + x[i[0], -1]

    specs = tn.TensorSpec(("n", "m")), tn.TensorSpec(("k",), "int64")
    program = tn.make_program(tn.value_and_grad(lambda x, i: f(x, i)), *specs)
    executor = tn.GraphExecutor(tn.NumpyBackend())
    for n, m, i in ((3, 4, [0, 2, -1]), (2, 2, [1]), (5, 3, [0, 0, 1, 1])):
        x = filled((n, m), "float64", n)
        value, gradient = executor.run(program, {"x": x, "i": np.array(i)})
        with jax.enable_x64(True):
            expected, theirs = jax.value_and_grad(f)(jnp.asarray(x), jnp.asarray(i), jnp.sum)
        assert_close(value, expected, rounding("f64"))
        assert_close(gradient, theirs, rounding("f64"))


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        (2, "index: 2 is out of range for axis 0 of f64[2,3,4]"),
        ((0, 0, -5), "index: -5 is out of range for axis 2 of f64[2,3,4]"),
        ((0, 0, 0, 0), "index: too many indices for f64[2,3,4]"),
        ((..., ...), "index: only one ... may stand for the other axes of f64[2,3,4]"),
        (np.ones((2, 3, 4, 1), bool), "index: too many indices for f64[2,3,4]"),
        (1.0, "index: 1.0 is not an integer, slice, ..., None, or array of integers or bools"),
        ([0.5, 1], "index: array([0.5, 1. ]) is not an integer, slice, ..., None, or array"),
        (np.array([True]), "index: a mask of size 1 does not fit axis 0 of f64[2,3,4]"),
        (slice(None, None, 0), "index: axis 0 of f64[2,3,4]: slice step cannot be zero"),
        (slice(1.5, None), "index: axis 0 of f64[2,3,4]: slice indices must be integers"),
    ],
)
def test_other_indices_are_refused(indices: Any, text: str) -> None:
    with pytest.raises(AxisError, match=re.escape(text)):
        tn.Tensor(X)[indices]
    with pytest.raises(AxisError, match=re.escape(text)):
        tn.Tensor(X).at[indices].set(0.0)


def test_an_empty_axis_has_nothing_to_pick() -> None:
    empty = np.zeros((0, 3))
    assert_both(lambda t: t[np.zeros(0, int)], empty, empty)
    assert_both(lambda t: t[[]], empty, empty)
    assert_both(lambda t: t[:, [0, 2]], empty, empty[:, [0, 2]])
    assert_both(lambda t: t[t.shape[0] :], empty, empty)
    with pytest.raises(AxisError, match=r"index: axis 0 of f64\[0,3\] has size 0"):
        tn.Tensor(empty)[[0]]


def test_shapes_of_indices_must_broadcast() -> None:
    with pytest.raises(ShapeError, match=r"index: operands have types i64\[2\] and i64\[3\]"):
        tn.Tensor(X)[[0, 1], [0, 1, 2]]


def test_a_traced_mask_says_what_to_do() -> None:
    with pytest.raises(TracingError, match="index: a traced mask selects an unknown number") as e:
        tn.jit(lambda x: x[x > 0])(X)
    assert "tn.where(mask, x, 0)" in str(e.value)


@pytest.mark.parametrize(
    ("x", "values", "text"),
    [
        (np.zeros(2), 1j, "update: values of c128 do not fit an array of f64"),
        (np.zeros(2, int), 0.5, "update: values of f64 do not fit an array of i64"),
        (np.zeros(2, bool), 1, "update: values of i64 do not fit an array of bool"),
        (np.zeros(2, int), np.ones(1), "update: values of f64 do not fit an array of i64"),
    ],
)
def test_an_update_keeps_the_dtype_of_the_array(x: Array, values: Any, text: str) -> None:
    with pytest.raises(DTypeError, match=re.escape(text)):
        tn.Tensor(x).at[0].set(values)
    with pytest.raises(DTypeError, match=re.escape(text)):
        tn.jit(lambda x: x.at[[0]].add(values))(x)


def test_an_update_takes_what_fits() -> None:
    assert_both(lambda t: t.at[0].set(True), np.zeros(2), [1.0, 0.0])
    assert_both(lambda t: t.at[[0]].set(2), np.zeros(2, np.uint8), np.array([2, 0], np.uint8))
    assert_both(lambda t: t.at[0].add(0.1), np.zeros(1, np.float32), np.float32([0.1]))
    assert_both(
        lambda t: t.at[0].set(np.ones(2)),
        np.zeros((2, 2), np.float32),
        np.float32([[1, 1], [0, 0]]),
    )
    with pytest.raises(DTypeError, match="update: takes arrays and numbers, got Tensor, object"):
        tn.Tensor(X).at[0].set(object())


@given(st.data())
@settings(max_examples=30)
def test_take_and_take_along_axis_are_numpys(data: st.DataObject) -> None:
    x = filled(data.draw(shapes), "float64", 0)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    size = x.shape[axis]
    shape = data.draw(st.sampled_from([(), (2,), (2, 3), (0,)]))
    i = np.random.default_rng(0).integers(-size, size, shape)
    assert_both(lambda t: tn.take(t, i, axis=axis), x, np.take(x, i, axis))
    assert_both(lambda t: tn.take(t, i), x, np.take(x, i))
    others = [data.draw(st.sampled_from([1, k])) for k in x.shape]
    others[axis] = data.draw(st.integers(0, 3))
    places = np.random.default_rng(1).integers(-size, size, others)
    expected = np.take_along_axis(x, places, axis)
    assert_both(lambda t: tn.take_along_axis(t, places, axis), x, expected)


def test_indices_along_an_axis_have_the_shape_of_the_array() -> None:
    with pytest.raises(ShapeError, match=r"take_along_axis: indices i64\[2\] must have as many"):
        tn.take_along_axis(X, [0, 1])
    with pytest.raises(DTypeError, match=r"take_along_axis: indices must be integers, got f64"):
        tn.take_along_axis(X, X)


@pytest.mark.parametrize("index", [np.s_[::2], np.s_[1::3], np.s_[::-2]])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_every_second_element_is_updated_whatever_the_size(index: slice, size: int) -> None:
    x = np.arange(float(size))
    expected = x.copy()
    expected[index] = 7.0
    update = tn.jit(lambda x: x.at[index].set(7.0), executor="numpy", symbolic={"x": ("n",)})
    assert_equal(update(x), expected)


@pytest.mark.parametrize("name", ["multiply", "divide", "power"])
def test_a_promise_of_unique_indices_gives_derivatives_by_values(name: str) -> None:
    x, values, weights = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0]), np.array([1.0, 5.0, 7.0])

    def loss(xp: Any, x: Any, values: Any, places: Any) -> Any:
        return xp.sum(getattr(x.at[places], name)(values, unique_indices=True) * weights)

    places = np.array([2, 0])
    mine = tn.grad(lambda x, v, i: loss(tn, x, v, i), argnums=(0, 1))(x, values, places)
    with jax.enable_x64(True):
        by_jax = jax.grad(lambda v: loss(jnp, jnp.asarray(x), v, places))(jnp.asarray(values))
    np.testing.assert_allclose(mine[1], by_jax, rtol=1e-12)
