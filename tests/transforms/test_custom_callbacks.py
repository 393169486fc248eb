"""pure_callback and debug.tap."""

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, ADRuleError, BackendFailureError, FileError, PytreeError

EXECUTORS = pytest.mark.parametrize("executor", ["numpy", "xla"])
X = np.arange(3.0)


@EXECUTORS
def test_a_function_of_trees_is_called_with_numpy_arrays(executor: str) -> None:
    def f(pair: Any, *, scale: Any) -> Any:
        assert type(pair["x"]) is np.ndarray
        assert not pair["x"].flags.writeable
        return {"y": np.sin(pair["x"]) * scale, "n": pair["n"] + 1}

    types = {"y": X, "n": tn.TensorSpec((), "int64")}
    result = tn.jit(
        lambda x: tn.pure_callback(f, types, {"x": x, "n": 1}, scale=2.0), executor=executor
    )(X)
    np.testing.assert_array_equal(np.asarray(result["y"]), 2 * np.sin(X))
    assert result["n"].item() == 2


@EXECUTORS
def test_every_dtype_goes_there_and_back(executor: str) -> None:
    dtypes = ("bool", "int32", "int64", "uint64", "float32", "float64", "complex64", "complex128")
    arrays = {dtype: np.arange(6).reshape(2, 3).astype(dtype) for dtype in dtypes}
    arrays["empty"] = np.zeros((0, 2))
    arrays["complex128"] *= 1 + 2j

    def check(given: Any) -> Any:
        for name, array in given.items():
            assert array.dtype == arrays[name].dtype
            np.testing.assert_array_equal(array, arrays[name])
        return given

    found = tn.jit(lambda x: tn.pure_callback(check, arrays, x), executor=executor)(arrays)
    for name, array in found.items():
        np.testing.assert_array_equal(np.asarray(array), arrays[name])


@EXECUTORS
def test_a_batch_is_passed_as_asked_for(executor: str) -> None:
    seen: list[Any] = []

    def add(x: Any, y: Any) -> Any:
        seen.append((x.shape, y.shape))
        return x + y

    def added(method: Any) -> Any:
        seen.clear()

        def entry(x: Any, y: Any) -> Any:
            return tn.pure_callback(add, tn.TensorSpec(()), x, y, vmap_method=method)

        outer = tn.vmap(tn.vmap(entry, (None, 0)), (0, None))
        result = tn.jit(outer, executor=executor)(X[:2], X)
        np.testing.assert_array_equal(np.asarray(result), X[:2, None] + X)
        return list(seen)

    assert added("sequential") == [((), ())] * 6
    assert added("expand_dims") == [((2, 1), (1, 3))]
    assert added("broadcast_all") == [((2, 3), (2, 3))]


@EXECUTORS
def test_an_exception_of_the_function_comes_through(executor: str) -> None:
    def broken(x: Any) -> Any:
        raise ZeroDivisionError("mine")

    calls: dict[str, Callable[..., Any]] = {
        r"pure_callback broken .*: raised ZeroDivisionError: mine": broken,
        r"result 0 is f64\[2\], but result_shape_dtypes says f64\[3\]": lambda x: x[:2],
        r"result 0 is f32\[3\], but result_shape_dtypes says f64\[3\]": lambda x: x.astype("f4"),
        r"result 0 is a tuple, not an array": lambda x: (x, x),
        r"result 0 is a NoneType, which is not f64\[3\]: dtype: object": lambda x: None,
        r"result 0 is a list, which is not f64\[3\]: dtype: <U1": lambda x: ["a", "b", "c"],
        r"result 0 is a list, which is not f64\[3\]: .*inhomogeneous": lambda x: [1.0, [2.0]],
        r"result 0 is c128\[3\], but result_shape_dtypes says f64\[3\]": lambda x: [1j, 1.0, 1.0],
    }
    for text, function in calls.items():
        with pytest.raises(BackendFailureError, match=text):
            tn.jit(lambda x, f=function: tn.pure_callback(f, x, x), executor=executor)(X)


def test_python_numbers_are_converted_but_not_cut_off() -> None:
    def returned(value: object, dtype: str) -> Any:
        return tn.pure_callback(lambda: value, tn.TensorSpec((), dtype))

    assert returned(3, "float32").dtype == np.float32
    assert returned(True, "uint8").item() == 1
    with pytest.raises(BackendFailureError, match=r"result 0 is f64\[\], but .* says i64\[\]"):
        returned(2.5, "int64")
    with pytest.raises(BackendFailureError, match=r"is an int, which is not u8\[\]: .*300"):
        returned(300, "uint8")


def test_it_has_no_derivative_but_that_of_a_rule() -> None:
    def sine(x: Any) -> Any:
        return tn.pure_callback(np.sin, x, x)

    with pytest.raises(ADRuleError, match=r"pure_callback sin has no derivative; wrap it in cust"):
        tn.grad(lambda x: tn.sum(sine(x)))(X)
    ruled = tn.custom_jvp(sine)
    ruled.defjvps(lambda dx, value, x: dx * tn.cos(x))
    np.testing.assert_allclose(np.asarray(tn.grad(lambda x: tn.sum(ruled(x)))(X)), np.cos(X))
    count = tn.custom_jvp(lambda x: x)  # integers have no tangent
    count.defjvps(None)
    assert (
        tn.grad(lambda x: x * tn.pure_callback(lambda x: 3, tn.TensorSpec((), "int64"), x))(
            2.0
        ).item()
        == 3.0
    )


