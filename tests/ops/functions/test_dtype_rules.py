"""`tn.config.promotion` and `default_float`: dtypes as in NumPy or JAX, floats of 64 or 32 bits."""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, TenferroError
from tests.numpy.calls import CALLS, Call
from tests.sampling import some

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
NARROW = [name for name in DTYPES if name not in ("int64", "uint64", "float64", "complex128")]
NUMBERS = (True, 2, 2.5, 2.5j)
TO_32 = {"int64": "int32", "uint64": "uint32"}
"""Integers have 64 bits also where floats have 32."""

bits = pytest.mark.parametrize("wide", [True, False], ids=["64 bits", "32 bits"])


def as_in_jax(wide: bool) -> Any:
    return tn.config.using(promotion="jax", default_float="float64" if wide else "float32")


def named(dtype: Any, wide: bool) -> str:
    name = np.dtype(dtype).name
    return name if wide else TO_32.get(name, name)


@bits
def test_dtypes_promote_as_in_jax(wide: bool) -> None:
    dtypes = DTYPES if wide else NARROW
    with jax.enable_x64(wide), as_in_jax(wide):
        for a, b in itertools.product(dtypes, repeat=2):
            want = jnp.promote_types(a, b)
            assert named(tn.promote_types(a, b), wide) == want, (a, b)
            assert named((tn.zeros((), a) + tn.zeros((), b)).dtype, wide) == want, (a, b)
        for a, b, number in itertools.product(dtypes, dtypes, NUMBERS):
            want = jnp.result_type(a, b, number)
            assert named(tn.result_type(a, b, number), wide) == want, (a, b, number)
        for parts in itertools.combinations_with_replacement(dtypes, 3):
            assert named(tn.result_type(*parts), wide) == jnp.result_type(*parts), parts
        for a, number in itertools.product(dtypes, NUMBERS):
            want = jnp.result_type(a, number)
            got = [tn.zeros((), a) + number, number + tn.zeros((), a)]
            added = tn.jit(lambda x: x + number, executor="numpy")  # noqa: B023  # called here
            got += [added(tn.zeros((), a))]
            assert {named(each.dtype, wide) for each in got} == {want.name}, (a, number)


def test_a_number_less_a_mask_yields_to_int32_as_in_jax() -> None:
    counter, mask = np.int32(3), np.True_
    with jax.enable_x64(False), as_in_jax(wide=False):
        want = (1 - jnp.asarray(mask)) * jnp.asarray(counter)
        assert ((1 - tn.asarray(mask)) * tn.asarray(counter)).dtype == want.dtype == "int32"
        assert tn.jit(lambda m, n: (1 - m) * n)(mask, counter).dtype == want.dtype
        assert (tn.asarray(mask) * 2**40).dtype == "int64"  # which JAX refuses
    assert (1 - tn.asarray(mask)).dtype == "int64"


def test_without_a_setting_dtypes_promote_as_in_numpy() -> None:
    for a, b in itertools.product(DTYPES, repeat=2):
        assert tn.promote_types(a, b) == np.promote_types(a, b)
    for a, number in itertools.product(DTYPES, NUMBERS):
        assert (tn.zeros((), a) + number).dtype == (np.zeros((1,), a) + number).dtype


# Functions, by the types of what they return.

OTHERWISE = {
    "cumprod": "integers of less than 64 bits become such of 64, as in NumPy",
    "histogram": "counts are integers",
    "histogramdd": "counts are floats, as in NumPy",
    "poly": "real roots have real coefficients",
    "float_power": "has the default float for all",
    "corrcoef": "half precision is widened",
    "cov": "half precision is widened",
    "trapezoid": "half precision is widened",
    "nan_to_num": "the second operand is another one",
    "sort_complex": "has the default float for all integers",
}
OTHERWISE |= dict.fromkeys(("cumsum", "nancumsum", "nancumprod"), OTHERWISE["cumprod"])
"""Functions whose results have other dtypes than in JAX, and why."""
OF_BOOLS = ("divmod", "floor_divide", "fmod", "mod", "pow", "power", "remainder", "square")
"""Functions that make int8 of bools, as in NumPy, where JAX makes int32."""
WIDER = ("median", "nanmedian", "reciprocal")
"""Functions that make float64 of bools and, but for the last, of int32; JAX makes float32."""
NARROWER = ("angle", "rint", "unwrap")
"""Functions that make float32 of bools and of int32, as `sin` does; JAX makes float64."""


def differs(name: str, dtypes: tuple[str, ...], wide: bool) -> bool:
    """Whether the result has another dtype than in JAX for these operands."""
    if name in OF_BOOLS:
        return {*dtypes} == {"bool"}
    narrow = {"bool"} if name == "reciprocal" else {"bool", "int32", "uint32"}
    return wide and name in WIDER + NARROWER and dtypes[0] in narrow


SHARED = [
    name
    for name in sorted(dir(jnp))
    if not name.startswith("_") and hasattr(tn.numpy, name) and name not in OTHERWISE
    if callable(getattr(jnp, name)) and not isinstance(getattr(jnp, name), type)
]
OPERANDS = ("bool", "int32", "uint32", "int64", "float16", "float32", "float64", "complex64")


