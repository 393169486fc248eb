from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.core import Derived, Input
from tenferro.transforms import CapturedArray, capture

BIG = 2000


def test_a_small_array_is_a_constant_by_dtype_shape_and_bytes() -> None:
    one = capture(np.array([1.0, 2.0]))
    assert isinstance(one, Derived)
    assert capture(tn.Tensor([1.0, 2.0])) is one
    for other in (
        np.float32([1, 2]),
        np.array([1.0, 3.0]),
        np.array([[1.0, 2.0]]),
        np.array([1, 2]),
    ):
        assert capture(other) is not one
    assert capture(np.array(0.0)) is not capture(np.array(-0.0))


def test_a_large_array_is_one_input_with_a_default() -> None:
    array = np.arange(float(BIG))
    key = capture(array)
    assert isinstance(key, Input)
    assert isinstance(key.key, CapturedArray)
    assert capture(array) is key
    assert capture(array.copy()) is not key
    np.testing.assert_array_equal(np.asarray(key.key.tensor), array)
    t = tn.Tensor(array)
    assert capture(t) is capture(t)


def test_the_captured_values_are_those_of_the_moment() -> None:
    array = np.zeros(BIG)
    key = capture(array)
    array[0] = 1.0
    assert isinstance(key, Input)
    assert isinstance(key.key, CapturedArray)
    assert key.key.tensor[0].item() == 0.0
    again = capture(array)
    assert again is not key
    assert capture(array) is again


def test_an_array_that_cannot_be_written_may_change_by_an_earlier_view() -> None:
    array = np.zeros(BIG)
    view = array[:]
    array.setflags(write=False)
    key = capture(array)
    view[0] = 1.0
    assert capture(array) is not key


@pytest.mark.parametrize("read_only", [np.broadcast_to, lambda a, shape: a[::2]])
def test_a_view_that_cannot_be_written_may_still_change(read_only: object) -> None:
    array = np.zeros(BIG)
    view = read_only(array, (2, BIG))  # type: ignore[operator]
    view.setflags(write=False)
    key = capture(view)
    assert capture(view) is key
    array[0] = 1.0
    assert capture(view) is not key


def test_a_captured_array_is_freed_with_its_last_graph() -> None:
    array = np.zeros(BIG)
    key = capture(array)
    assert isinstance(key, Input)
    held = weakref.ref(key.key)
    del key
    gc.collect()
    assert held() is None


def test_a_captured_input_is_bound_by_default_and_may_be_bound() -> None:
    array = np.ones(BIG)
    x = tn.TracedTensor.input((), name="x")
    program = tn.GraphCompiler().compile([tn.sum(x * array)])
    executor = tn.GraphExecutor(tn.NumpyBackend())
    assert executor.run(program, {x: 2.0})[0].item() == 2.0 * BIG
    name = program.inputs[1].name
    assert name.startswith("captured")
    assert executor.run(program, {x: 2.0, name: array * 3})[0].item() == 6.0 * BIG


def test_a_program_made_twice_has_the_same_bytes() -> None:
    a, b = np.arange(float(BIG)), np.full(BIG, 2.0)
    spec = tn.TensorSpec((BIG,))

    def f(x: Any) -> Any:
        looped = tn.scan(lambda c, s: (c * a + b * s, None), x, np.arange(3.0))[0]
        return tn.sum(looped * b + a)

    for function in (f, tn.grad(f)):
        first = tn.make_program(lambda x, g=function: g(x), spec)
        between = tn.make_program(lambda x: b * x + a, spec)
        second = tn.make_program(lambda x, g=function: g(x), spec)
        assert tn.dumps(first) == tn.dumps(second)
        assert [each.name for each in first.inputs] == ["x", "captured0", "captured1"]
        assert [each.name for each in between.inputs] == ["x", "captured0", "captured1"]
    named = tn.TracedTensor.input((BIG,), "float64", name="captured0")
    program = tn.GraphCompiler().compile([named * a])
    assert [each.name for each in program.inputs] == ["captured0", "captured0_1"]