def test_wrong_uses_are_refused() -> None:
    with pytest.raises(ADError, match="vmap_method must be one of 'sequential', 'expand_dims', 'b"):
        tn.pure_callback(np.sin, X, X, vmap_method="legacy")  # type: ignore[arg-type]
    with pytest.raises(ADError, match="result_shape_dtypes has a str; pass TensorSpec"):
        tn.pure_callback(np.sin, "f64", X)
    with pytest.raises(ADError, match="sizes must be integers"):
        tn.pure_callback(np.sin, tn.TensorSpec(("n",)), X)
    with pytest.raises(PytreeError, match="pure_callback: argument leaf 0 is a str"):
        tn.pure_callback(np.sin, X, "x")
    program = tn.make_program(lambda x: tn.pure_callback(np.sin, x, x), X)
    with pytest.raises(FileError, match="pure_callback sin is a Python function, which files do"):
        tn.dumps(program)


@EXECUTORS
def test_a_tap_prints_what_is_computed(executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(function: Callable[..., Any], *args: Any) -> list[str]:
        np.asarray(tn.jit(function, executor=executor)(*args))
        return capsys.readouterr().out.splitlines()

    tap = tn.debug.tap
    assert printed(lambda x: tap("x = {}", x) * 2, X) == ["x = [0. 1. 2.]"]
    cubes = tn.grad(lambda x: tn.sum(tap("x = {}", x) ** 3))
    assert printed(cubes, X) == ["x = [0. 1. 2.]"]
    np.testing.assert_array_equal(np.asarray(cubes(X)), 3 * X**2)
    capsys.readouterr()
    assert printed(tn.vmap(lambda x: tap("{:.1f}", x)), X) == ["0.0", "1.0", "2.0"]
    doubled = [f"c = {2.0**k}" for k in range(3)]
    loop = partial(tn.scan, lambda c, _: (tap("c = {}", c) * 2, None), xs=None, length=3)
    assert printed(lambda x: loop(x)[0], 1.0) == doubled
    assert printed(lambda x: tap("{0[0]}, {0[1]}", (x, 1))[0], 2.0) == ["2.0, 1"]
    assert printed(lambda x: x + 0 * len([tap("unread {}", x)]), 2.0) == []


def test_a_callback_is_called_by_the_host_wherever_arrays_are() -> None:
    assert tn.pure_callback(np.sin, X, X, sharding=None).tolist() == np.sin(X).tolist()
    with pytest.raises(ADError, match="pure_callback: sharding must be None"):
        tn.pure_callback(np.sin, X, X, sharding="cpu")  # type: ignore[arg-type]


def test_an_exception_of_a_tap_names_its_function() -> None:
    with pytest.raises(BackendFailureError, match=r"^callback: debug.tap int .*: raised TypeError"):
        tn.jit(lambda x: tn.debug.tap(int, x), executor="numpy")(X)


def test_what_jax_logs_of_a_callback_is_what_the_user_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(x: Any) -> None:
        raise ValueError("mine")

    with pytest.raises(BackendFailureError, match=r"raised ValueError: mine$") as caught:
        tn.jit(lambda x: (tn.debug.callback(broken, x), x)[1])(X).numpy()
    assert caught.value.__cause__ is None
    assert "Traceback" in caplog.text
    assert "mine" in caplog.text
    assert "BackendFailureError" not in caplog.text
    assert "tenferro_xla" not in caplog.text


def test_a_tap_outside_of_traces_prints_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    values: list[Any] = []
    assert tn.debug.tap(values.append, 2.0) == 2.0
    assert values == [2.0]
    runtime = tn.EagerRuntime()
    x = runtime.variable(X)
    (dx,) = runtime.grad(tn.sum(tn.debug.tap("x = {}", x) ** 2), [x])
    assert capsys.readouterr().out == "x = [0. 1. 2.]\n"
    np.testing.assert_array_equal(dx.detach().numpy(), 2 * X)


@pytest.mark.parametrize("operand", [X, tn.Tensor(X)], ids=["ndarray", "tensor"])
def test_a_callback_that_is_called_at_once_has_the_settings_of_the_caller(operand: Any) -> None:
    with np.errstate(all="raise"):
        for _ in range(3):
            with pytest.raises(BackendFailureError, match="divide by zero"):
                tn.pure_callback(lambda x: np.log(0 * x), X, operand)


@pytest.mark.parametrize("operand", [X, tn.Tensor(X)], ids=["ndarray", "tensor"])
def test_what_a_callback_closes_over_is_freed(operand: Any) -> None:
    class Large:
        offset = 1.0

    def alive() -> Any:
        large = Large()
        tn.pure_callback(lambda x: x + large.offset, X, operand)
        return weakref.ref(large)

    ends = [alive() for _ in range(3)]
    gc.collect()
    assert [end() for end in ends] == [None] * 3