def results(eval_shape: Any, spec: Any, function: Any, dtypes: Any) -> list[str]:
    made = eval_shape(lambda *operands: function(*operands), *[spec((3, 3), d) for d in dtypes])
    return [np.dtype(leaf.dtype).name for leaf in tn.tree.leaves(made)]


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many operands by place."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    return True


@pytest.mark.exhaustive(but=14)
@pytest.mark.parametrize("name", some(SHARED, 12))
@bits
def test_functions_have_the_dtypes_of_jax(name: str, wide: bool) -> None:
    mine, theirs = getattr(tn.numpy, name), getattr(jnp, name)
    for count in (1, 2):
        if not takes(theirs, count):
            continue
        for dtypes in itertools.product(OPERANDS, repeat=count):
            if not wide and {*dtypes} & {"int64", "float64"}:
                continue
            if differs(name, dtypes, wide):
                continue
            with jax.enable_x64(wide), as_in_jax(wide):
                try:
                    want = results(jax.eval_shape, jax.ShapeDtypeStruct, theirs, dtypes)
                    got = results(tn.eval_shape, tn.TensorSpec, mine, dtypes)
                except (
                    TenferroError,
                    TypeError,
                    ValueError,
                    IndexError,
                    NotImplementedError,
                    Warning,
                ):
                    continue  # one of the two does not take such operands
            assert [named(each, wide) for each in got] == want, dtypes


USES: dict[str, Callable[[], Any]] = {
    "zeros": lambda: tn.zeros(3),
    "eye": lambda: tn.eye(2, dtype=float),
    "a list": lambda: tn.asarray([1.0, 2.0]),
    "a number": lambda: tn.sin(1.0),
    "sine of integers": lambda: tn.sin(np.arange(3, dtype="int64")),
    "mean of integers": lambda: tn.mean(np.arange(3)),
    "quotient": lambda: tn.arange(3) / 2,
    "arange": lambda: tn.arange(3.0),
    "linspace": lambda: tn.linspace(0, 1, 3),
    "normal": lambda: tn.random.normal(tn.random.key(0), (2,)),
    "uniform": lambda: tn.random.uniform(tn.random.key(0), (2,)),
    "inverse": lambda: tn.linalg.inv(np.eye(2, dtype="int64")),
    "fftfreq": lambda: tn.fft.fftfreq(4),
    "special matrix": lambda: tn.scipy.linalg.hilbert(3),
    "window": lambda: tn.hanning(5),
    "one_hot": lambda: tn.nn.one_hot(1, 3),
    "initializer": lambda: tn.nn.initializers.normal()(tn.random.key(0), (2, 2)),
    "argument of jit": lambda: tn.jit(lambda x: x * 2)(1.5),
    "in jit": lambda: tn.jit(lambda: tn.ones(2) * np.sqrt(3))(),
    "gradient": lambda: tn.grad(lambda x: x * x)(3.0),
    "carry": lambda: tn.scan(lambda c, _: (c * 2.0, None), 1.0, None, length=2)[0],
    "eager": lambda: tn.EagerRuntime().variable([1.0]) * np.sqrt(3),
    "in vmap": lambda: tn.vmap(lambda i: i * 0.5)(np.arange(3)),
}


@pytest.mark.parametrize("use", USES)
def test_what_has_no_dtype_gets_the_default(use: str) -> None:
    for _ in range(2):
        assert USES[use]().dtype == np.float64
        for promotion in ("numpy", "jax"):
            with tn.config.using(promotion=promotion, default_float="float32"):
                assert USES[use]().dtype == np.float32


def narrow(operand: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    goals = {"float64": "float32", "complex128": "complex64"}
    return operand.astype(goals.get(operand.dtype.name, operand.dtype))


@pytest.mark.parametrize("call", some(CALLS, 9, ids=lambda call: call.name))
def test_values_are_the_same_by_both_rules(call: Call) -> None:
    home = next(each for each in (tn, tn.nn, tn.lax) if hasattr(each, call.name))
    operands = [narrow(each) for each in (call.args if call.together else call.operands)]
    want = call.on(getattr(home, call.name), operands)
    with as_in_jax(False):
        got = call.on(getattr(home, call.name), operands)
    for mine, other in zip(tn.tree.leaves(got), tn.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=2e-4, atol=2e-4)


def test_float32_programs_stay_so() -> None:
    x = np.ones(3, "float32")
    i, scale = np.arange(3), np.sqrt(3)

    def f(x: Any) -> Any:
        x = tn.asarray(x)
        return tn.sum(x * i / scale + x * scale)

    with tn.config.using(promotion="jax", default_float="float32"):
        for call in (f, tn.jit(f), tn.grad(f), tn.jit(tn.grad(f)), tn.vmap(f)):
            assert call(x if call is not tn.vmap else x[None]).dtype == np.float32
        assert (scale * tn.asarray(x)).dtype == np.float32
        assert (tn.asarray(x) * np.float64([scale] * 3)).dtype == np.float32
    assert f(x).dtype == np.float64


@pytest.mark.exhaustive
def test_random_numbers_of_32_bits_are_those_of_jax() -> None:
    key = jax.random.key(3)
    mine = tn.random.key(3)
    with jax.enable_x64(False), as_in_jax(False):
        for name in ("normal", "uniform", "exponential", "gumbel", "rademacher", "bernoulli"):
            want = np.asarray(getattr(jax.random, name)(key, shape=(4,)))
            got = np.asarray(getattr(tn.random, name)(mine, shape=(4,)))
            np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=name)


