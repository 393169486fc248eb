"""`tn.lax` has the names, the parameters and the results of `jax.lax`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from jax.nn import logsumexp

import tenferro as tn
from tenferro.errors import AxisError, DTypeError, ExecutorError, GraphError, ShapeError
from tenferro.lax import MISSING
from tests.in_jax import in_jax

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    THEIRS = {
        name: value
        for name in dir(lax)
        if not name.startswith("_") and not name.endswith("_p") and name[0].islower()
        if callable(value := getattr(lax, name)) or inspect.ismodule(value)
    }
ELSEWHERE = {
    "accuracy": "of an executor's compiler",
    "out_sharding": "shardings are not there yet",
    "sharding": "shardings are not there yet",
    "out_dtype": "convert the operands",
    "_split_transpose": "private",
    "args": "not known",
}
"""Parameters of `jax.lax` that are left out, and why."""


@pytest.mark.parametrize("name", THEIRS)
def test_each_function_of_jax_is_there_or_left_out_with_a_reason(name: str) -> None:
    assert hasattr(tn.lax, name) != (name in MISSING)
    if name in MISSING:
        with pytest.raises(AttributeError) as caught:
            getattr(tn.lax, name)
        assert MISSING[name] in str(caught.value)
        return
    if inspect.ismodule(THEIRS[name]):  # tests/lax/test_linalg.py
        return
    ours = list(inspect.signature(getattr(tn.lax, name)).parameters)
    further = {"cond": "operand", "switch": "operand", "top_k": "is_stable"}
    left_out = {*ELSEWHERE, further.get(name)}
    theirs = [
        n for n in inspect.signature(THEIRS[name]).parameters if n in ours or n not in left_out
    ]
    assert ours[: len(theirs)] == theirs


def test_nothing_is_left_out_that_is_there() -> None:
    assert not set(MISSING) & set(tn.lax.__all__)
    assert dir(tn.lax) == sorted(tn.lax.__all__)


rng = np.random.default_rng(0)
X = rng.normal(size=(4, 5))
Y = rng.normal(size=(4, 5))
V = np.array([3.0, 1.0, 2.0, 1.0])
I = np.array([5, -3, 2, 0])  # noqa: E741  # integers
IMAGE = rng.normal(size=(2, 4, 7, 6))
KERNEL = rng.normal(size=(6, 2, 3, 2))


def rng_of(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(7).normal(size=shape)


GATHER: Any = ((1,), (0,), (0,))
SCATTER: Any = ((1,), (0,), (0,))

CALLS: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda m: (m.add(X, 1.0), m.mul(2.0, X), m.max(X, np.array(0.0)), m.eq(I, 2)),
    "clamp": lambda m: (m.clamp(0.0, X, 0.5), m.clamp(X, X, X), m.clamp(np.zeros((4, 5)), X, 1.0)),
    "select": lambda m: (m.select(X > 0, X, Y), m.select(np.array(True), X, Y)),
    "select_n": lambda m: (
        m.select_n(X > 0, X, Y),
        m.select_n(np.array([0, 2, 1, 1], "int32"), V, -V, I * 1.0),
    ),
    "powers": lambda m: (
        m.pow(V, 2.0),
        m.pow(V, I),
        m.integer_pow(V, -2),
        m.square(V),
        m.reciprocal(V),
    ),
    "division": lambda m: (m.div(I, np.array([2, 2, 3, 1])), m.rem(I, np.array([2, 2, 3, 1]))),
    "shifts": lambda m: (
        m.shift_right_logical(I, 1),
        m.shift_right_arithmetic(I, np.array(1)),
        m.shift_left(I, 2),
    ),
    "rounding": lambda m: (
        m.round(X * 4),
        m.round(V + 0.5, m.RoundingMethod.TO_NEAREST_EVEN),
        m.floor(X),
    ),
    "casts": lambda m: (m.convert_element_type(X * 9, "int32"), m.reduce_precision(X, 5, 10)),
    "pad": lambda m: (m.pad(V, 0.0, [(1, 2, 1)]), m.pad(X, np.float64(2), [(-1, 0, 0), (0, 1, 2)])),
    "shapes": lambda m: (
        m.reshape(X, (5, 4)),
        m.reshape(X, (20,), (1, 0)),
        m.transpose(X, (1, 0)),
        m.rev(X, (0,)),
        m.collapse(X, 0, 2),
        m.expand_dims(X, (0,)),
        m.squeeze(X[None], (0,)),
    ),
    "broadcasts": lambda m: (
        m.broadcast(V, (2, 3)),
        m.broadcast_in_dim(V, (2, 4, 3), (1,)),
        m.broadcast_in_dim(2.0, (2,), ()),
        m.broadcast_to_rank(V, 3),
    ),
    "joins": lambda m: (m.concatenate([X, Y], 1), m.split(X, [1, 3], 0), m.concatenate(X, 0)),
    "slices": lambda m: (
        m.slice(X, (1, 0), (4, 5), (2, 1)),
        m.slice_in_dim(X, -3, None),
        m.slice_in_dim(X, 0, 4, 2, 1),
        m.index_in_dim(X, -1, 1, False),
    ),
    "new": lambda m: (
        m.full((2, 3), 7.0),
        m.full_like(X, 2),
        m.iota("int32", 4),
        m.broadcasted_iota("float64", (2, 3), 1),
    ),
    "dynamic": lambda m: (
        m.dynamic_slice(X, (1, -2), (2, 2)),
        m.dynamic_slice(X, np.array([9, 1]), (2, 2)),
        m.dynamic_update_slice(X, Y[:2, :2], (-1, 1)),
        m.dynamic_slice_in_dim(X, 1, 2),
        m.dynamic_index_in_dim(X, 2, 1, False),
        m.dynamic_update_slice_in_dim(X, Y[:1], 2, 0),
        m.dynamic_update_index_in_dim(X, Y[0], 1, 0),
    ),
    "dot": lambda m: (
        m.dot(X, V[:1].repeat(5)),
        m.dot_general(X, Y, (((1,), (1,)), ((0,), (0,)))),
        m.dot_general(X, Y, [[[0], [0]], [[], []]]),
        m.batch_matmul(X[None], Y.T[None]),
        m.dot(X, Y.T, preferred_element_type="float32"),
    ),
    "reductions": lambda m: (
        m.reduce_sum(X, (0,)),
        m.reduce_max(X, (0, 1)),
        m.reduce_and(X > 0, (1,)),
        m.argmax(X, 1, "int32"),
        m.argmin(X, 0, "int64"),
    ),
    "running": lambda m: (
        m.cumsum(X, 1),
        m.cumprod(X, 0, True),
        m.cummax(X, 1),
        m.cummin(X, 1, reverse=True),
        m.cumlogsumexp(X, 0),
    ),
    "reduce": lambda m: (
        m.reduce(X, 0.0, m.add, (0,)),
        m.reduce((X, Y), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)),
        m.reduce(X, 0.5, lambda a, b: m.max(a, b), (0, 1)),
    ),
    "windows": lambda m: (
        m.reduce_window(X, 0.0, m.add, (2, 2), (1, 2), "SAME"),
        m.reduce_window(X, -np.inf, m.max, (2, 3), None, [(0, 1), (1, 0)], None, (2, 1)),
        m.reduce_window(V, 1.0, m.mul, (2,), (1,), "VALID", (2,)),
    ),
    "windows of several arrays, and of none": lambda m: (
        m.reduce_window(
            (X, Y), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (2, 2), (1, 2), "SAME"
        ),
        m.reduce_window(V, 0.0, m.add, (9,)),
        m.reduce_window(X, 0.0, m.add, (9, 1)),
        np.array(m.padtype_to_pads((5, 6), (2, 3), (1, 2), "SAME_LOWER")),
    ),
    "axes of size 1": lambda m: (
        m.rem(X, Y[:1]),
        m.add(X[:1], Y[:, :1]),
        m.betainc(abs(X), abs(Y[:1]), np.full((4, 1), 0.3)),
        m.broadcast_in_dim(X, (5, 4), (1, 0)),
    ),
    "bits": lambda m: (
        m.population_count(I),
        m.clz(I.astype("uint8")),
        m.mulhi(I << 60, I),
        m.mulhi(I.astype("uint32") << 30, I.astype("uint32")),
        m.bitcast_convert_type(X, "int64"),
        m.bitcast_convert_type(X, "uint16"),
        m.bitcast_convert_type(X.astype("float32")[:, :2], "int64"),
        *(m.reduce_precision(X * 9, e, k) for e, k in ((4, 3), (8, 2), (11, 1), (2, 60))),
        m.reduce_xor(I, (0,)),
    ),
    "parts": lambda m: (
        m.index_take(
            np.arange(24.0).reshape(2, 3, 4), [np.array([0, 5]), np.array([-1, 2])], (0, 2)
        ),
        m.scatter_apply(
            V,
            np.array([[1], [0]]),
            lambda x: x * x,
            m.ScatterDimensionNumbers((), (0,), (0,)),
            update_shape=(2,),
        ),
        m.fft(X + 0j, "FFT", (5,)),
        m.fft(X, m.FftType.RFFT, (4, 5)),
        m.fft(X + 1j * Y, "IRFFT", (4, 9)),
    ),
    "groups": lambda m: (
        m.ragged_dot(X, Y.reshape(2, 5, 2), np.array([1, 2])),
        m.ragged_dot_general(
            X,
            Y,
            np.array([3, 0, 1]),
            m.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ()),
        ),
    ),
    "sort": lambda m: (
        m.sort(X),
        m.sort([I, V], num_keys=2),
        m.sort((V, I * 1.0), num_keys=1),
        m.sort(X + 1j * Y, 0),
        m.sort_key_val(V, I),
    ),
    "top_k": lambda m: tuple(m.top_k(X, 2)),
    "further convolutions": lambda m: (
        m.conv_general_dilated(IMAGE, KERNEL.repeat(2, 1), (1, 2), "SAME", batch_group_count=2),
        m.conv_general_dilated(IMAGE[:, :2, :1], KERNEL, (1, 1), "VALID"),
        *(
            m.conv_transpose(
                IMAGE,
                rng_of((2, 3, 4, 3)),
                (2, 1),
                pad,
                (1, 2),
                ("NCHW", "HWIO", "NCHW"),
                use_consistent_padding=consistent,
            )
            for pad in ("SAME", "VALID", [(0, 1), (2, 0)])
            for consistent in (False, True)
        ),
        m.conv_transpose(
            IMAGE,
            rng_of((4, 3, 2, 3)),
            (2, 3),
            "SAME",
            dimension_numbers=("NCHW", "OIHW", "NCHW"),
            transpose_kernel=True,
        ),
        m.conv_general_dilated_patches(IMAGE, (2, 3), (1, 2), "SAME", None, (2, 1)),
        m.conv_general_dilated_patches(
            IMAGE, (2, 3), (1, 2), [(1, 0), (0, 2)], (1, 2), None, ("NHWC", "WHIO", "CNHW")
        ),
        m.conv_general_dilated_local(IMAGE, rng_of((3, 24, 6, 4)), (1, 1), "VALID", (2, 3)),
    ),
    "conv": lambda m: (
        m.conv(IMAGE[:, :2], KERNEL, (1, 2), "SAME"),
        m.conv_general_dilated(
            IMAGE, KERNEL, (2, 1), [(1, 0), (0, 2)], (1, 2), (2, 1), feature_group_count=2
        ),
        m.conv_general_dilated(
            IMAGE.transpose(0, 2, 3, 1)[..., :2],
            KERNEL.transpose(2, 3, 1, 0),
            (1, 1),
            "VALID",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        ),
    ),
}


def gathered(m: Any, mode: Any) -> Any:
    numbers = m.GatherDimensionNumbers(*GATHER)
    inside = m.gather(X, np.array([[2], [0]]), numbers, (1, 5), mode=mode)
    outside = m.gather(X, np.array([[2], [7]]), numbers, (1, 5), mode=mode)
    return inside, outside


def scattered(m: Any, name: str) -> Any:
    numbers = m.ScatterDimensionNumbers(*SCATTER)
    at, rows = np.array([[3], [9], [0]]), Y[:3]
    return getattr(m, name)(X, at, rows, numbers)


for mode in (None, "clip", "fill"):
    CALLS[f"gather {mode}"] = lambda m, mode=mode: gathered(m, mode)  # type: ignore[misc]
for kind in ("", "_add", "_sub", "_mul", "_min", "_max"):
    CALLS[f"scatter{kind}"] = lambda m, kind=kind: scattered(m, f"scatter{kind}")  # type: ignore[misc]


@pytest.mark.exhaustive(but=20)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_for_jax_has_the_result_of_jax(name: str) -> None:
    theirs = jax.tree.leaves(in_jax(lambda: CALLS[name](lax)))
    ours = tn.tree.leaves(CALLS[name](tn.lax))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape
        assert mine.dtype == other.dtype or name == "top_k"
        rtol = 1e-6 if mine.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=rtol, atol=1e-13)


def test_traced_starts_count_from_the_end_as_in_jax() -> None:
    f = tn.jit(lambda x, i: tn.lax.dynamic_slice(x, (i,), (2,)), executor="numpy")
    assert [f(V, np.array(i)).tolist() for i in (-2, 1, 9)] == [[2, 1], [1, 2], [2, 1]]


def test_convolutions_and_windows_are_differentiated() -> None:
    def loss(m: Any, xp: Any, x: Any, k: Any) -> Any:
        y = m.conv_general_dilated(x, k, (2, 1), "SAME", feature_group_count=2)
        return (m.reduce_window(y, 0.0, m.add, (1, 1, 2, 2), None, "VALID") ** 2).sum()

    ours = tn.jit(tn.grad(lambda x, k: loss(tn.lax, tn, x, k), (0, 1)), executor="numpy")
    theirs = in_jax(jax.grad(lambda x, k: loss(lax, jax.numpy, x, k), (0, 1)), IMAGE, KERNEL)
    for mine, other in zip(ours(IMAGE, KERNEL), theirs, strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=1e-10, atol=1e-12)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tn.lax.add(X, I), DTypeError, r"^add: operands have types f64\[4,5\] and i64\[4\]"),
    (lambda: tn.lax.add(I, 1.5), DTypeError, r"^add: the number 1.5 is not one for i64\[4\]"),
    (lambda: tn.lax.add(X, V), ShapeError, r"^add: operands have types f64\[4,5\] and f64\[4\]"),
    (lambda: tn.lax.exp(I), DTypeError, "^exp: takes"),
    (lambda: tn.lax.dot_general(X, Y, 1), AxisError, r"must be \(\(lhs_contract, rhs_contract\)"),  # type: ignore[arg-type]
    (lambda: tn.lax.dot_general(X, Y, (((7,), (0,)), ((), ()))), AxisError, "axis 7 is out of"),
    (lambda: tn.lax.dot(X, Y.T, precision="exact"), ExecutorError, "XlaExecutor"),
    (lambda: tn.lax.pad(X, 0.0, [(1, 1, 0)]), AxisError, r"one \(low, high, interior\) for each"),
    (lambda: tn.lax.pad(X, 0.0, 1), AxisError, "padding_config"),  # type: ignore[arg-type]
    (lambda: tn.lax.gather(X, I[:, None], 3, (1, 5)), AxisError, "GatherDimensionNumbers, got 3"),  # type: ignore[arg-type]
    (lambda: gathered(tn.lax, "wrap"), AxisError, "gather: mode 'wrap' is not one of"),
    (lambda: tn.lax.sort([X, Y], num_keys=3), AxisError, "num_keys must be from 1 to 2, got 3"),
    (lambda: tn.lax.sort([X, V]), ShapeError, "sort: operands .* must have one shape"),
    (lambda: tn.lax.transpose(X, (0,)), AxisError, "must name each axis"),
    (lambda: tn.lax.dynamic_slice(X, (1,), (2, 2)), GraphError, "got 1 start for the 2 axes of"),
    (lambda: tn.lax.conv(X, X, (1,), "SAME"), AxisError, "window_strides must be 0 integers"),
    (lambda: tn.lax.conv(IMAGE, KERNEL, (1, 1), "FULL"), ShapeError, "axis 1 of lhs must be 1"),
    (lambda: tn.lax.reduce_window(V, 0.0, tn.add, (0,)), ShapeError, "does not fit into"),
    *(
        (
            lambda pad=pad, kind=kind: tn.lax.reduce_window(
                V, 0.0, tn.add, (1,), (int(kind != 0),), pad, (int(kind != 1),), (int(kind != 2),)
            ),
            ShapeError,
            "must be at least 1",
        )
        for pad in ("SAME", "VALID", [(0, 0)])
        for kind in range(3)
    ),
    (
        lambda: tn.lax.conv_general_dilated(np.ones((1, 1, 3)), np.ones((1, 1, 2)), (0,), "SAME"),
        ShapeError,
        "conv_general_dilated: strides .* must be at least 1",
    ),
    (lambda: tn.lax.dot_general(np.eye(2), np.eye(2), ((1, 0), (1,))), AxisError, "must be .*got"),
    (lambda: tn.lax.select_n(V, V, V), DTypeError, "takes bools or integers to choose by"),
    (lambda: tn.lax.select_n(V > 0), GraphError, "needs at least one case"),
    (lambda: tn.lax.concatenate([], 0), ShapeError, "concatenate: needs at least one array"),
    (lambda: tn.lax.split(V, [1, 1]), ShapeError, "do not add up to axis 0 of f64"),
    (lambda: tn.lax.iota("bool", 3), DTypeError, "iota: counts in numbers"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_a_start_does_not_take_the_dtype_of_the_operand() -> None:
    x = np.arange(8, dtype="float32").reshape(4, 2)

    def batch(i: Any, total: Any) -> Any:
        return total + tn.lax.dynamic_slice_in_dim(x, 2 * i, 2).sum()

    assert tn.fori_loop(0, 2, batch, 0.0).item() == x.sum()
    assert tn.jit(tn.lax.dynamic_index_in_dim, executor="numpy")(x, 3).tolist() == [[6.0, 7.0]]


def test_roll_takes_traced_shifts_and_where_a_condition_alone() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for shift, axis in ((2, 1), (-1, None), ((1, 2), (0, 1))):
        found = tn.jit(lambda x, s, axis=axis: tn.roll(x, s, axis), executor="numpy")(x, shift)
        np.testing.assert_array_equal(found, np.roll(x, shift, axis))
    shifts = np.array([2, -7, 0, 1])
    for executor in ("numpy", "xla"):
        for axis in (0, 1, None):
            each = tn.vmap(lambda s, axis=axis: tn.roll(x, s, axis))
            rows = tn.jit(each, executor=executor)(shifts).numpy()
            np.testing.assert_array_equal(rows, [np.roll(x, s, axis) for s in shifts])
            by_x = tn.grad(lambda x, s, w, axis=axis: tn.sum(tn.roll(x, s, axis) * w))
            found = tn.jit(by_x, executor=executor)(x, -4, x * x)
            np.testing.assert_array_equal(found, np.roll(x * x, 4, axis))
    both = tn.jit(lambda s: tn.roll(x, s, (0, 1)), executor="numpy")(np.array([1, 2]))
    np.testing.assert_array_equal(both, np.roll(x, (1, 2), (0, 1)))
    turned = tn.fori_loop(0, 3, lambda i, x: tn.roll(x, i, 1), x.astype("float32"))
    np.testing.assert_array_equal(turned, x)
    assert turned.dtype == np.float32
    with pytest.raises(AxisError, match=r"^roll: got 2 shifts for 3 axes"):
        tn.jit(lambda s: tn.roll(x, (s, s), (0, 0, 1)), executor="numpy")(1)
    assert tn.where(x > 4)[1].tolist() == [2]
    found = tn.jit(lambda x: tn.where(x > 3, size=3, fill_value=-1), executor="numpy")(x)
    assert [each.tolist() for each in found] == [[1, 1, -1], [1, 2, -1]]
    with pytest.raises(DTypeError, match=r"^where: takes a condition and two values, or a cond"):
        tn.where(x > 4, 1.0)  # type: ignore[call-overload]


@pytest.mark.exhaustive
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_errors_of_running_logsumexp_do_not_grow_with_the_length(executor: str) -> None:
    x = np.zeros(1000, np.float16)  # from 600 on, a number more would change nothing
    found = tn.jit(tn.lax.cumlogsumexp, executor=executor)(x).numpy()
    np.testing.assert_allclose(found, np.log(np.arange(1, 1001)), atol=0.02)


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("name", ["cummax", "cummin", "cumlogsumexp"])
@pytest.mark.parametrize("shape", [(300,), (129, 2), (2, 1031), (2, 143, 3)], ids=str)
def test_running_combinations_of_many_elements_are_those_of_jax(
    name: str, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(0).normal(size=shape)

    def running(library: Any) -> list[Any]:
        run = getattr(library, name)
        return [run(x, axis, reverse) for axis in range(len(shape)) for reverse in (False, True)]

    for ours, theirs in zip(running(tn.lax), in_jax(lambda: running(lax)), strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("cummax", 140),
        *(("cumlogsumexp", size) for size in (1, 140)),
        ("cummin", 9),
        *(
            pytest.param(name, size, marks=pytest.mark.exhaustive)
            for name, size in (("cummax", 9), ("cumlogsumexp", 9), ("cummin", 140))
        ),
    ],
)
def test_derivatives_of_running_combinations_are_those_of_jax(name: str, size: int) -> None:
    """JAX combines the elements up to each, all at once: its running form compiles for seconds."""
    x, dx = np.random.default_rng(1).normal(size=(2, size, 2))
    at_once = {"cummax": jax.numpy.max, "cummin": jax.numpy.min, "cumlogsumexp": logsumexp}[name]
    neutral = np.inf if name == "cummin" else -np.inf

    def of_jax(x: Any, reverse: bool) -> Any:
        reached = np.tril(np.ones((size, size), bool))
        reached = reached.T if reverse else reached
        return at_once(jax.numpy.where(reached[..., None], x, neutral), axis=1)

    def derivatives(library: Any, running: Any, sum_of: Any) -> Callable[..., Any]:
        def both(x: Any, dx: Any) -> Any:
            found = []
            for reverse in (False, True):
                gradient = library.grad(
                    lambda x, reverse=reverse: sum_of(running(x, reverse) ** 2 * (1 + x))
                )
                found += [gradient(x), library.jvp(gradient, (x,), (dx,))[1]]
            return found

        return both

    theirs = in_jax(derivatives(jax, of_jax, jax.numpy.sum), x, dx)
    for executor in ("xla", "numpy"):
        running = derivatives(tn, lambda x, reverse: getattr(tn.lax, name)(x, 0, reverse), tn.sum)
        ours = tn.jit(running, executor=executor)(x, dx)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-9, atol=1e-9)


def test_what_is_tied_shares_the_tangents_of_running_extrema() -> None:
    x = np.array([1.0, 3.0, 3.0, 2.0])
    gradient = tn.grad(lambda x: tn.sum(tn.lax.cummax(x)))(x)
    assert gradient.tolist() == [1.0, 2.0, 1.0, 0.0]
    first = tn.grad(lambda x: tn.sum(tn.lax.cumlogsumexp(x)))(np.array([-np.inf, 1.0]))
    assert first.tolist() == [1.0, 1.0]


def test_functions_that_only_newer_versions_of_jax_have() -> None:
    x = np.array([[0.5, -2.0], [1e-9, 1 - 1e-9]])
    np.testing.assert_allclose(tn.lax.one_minus_square(x), (1 - x) * (1 + x), rtol=1e-15)
    np.testing.assert_array_equal(tn.lax.log2(np.array([8.0])), [3.0])
    coefficients = [np.ones((1, 2)), 3.0, np.full((2, 2), 0.5)]
    np.testing.assert_allclose(tn.lax.polynomial(x, coefficients), 1 + 3 * x + x * x / 2)
    for few in ([], [2.0]):
        assert tn.lax.polynomial(x, few).tolist() == np.full((2, 2), sum(few)).tolist()
    found = tn.minmax(x, axis=0, initial=(-1.0, 0.75), where=x > 0)
    assert [each.tolist() for each in found] == [[-1.0, -1.0], [0.75, 1 - 1e-9]]
    with pytest.raises(DTypeError, match="polynomial: coeffs must be a sequence, got a float"):
        tn.lax.polynomial(x, 2.0)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="minmax: initial must be a value or a pair"):
        tn.minmax(x, initial=(1, 2, 3))  # type: ignore[arg-type]
