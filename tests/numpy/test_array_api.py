"""What the array API asks beside functions of arrays; `nox -s array_api` runs its suite."""

from __future__ import annotations

import copy
import inspect
import math
import os
import pickle
import re
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ADError,
    ConfigError,
    DeviceError,
    DTypeError,
    ExchangeError,
    ShapeError,
    TracingError,
)
from tenferro.runtime.tensor import page_of

X = np.arange(6.0).reshape(2, 3)
DTYPES = tuple(tn.__array_namespace_info__().dtypes())


@tn.jit
def named(x: Any) -> Any:
    return x + 1


def doubled(x: Any) -> Any:
    return x * 2


CREATED: dict[str, Callable[..., Any]] = {
    "asarray": lambda **place: tn.asarray([1, 2], **place),
    "arange": lambda **place: tn.arange(3, **place),
    "linspace": lambda **place: tn.linspace(0, 1, 3, **place),
    "full": lambda **place: tn.full(2, 1, **place),
    "zeros": lambda **place: tn.zeros(2, **place),
    "ones": lambda **place: tn.ones(2, **place),
    "empty": lambda **place: tn.empty(2, **place),
    "eye": lambda **place: tn.eye(2, **place),
    "full_like": lambda **place: tn.full_like(X, 1, **place),
    "zeros_like": lambda **place: tn.zeros_like(X, **place),
    "ones_like": lambda **place: tn.ones_like(X, **place),
    "empty_like": lambda **place: tn.empty_like(X, **place),
    "astype": lambda **place: tn.astype(X, "int64", **place),
    "from_dlpack": lambda **place: tn.from_dlpack(X, **place),
    "fftfreq": lambda **place: tn.fft.fftfreq(3, **place),
    "rfftfreq": lambda **place: tn.fft.rfftfreq(3, **place),
}


@pytest.mark.parametrize("name", CREATED)
def test_a_new_array_is_where_it_is_asked_for(name: str) -> None:
    pytest.importorskip("jax")
    for device in tn.__array_namespace_info__().devices():
        assert CREATED[name](device=device).device == device
    assert CREATED[name]().device == CREATED[name](device=None).device == "host"


def test_the_namespace_says_what_it_is() -> None:
    info = tn.__array_namespace_info__()
    assert tn.__array_api_version__ == "2025.12"
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["real floating"] == tn.ones(1).dtype
    assert list(info.dtypes(kind="complex floating")) == ["complex64", "complex128"]
    assert set(info.dtypes(kind=("bool", "integral"))) == set(DTYPES[:9])
    with pytest.raises(DeviceError, match="there is no device 'moon'; there are 'host'"):
        info.dtypes(device="moon")


def test_every_kind_of_tensor_knows_its_namespace() -> None:
    kinds = [tn.ones(1), tn.EagerRuntime().variable([1.0]), tn.TracedTensor.input((1,))]
    assert all(x.__array_namespace__(api_version="2024.12") is tn for x in kinds)
    assert [x.device for x in kinds] == ["host", "host", None]
    with pytest.raises(ConfigError, match="version '1999' of the array API is not here"):
        tn.ones(1).__array_namespace__(api_version="1999")


def test_a_traced_value_is_where_its_program_runs() -> None:
    f = tn.jit(lambda x: x + tn.zeros_like(x, device=x.device), executor="numpy")
    assert f(X).tolist() == X.tolist()
    with pytest.raises(TracingError, match="move the arguments and results of the program"):
        tn.jit(lambda x: x + tn.ones(3, device="host"), executor="numpy")(X)


def test_moving_to_what_is_not_there_lists_what_is() -> None:
    with pytest.raises(DeviceError, match="there is no device 'moon'; there are 'host'"):
        tn.ones(1).to_device("moon")
    with pytest.raises(DeviceError, match="takes the name of a device or an executor, got 3"):
        tn.ones(1).to_device(3)  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match="stream must be None, got 7"):
        tn.ones(1).to_device("host", stream=7)  # type: ignore[arg-type]


def test_memory_is_shared_where_that_is_asked_for() -> None:
    array = X.copy()
    for shared in (tn.from_dlpack(array), tn.asarray(array, copy=False)):
        assert np.shares_memory(shared.numpy(), array)
    for own in (tn.from_dlpack(array, copy=True), tn.asarray(array), tn.asarray(array, copy=True)):
        assert not np.shares_memory(own.numpy(), array)
    tensor = tn.asarray(array)
    assert tn.asarray(tensor, copy=False) is not None
    assert np.shares_memory(tn.asarray(tensor).numpy(), tensor.numpy())
    assert not np.shares_memory(tn.asarray(tensor, copy=True).numpy(), tensor.numpy())
    with pytest.raises(ValueError, match="read-only"):
        np.from_dlpack(tensor)[0, 0] = 1


@pytest.mark.parametrize(
    "value", [[1.0, 2.0], 3.0, X[:, ::2], X.astype(">f8")], ids=["list", "number", "cut", "big"]
)
def test_what_cannot_be_shared_is_refused(value: Any) -> None:
    with pytest.raises(ExchangeError, match=r"cannot be shared.*; allow a copy"):
        tn.asarray(value, copy=False)
    assert tn.asarray(value).tolist() == np.asarray(value).tolist()