# Scopes and caches.


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    yield
    tn.config.update("promotion", "numpy")
    tn.config.update("default_float", "float64")


def test_a_setting_is_assigned_for_the_process_and_entered_for_a_thread() -> None:
    found: list[str] = []

    def look() -> None:
        found.append(tn.config.promotion)

    def in_thread() -> str:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return found.pop()

    with tn.config.using(promotion="jax"):
        assert tn.config.promotion == "jax"
        assert in_thread() == "numpy"
        with tn.config.using(default_float="float32"):
            assert (tn.config.promotion, tn.config.default_float) == ("jax", "float32")
        assert tn.config.default_float == "float64"
    assert tn.config.promotion == "numpy"
    tn.config.promotion = "jax"
    tn.config.default_float = "float32"
    assert in_thread() == "jax"
    assert tn.zeros(2).dtype == np.float32
    tn.config.update("promotion", "numpy")
    assert tn.config.promotion == "numpy"


def test_compiled_functions_have_a_version_for_each_choice() -> None:
    traced = []

    def f(x: Any, i: Any) -> Any:
        traced.append(None)
        return x * i * 1.0

    for executor in ("numpy", "xla"):
        traced.clear()
        compiled = tn.jit(f, executor=executor)
        x, i = np.ones(2, "float32"), np.arange(2)
        for _ in range(3):
            assert compiled(x, i).dtype == np.float64
            assert compiled(2.0, i).dtype == np.float64
            with as_in_jax(False):
                assert compiled(x, i).dtype == np.float32
                assert compiled(2.0, i).dtype == np.float32
                assert compiled(2.0, 3.0).dtype == np.float32
        assert len(traced) == 5


def test_plans_and_records_have_a_version_for_each_choice() -> None:
    rt = tn.EagerRuntime()
    x, i = rt.variable(np.ones(2, "float32")), np.arange(2)
    plain = tn.Tensor(np.ones(2, "float32"))
    for _ in range(2):
        assert (x * i).dtype == (plain * i).dtype == np.float64
        with as_in_jax(False):
            assert (x * i).dtype == (plain * i).dtype == np.float32
            assert tn.einsum("i,i->", plain, i).dtype == np.float32


def test_arrays_of_numpy_are_narrowed_as_in_jax_and_tensors_are_not() -> None:
    data, plain = np.linspace(0.1, 1, 3), tn.Tensor(np.ones(3))
    rt = tn.EagerRuntime()
    square = tn.jit(lambda x: x * x)
    of_tree = tn.jit(lambda t: t["a"] * np.ones(3) + t["b"])
    program = tn.make_program(lambda x: x, tn.TensorSpec((3,), "float64"))
    for _ in range(3):
        with as_in_jax(False):
            results = (
                *(tn.sin(data), tn.asarray(data), tn.array(data), data * tn.ones(3)),
                *(square(data), of_tree({"a": data, "b": 2.0}), tn.grad(tn.sum)(data)),
                *(tn.vmap(tn.cos)(data), tn.jvp(tn.sin, (data,), (data,))[1], rt.variable(data)),
                *(tn.stack([tn.ones(3), data]), tn.einsum("i,i->i", data, data)),
                *(tn.where(data > 0.5, data, 0.0), tn.asarray(np.float64(2.0)), tn.array([*data])),
            )
            assert {np.dtype(each.dtype).name for each in results} == {"float32"}
            assert square(data * 1j).dtype == np.complex64
            with tn.disable_jit():
                assert square(data).dtype == np.float32
            wide = (plain * data, tn.asarray(data, "float64"), square(plain), program(data))
            assert {np.dtype(each.dtype).name for each in wide} == {"float64"}
            assert np.all(np.asarray(plain * data) == data)
        assert square(data).dtype == tn.sin(data).dtype == tn.asarray(data).dtype == np.float64
    with tn.config.using(default_float="float32"):
        assert tn.sin(data).dtype == square(data).dtype == np.float64


@pytest.mark.parametrize(
    ("name", "value"),
    [("promotion", "torch"), ("promotion", True), ("default_float", "float16")],
)
def test_other_values_are_refused(name: str, value: Any) -> None:
    for change in (
        lambda: tn.config.update(name, value),
        lambda: setattr(tn.config, name, value),
        lambda: tn.config.using(**{name: value}).__enter__(),
    ):
        with pytest.raises(ConfigError, match=f"{name} must be '.*' or '.*', got"):
            change()
