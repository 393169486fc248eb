from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    DeviceError,
    DTypeError,
    ExtentError,
    NoAxesError,
    PytreeError,
    ShapeError,
)

Array = np.ndarray[Any, Any]


def test_data_is_copied_and_the_copy_is_read_only() -> None:
    array = np.array([1.0, 2.0])
    t = tn.Tensor(array)
    array[0] = 9.0
    assert t.tolist() == [1.0, 2.0]
    assert not np.shares_memory(array, t.numpy())
    with pytest.raises(ValueError, match="read-only"):
        t.numpy()[0] = 5.0


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12.0)[::-1],
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(4.0).astype(">f8"),
        np.arange(4).astype(">i4"),
        np.broadcast_to(np.float32(2), (2, 3)),
        np.zeros((0, 3)),
        np.float32(3),
        np.array(True),
    ],
    ids=str,
)
def test_any_numpy_array_comes_in_right_and_compact(array: Array) -> None:
    t = tn.Tensor(array)
    assert t.shape == array.shape
    assert t.dtype == array.dtype.newbyteorder("=")
    assert t.data.flags.c_contiguous
    assert t.data.dtype.isnative
    np.testing.assert_array_equal(np.asarray(t), array)
    np.testing.assert_array_equal(np.asarray(tn.stack([t, t])), np.stack([array, array]))


RESULTS = [
    lambda t: t,
    lambda t: +t,
    lambda t: t[:],
    lambda t: t.reshape(4),
    lambda t: tn.broadcast_to(t, (4,)),
    lambda t: t * 1,
    lambda t: t.astype("float64"),
    lambda t: tn.clip(t),
    lambda t: t.T,
    lambda t: t.real,
]


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_results_are_read_only_and_share_nothing_with_the_callers_array(number: int) -> None:
    array = np.arange(4.0)
    for result in (
        RESULTS[number](tn.Tensor(array)),
        tn.jit(RESULTS[number], executor="numpy")(array),
        tn.jit(lambda t: t, executor="numpy")(array),
    ):
        assert not np.shares_memory(result.numpy(), array)
        assert not result.numpy().flags.writeable
        assert result.numpy().flags.c_contiguous


def test_asarray_of_a_tensor_can_be_copied_and_converted() -> None:
    t = tn.Tensor([1.0, 2.0])
    copy = np.array(t)
    copy[0] = 5.0
    assert t.tolist() == [1.0, 2.0]
    assert np.asarray(t, dtype="float32").dtype == np.float32
    assert np.array(t, copy=None).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("data", "dtype", "error", "text"),
    [
        ("text", None, DTypeError, "dtype: <U4 is not supported; use one of bool, int8"),
        (None, None, DTypeError, "dtype: object is not supported"),
        ([[1], [2, 3]], None, ShapeError, "tensor: .*inhomogeneous"),
        ([1j], "float64", DTypeError, "tensor: .*complex"),
        (
            np.array([1j]),
            "float64",
            DTypeError,
            "complex128 data does not fit float64; take its real",
        ),
        ([300], "int8", DTypeError, "tensor: Python integer 300 out of bounds for int8"),
        (np.array(["2020-01-01"], "datetime64[D]"), None, DTypeError, "is not supported"),
    ],
)
def test_data_that_is_no_array_of_numbers_is_refused(
    data: Any, dtype: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        tn.Tensor(data, dtype)


def test_a_tensor_of_another_dtype_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"tensor: the data is f64\[1\]; use astype"):
        tn.Tensor(tn.Tensor([1.0]), "float32")


def test_printing_is_numpys() -> None:
    assert repr(tn.Tensor([1.0, 2.5])) == "Tensor([1. , 2.5])"
    assert repr(tn.Tensor([[1, 2], [3, 4]])) == "Tensor([[1, 2],\n        [3, 4]])"
    assert repr(tn.Tensor(np.float32(1))) == "Tensor(1., dtype=float32)"
    assert repr(tn.zeros((0, 2))) == "Tensor([], shape=(0, 2), dtype=float64)"
    assert repr(tn.zeros(0)) == "Tensor([], dtype=float64)"
    assert repr(tn.Tensor([True])) == "Tensor([ True])"
    assert "..." in str(tn.zeros(100_000))
    assert f"{tn.Tensor([1.0, 2.5])!s} {tn.Tensor(np.float32(1.1))!s}" == "[1.  2.5] 1.1"
    assert f"{tn.Tensor(1.25):.1f} {tn.Tensor(2)}" == "1.2 2"
    assert f"{tn.Tensor([1.0, 2.0])}" == "[1. 2.]"
    with pytest.raises(ShapeError, match=r"format: '.1f' is for one number, not for f64\[2\]"):
        format(tn.zeros(2), ".1f")


def test_one_element_becomes_a_python_number() -> None:
    t = tn.Tensor([[2.5]])
    assert (t.item(), float(t), int(t), complex(t), bool(t)) == (2.5, 2.5, 2, 2.5, True)
    assert type(tn.Tensor(3).item()) is int
    assert [10, 20, 30][tn.Tensor(1)] == 20
    assert not tn.Tensor(0.0)


def test_more_elements_do_not() -> None:
    for convert in (float, int, bool, complex, tn.Tensor.item):
        text = rf"^{convert.__name__}: f64\[2\] has 2 elements, not one"
        with pytest.raises(ShapeError, match=text):
            convert(tn.zeros(2))
    with pytest.raises(ShapeError, match=r"neither true nor false; use .any\(\) or .all\(\)"):
        bool(tn.zeros(2) > 0)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        [1, 2][tn.Tensor(1.0)]


