"""EagerTensor: a tensor like others, attached to a runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ADError,
    BindingError,
    ContextMismatch,
    DeviceError,
    DTypeError,
    ShapeError,
    TenferroError,
)
from tenferro.transforms import EagerTensor

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.fixture
def rt() -> tn.EagerRuntime:
    return tn.EagerRuntime()


def test_a_tensor_shows_what_it_is(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)
    assert isinstance(x, tn.Tensor)
    assert (x.shape, x.dtype, x.ndim, x.size) == ((2, 3), np.float64, 2, 6)
    assert x.runtime is rt
    assert x.tracked
    assert repr(rt.constant([[1], [2]])) == "EagerTensor([[1],\n             [2]])"
    assert repr(rt.constant([])) == "EagerTensor([], dtype=float64)"
    assert not rt.constant([1, 2]).tracked


def test_tensors_are_made_by_runtimes() -> None:
    with pytest.raises(TenferroError, match=r"made by a runtime; call runtime\.variable"):
        EagerTensor([1.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 1,
        lambda x: 2.0 - x,
        lambda x: x * X,
        lambda x: X / x,
        lambda x: tn.Tensor(X) - x,
        lambda x: x @ x.T,
        lambda x: x**3,
        lambda x: -abs(x),
        lambda x: x[1],
        lambda x: x[:, ::2],
        lambda x: x[..., None],
        lambda x: x[np.array([1, 0, 1])],
        lambda x: x[[0, 1], [2, 0]],
        lambda x: x[x > 2],
        lambda x: x[tn.asarray([1, 0])],
        lambda x: x.at[0].set(9.0),
        lambda x: x.at[:, 1].add(x[:, 0]),
        lambda x: tn.cumulative_sum(x, axis=1),
        lambda x: tn.logical_and(x > 1, X < 5),
        lambda x: x.reshape(3, 2),
        lambda x: x.sum(axis=0, keepdims=True),
        lambda x: x.astype("float32"),
        lambda x: x > 2,
        lambda x: x == X,
        lambda x: tn.exp(x),
        lambda x: tn.where(x > 2, x, 0.0),
        lambda x: tn.concat([x, x], axis=1),
        lambda x: tn.stack([x, X]),
        lambda x: tn.matmul(x, X.T),
        lambda x: tn.permute_dims(x, (1, 0)),
        lambda x: tn.mean(x, axis=1),
        lambda x: tn.full((2, 2), x[0, 0]),
        lambda x: tn.zeros_like(x),
        lambda x: tn.asarray(x),
        lambda x: tn.asarray([[x[0, 0], 1.0], [2.0, x[0, 1]]]),
        lambda x: tn.sum(x, axis=np.int64(1)),
    ],
)
@pytest.mark.parametrize("tracked", [False, True])
def test_functions_operators_and_methods_give_what_they_give_for_tensors(
    rt: tn.EagerRuntime, f: Callable[[Any], Any], tracked: bool
) -> None:
    x = rt.variable(X) if tracked else rt.constant(X)
    for result in (f(x), f(x)):
        expected = f(tn.Tensor(X))
        assert type(result) is EagerTensor
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.numpy(), expected.numpy())
        assert tracked or not result.tracked


def test_results_are_compact_read_only_and_keep_nothing_larger_alive(rt: tn.EagerRuntime) -> None:
    x = rt.constant(X)
    for y in (x.T, x[0], x.reshape(6), tn.broadcast_to(x[0], (4, 3)), x.sum(), x + 1):
        buffer = y.data
        assert type(buffer) is np.ndarray
        assert buffer.flags.c_contiguous
        assert not buffer.flags.writeable
        assert buffer.base is None or buffer.base.nbytes == buffer.nbytes


def test_elements_can_be_read_at_any_time(rt: tn.EagerRuntime) -> None:
    x = rt.variable([1.0, 2.0])
    assert x.numpy().tolist() == x.tolist() == [1.0, 2.0]
    assert (x.sum().item(), float(x[1]), bool(x[0] > 0), len(x)) == (3.0, 2.0, True, 2)
    assert [float(row) for row in x] == [1.0, 2.0]


def test_numbers_are_told_apart_by_kind_and_sign(rt: tn.EagerRuntime) -> None:
    x = rt.constant(np.array([1, 2], "int32"))
    assert [(x * n).dtype for n in (1, 1.0, True)] == ["int32", "float64", "int32"]
    y = rt.constant([1.0, -1.0])
    assert np.signbit((y * 0.0).numpy()).tolist() == [False, True]
    assert np.signbit((y * -0.0).numpy()).tolist() == [True, False]


def test_an_axis_is_not_the_bool_that_equals_it(rt: tn.EagerRuntime) -> None:
    x = rt.constant(X)
    assert x.sum(axis=1).shape == (2,)
    with pytest.raises(tn.TenferroError, match="axis True is not an integer"):
        x.sum(axis=True)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.asarray(x),
        lambda x: tn.Tensor(x),
        lambda x: tn.jit(lambda y: y * 2, executor="numpy")(x),
        lambda x: tn.grad(lambda y: tn.sum(y * x))(X),
        lambda x: np.from_dlpack(x),
        lambda x: tn.TracedTensor.constant(x),
        lambda x: tn.TracedTensor.input((2, 3)) * x,
        lambda x: x * tn.TracedTensor.input((2, 3)),
        lambda x: tn.sin(tn.TracedTensor.input((2, 3))) + tn.sin(x),
        lambda x: tn.jit(lambda y: y * x, executor="numpy")(X),
        lambda x: tn.Tensor([x, x]),
    ],
)
def test_what_would_lose_the_record_of_a_tracked_tensor_is_refused(
    rt: tn.EagerRuntime, f: Callable[[Any], Any]
) -> None:
    with pytest.raises(ADError, match=r"f64\[2,3\]: it is tracked by an eager runtime, and its"):
        f(rt.variable(X))
    f(rt.variable(X).detach())
    f(rt.constant(X))


def test_a_program_takes_untracked_tensors(rt: tn.EagerRuntime) -> None:
    x = tn.TracedTensor.input((2, 3), name="x")
    program = tn.GraphCompiler().compile([x * 2])
    executor = tn.GraphExecutor(tn.NumpyBackend())
    (y,) = executor.run(program, {x: rt.constant(X)})
    assert type(y) is tn.Tensor
    with pytest.raises(BindingError, match="it is tracked by an eager runtime"):
        executor.run(program, {x: rt.variable(X)})


def test_a_constant_is_captured_while_tracing(rt: tn.EagerRuntime) -> None:
    c = rt.constant(X)
    for f in (lambda x: tn.sum(c * x), lambda x: tn.sum(x * c)):
        gradient = tn.grad(f)(X)
        assert type(gradient) is tn.Tensor
        np.testing.assert_array_equal(gradient.numpy(), X)


def test_tensors_of_two_runtimes_do_not_mix(rt: tn.EagerRuntime) -> None:
    x, y = rt.variable(X), tn.EagerRuntime().variable(X)
    for f in (lambda: x + y, lambda: tn.matmul(x, y.T), lambda: rt.constant(y)):
        with pytest.raises(ContextMismatch, match=r"belongs to another EagerRuntime; make both"):
            f()


def test_other_objects_are_refused(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + object()
    with pytest.raises(DTypeError, match="add: takes arrays and numbers, got EagerTensor, object"):
        tn.add(x, object())
    with pytest.raises(ShapeError, match="which do not broadcast"):
        x + np.ones(7)
    with pytest.raises(ShapeError, match="which do not broadcast"):
        x + np.ones(7)  # nothing wrong is remembered


def test_detached_values_are_constants(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)
    y = (x * 2).detach()
    assert not y.tracked
    (dx,) = rt.grad(tn.sum(x * y), [x])
    np.testing.assert_array_equal(dx.numpy(), 2 * X)


def test_tensors_leave_a_runtime_only_when_detached(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)
    with pytest.raises(DeviceError, match=r"to_device: f64\[2,3\] is tracked by a runtime"):
        x.to_device("host")
    assert type(x.detach().to_device("host")) is tn.Tensor
    assert x.detach().to_device("xla").placement != "host"