def test_a_copy_that_is_needed_is_refused_if_none_is_allowed() -> None:
    with pytest.raises(ExchangeError, match=r"f64\[2,3\] of dtype float32 is a copy"):
        tn.asarray(tn.asarray(X), dtype=tn.float32, copy=False)
    with pytest.raises(BufferError, match=r"before version 1.0 DLPack has no read-only arrays"):
        tn.ones(1).__dlpack__(copy=False)
    with pytest.raises(DTypeError, match="from_dlpack: takes an array with __dlpack__, got list"):
        tn.from_dlpack([1.0])  # type: ignore[arg-type]


def test_a_device_array_is_shared_and_moved() -> None:
    jnp = pytest.importorskip("jax.numpy")
    array = jnp.ones(3, "float32")
    taken = tn.from_dlpack(array)
    assert taken.device == str(array.device)
    assert taken.data is array
    assert tn.from_dlpack(taken, device="host").device == "host"
    assert taken.copy().data is not array
    assert taken.to_device(taken.device) is taken
    assert taken.block_until_ready() is taken


@pytest.mark.parametrize("device", ["host", "xla"])
def test_a_tensor_is_copied_and_pickled_with_its_device(device: str) -> None:
    if device == "xla":
        pytest.importorskip("jax")
    x = tn.asarray(X).to_device(device)
    for made in (copy.copy(x), copy.deepcopy(x), x.copy(), pickle.loads(pickle.dumps(x))):
        assert made.tolist() == X.tolist()
        assert (made.device, made.dtype) == (x.device, x.dtype)
        assert made.data is not x.data


def test_what_is_not_here_is_said_when_it_is_unpickled() -> None:
    function, (array, _) = tn.ones(2).__reduce__()
    with pytest.raises(DeviceError, match=r"unpickling: f64\[2\] was on 'gpu:9', which is not"):
        function(array, "gpu:9")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_eager_tensor_says_why_it_is_not_copied(copied: Callable[[Any], Any]) -> None:
    x = tn.EagerRuntime().variable([1.0])
    with pytest.raises(ADError, match=r"f64\[1\] belongs to an eager runtime.*tn.Tensor"):
        copied(x)
    assert x.copy() is x


def test_a_traced_value_is_its_own_copy_and_is_not_pickled() -> None:
    x = tn.TracedTensor.input((2,))
    assert copy.copy(x) is copy.deepcopy(x) is x.copy() is x
    with pytest.raises(TracingError, match="pickle of a traced value"):
        pickle.dumps(x)


def test_compiled_functions_are_copied_as_themselves_and_pickled_by_name() -> None:
    assert copy.deepcopy(named) is copy.copy(named) is named
    assert pickle.loads(pickle.dumps(named)) is named
    again = pickle.loads(pickle.dumps(tn.jit(doubled, executor="numpy")))
    assert again(X).tolist() == (X * 2).tolist()
    assert again.executor.name == "numpy"


def test_tensors_can_be_referred_to_weakly() -> None:
    for x in (tn.ones(1), tn.EagerRuntime().variable([1.0])):
        assert weakref.ref(x)() is x


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_can_be_called_and_is_a_dtype_everywhere(name: str) -> None:
    dtype, numpys = getattr(tn, name), np.dtype(name)
    assert (dtype(1).dtype, dtype(1).shape) == (numpys, ())
    assert dtype([0, 1]).tolist() == np.array([0, 1], numpys).tolist()
    assert dtype == numpys == dtype == numpys.type == dtype == name
    assert {numpys: 1}[dtype] == {dtype: 1}[numpys] == 1
    assert dtype not in (None, np.dtype("float16"), "nothing", 3)
    assert np.zeros(2, dtype).dtype == np.ones(2).real.astype(dtype).dtype == numpys
    assert np.result_type(dtype, np.bool_) == tn.result_type(dtype, "bool") == numpys
    assert tn.jit(lambda x: x.astype(dtype), executor="numpy")(X).dtype == numpys
    assert pickle.loads(pickle.dumps(dtype)) == copy.deepcopy(dtype) == dtype
    assert (repr(dtype), str(dtype), dtype.itemsize) == (f"tenferro.{name}", name, numpys.itemsize)


def test_jax_takes_our_dtypes() -> None:
    jnp = pytest.importorskip("jax.numpy")
    assert jnp.zeros(2, dtype=tn.float32).dtype == tn.float32
    assert tn.TensorSpec((2,), tn.complex64) == tn.TensorSpec((2,), "complex64")


CONVENIENCES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "round": (lambda x: round(x * 1.26, 1), np.round(X * 1.26, 1)),
    "divmod": (lambda x: tn.stack(divmod(x, 2)), np.stack(divmod(X, 2))),
    "rdivmod": (lambda x: tn.stack(divmod(7, x + 1)), np.stack(divmod(7, X + 1))),
    "copy": (lambda x: x.copy(), X),
    "block_until_ready": (lambda x: x.block_until_ready(), X),
    "nbytes": (lambda x: x * 0 + x.nbytes, X * 0 + 48),
    "itemsize": (lambda x: x * 0 + x.itemsize, X * 0 + 8),
    "flags": (lambda x: x * sum(x.flags[name] for name in ("C", "F", "ALIGNED", "W")), X * 2),
}