def test_length_and_iteration_are_over_the_first_axis() -> None:
    t = tn.Tensor([[1, 2], [3, 4], [5, 6]])
    assert len(t) == 3
    assert [row.tolist() for row in t] == [[1, 2], [3, 4], [5, 6]]
    assert t.size == 6
    for ask in (len, iter):
        with pytest.raises(NoAxesError, match=r"len: f64\[\] has no axes: it has no length") as e:
            ask(tn.Tensor(1.0))  # type: ignore[operator]
        assert isinstance(e.value, TypeError)  # what Python asks for
    assert not np.iterable(tn.Tensor(1.0))
    tn.jit(lambda x: x if not np.iterable(x) else 1 / 0)(1.0)


def test_dlpack_both_ways() -> None:
    t = tn.Tensor([[1.0, 2.0], [3.0, 4.0]])
    out = np.from_dlpack(t)
    assert out.tolist() == t.tolist()
    assert np.shares_memory(out, t.numpy())
    assert not out.flags.writeable

    class Exporter:
        """Has nothing but the protocol."""

        def __init__(self, array: Array) -> None:
            self._array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self._array.__dlpack_device__()

    array = np.arange(6.0).reshape(2, 3)[:, ::2]
    taken = tn.Tensor(Exporter(array))
    assert taken.tolist() == array.tolist()
    assert not np.shares_memory(taken.numpy(), array)


def test_column_major_at_the_boundary() -> None:
    t = tn.Tensor.from_column_major((2, 3), np.arange(6))
    assert t.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert t.to_column_major().tolist() == [0, 1, 2, 3, 4, 5]
    assert tn.Tensor.from_column_major((), [1]).shape == ()
    with pytest.raises(ShapeError, match=r"from_column_major: \(5,\) elements do not fill"):
        tn.Tensor.from_column_major((2, 3), np.arange(5))


def test_tensors_compare_elementwise_and_are_not_hashable() -> None:
    t = tn.Tensor([1.0])
    assert (t == t).tolist() == [True]
    named = tn.TracedTensor.input((), "float64", name="x")
    assert {named: 1}[named] == 1  # it names what is bound to it
    for unhashable in (t, tn.asarray(1), tn.EagerRuntime().variable(t), tn.random.key(0)):
        with pytest.raises(TypeError, match="unhashable type"):
            hash(unhashable)
    with pytest.raises(TypeError, match="unhashable type"):
        tn.asarray(1) in {1, 2}  # noqa: B015
    with pytest.raises(TypeError, match=r"hash\(\) of a traced value"):
        tn.jit(lambda x: x * len({x}), executor="numpy")(t)
    with pytest.raises(PytreeError, match="static arguments must be hashable"):
        tn.jit(lambda x, y: x, executor="numpy", static_argnums=1)(t, t)


def test_what_no_machine_holds_is_refused_at_once() -> None:
    with pytest.raises(ExtentError, match=r"f64\[8589934592,8589934592\] takes 5902.* more than"):
        tn.zeros((2**33, 2**33))
    with pytest.raises(ExtentError, match="extent 9223372036854775808 is not between"):
        tn.zeros((2**63,))
    with pytest.raises(ExtentError, match="extent -1 is not between"):
        tn.ones(-1)


def test_floating_point_warnings_are_ieee_results() -> None:
    assert tn.log(tn.Tensor([0.0])).tolist() == [-np.inf]
    assert np.isnan(np.asarray(tn.Tensor([0.0]) / 0.0)).all()
    assert (tn.Tensor([1e308]) * 10).tolist() == [np.inf]


def test_a_jax_array_is_wrapped_without_a_copy() -> None:
    jax = pytest.importorskip("jax")
    array = jax.numpy.asarray(np.float32([1, 2]))
    t = tn.Tensor(array)
    assert t.data is array
    assert t.executor is not None
    assert t.placement.startswith("cpu")
    assert isinstance(tn.exp(array).data, jax.Array)
    assert (tn.Tensor([1.0]).placement, (t * 2).tolist()) == ("host", [2.0, 4.0])


def test_a_tensor_on_the_host_goes_where_the_others_are() -> None:
    pytest.importorskip("jax")
    host = tn.Tensor([1.0, 2.0])
    device = host.to_device("xla")
    for result in (
        host + device,
        device + host,
        tn.where(host > 1.0, device, host) * 2.0,
        tn.clip(device, host, tn.asarray([9.0, 9.0])) * 2.0,
        tn.einsum("i,i->i", np.ones(2), device) + host,
    ):
        assert result.placement == device.placement
        assert result.tolist() == [2.0, 4.0]
    with pytest.raises(DeviceError, match=r"jit: f64\[2\] is on cpu:0, not on numpy; move it with"):
        tn.jit(lambda x: x, executor="numpy")(device)
    assert (device + np.ones(2)).placement == device.placement
    assert (host + device.to_device("host")).tolist() == [2.0, 4.0]


def test_the_executor_of_a_device_tensor_runs_its_operators() -> None:
    pytest.importorskip("jax")
    device = tn.Tensor([1.0, 2.0]).to_device("xla")
    result = device * 2 + 1
    assert result.executor is device.executor
    assert result.dtype == np.float64
    assert np.from_dlpack(result).tolist() == [3.0, 5.0]


def test_an_op_at_run_time_needs_sizes_that_are_numbers() -> None:
    with pytest.raises(ShapeError, match="broadcast_to: the size 'n' has a number only in a"):
        tn.broadcast_to(tn.Tensor([1.0, 2.0]), ("n", 2))


def test_a_jax_array_of_a_dtype_that_tenferro_lacks_is_refused() -> None:
    jnp = pytest.importorskip("jax.numpy")
    lacking = jnp.ones(2, "int4")
    for function in (tn.Tensor, tn.sin, tn.jit(lambda x: x)):
        with pytest.raises(DTypeError, match="dtype: int4 is not supported"):
            function(lacking)