@pytest.mark.parametrize("name", CONVENIENCES)
def test_conveniences_hold_for_every_kind_of_tensor(name: str) -> None:
    function, expected = CONVENIENCES[name]
    eager = tn.EagerRuntime().variable(X)
    for result in (function(tn.asarray(X)), function(eager), tn.jit(function, executor="numpy")(X)):
        np.testing.assert_allclose(result.numpy(), expected)


def test_flags_that_do_not_exist_are_named() -> None:
    with pytest.raises(ConfigError, match="flags: there is no flag 'c'"):
        tn.asarray(X).flags["c"]


def test_bits_are_read_as_another_dtype() -> None:
    assert tn.asarray(X).view("int64").tolist() == X.view("int64").tolist()
    assert tn.asarray(X).view(tn.complex64).shape == (2, 3)
    with pytest.raises(ShapeError, match=r"view: f32\[3\] as float64"):
        tn.ones(3, tn.float32).view("float64")


def test_a_mask_without_axes_takes_all_or_nothing() -> None:
    for mask in (np.array(True), np.array(False), tn.asarray(True)):
        np.testing.assert_array_equal(tn.asarray(X)[mask].numpy(), X[np.asarray(mask)])


def test_big_endian_arrays_come_out_native() -> None:
    result = tn.jit(lambda x: x, executor="numpy")(X.astype(">f8"))
    assert result.data.dtype.isnative
    assert result.tolist() == X.tolist()


def test_limits_are_numbers_of_python() -> None:
    info = tn.finfo(tn.float32)
    assert type(info.eps) is float
    assert (info.bits, info.dtype, info.tiny) == (32, np.float32, info.smallest_normal)
    assert (tn.ones(1, "float32") * info.max).dtype == np.float32
    assert math.isclose(info.eps, 2**-23)


def test_notebooks_show_tensors_programs_and_plans() -> None:
    program = tn.make_program(lambda x: x + 1, X)
    plan = tn.einsum_plan("ij,jk->ik", X, X.T)
    for value, text in ((tn.asarray(X), "f64[2,3] on host"), (program, "add"), (plan, "-&gt;")):
        assert text in value._repr_html_()
    eager = tn.EagerRuntime().variable(X)
    assert "f64[2,3]" in eager._repr_html_()
    assert repr(tn.GraphExecutor(tn.NumpyBackend())) == "GraphExecutor(NumpyBackend())"


def test_a_notebook_shows_both_ends_of_a_long_text_in_plain_letters() -> None:
    shown = page_of("\n".join(f"<{i}>" for i in range(1000)), "<b>")
    assert shown.count("\n") == 120
    assert all(f"&lt;{i}&gt;" in shown for i in (0, 89, 970, 999))
    assert "880 more lines" in shown
    assert set(re.findall(r"<(\w+)", shown)) == {"div", "code", "pre"}


def test_a_diagonal_far_outside_is_empty() -> None:
    for k in (2**70, -(2**70)):
        assert tn.eye(2, k=k).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_counts_of_each_element_are_one_gather() -> None:
    counts = np.arange(300) % 4
    program = tn.make_program(lambda x: tn.repeat(x, counts, axis=1), tn.TensorSpec((2, 300)))
    assert str(program).count("=") < 15
    x = np.arange(600.0).reshape(2, 300)
    np.testing.assert_array_equal(tn.repeat(x, counts, 1), np.repeat(x, counts, 1))
    slopes = tn.grad(lambda x: tn.sum(tn.repeat(x, counts[:3])))(np.ones(3))
    assert slopes.tolist() == [0.0, 1.0, 2.0]


def test_nothing_is_repeated_no_times() -> None:
    assert tn.repeat(np.zeros(0), np.zeros(0, "int8")).shape == (0,)


def test_grids_are_tuples() -> None:
    assert type(tn.meshgrid([1], [2])) is type(tn.broadcast_arrays([1], [2])) is tuple


EXCEPTIONS = Path(__file__).parents[1] / "array_api" / "exceptions.txt"


def test_every_exception_of_the_public_suite_has_a_reason() -> None:
    blocks = EXCEPTIONS.read_text("utf-8").strip().split("\n\n")
    for block in blocks[1:]:
        head, *tests = inspect.cleandoc(block).split("\narray_api_tests/")
        assert head.startswith("# ")
        assert tests


SCIPY = """
import numpy, scipy.special, tenferro as tn
x = tn.asarray([1.0, 2.0, 3.0])
made = scipy.special.softmax(x)
assert type(made) is tn.Tensor, type(made)
numpy.testing.assert_allclose(made, scipy.special.softmax(numpy.asarray(x)))
"""


def test_scipy_computes_with_tensors() -> None:
    pytest.importorskip("scipy", minversion="1.15")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", SCIPY], check=True, env=environment)
