"""Lists whose entries are traced or eager are arrays, as lists of numbers are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError, ShapeError

LISTS: dict[str, tuple[Callable[..., Any], Any]] = {
    "an argument": (lambda x: tn.sum([x[0] * x[0], x[1]]), 3.0),
    "with an array": (lambda x: tn.sum(x * [x[1], x[0]]), 4.0),
    "on the left": (lambda x: tn.sum([x[1], x[0]] * x), 4.0),
    "with a constant": (lambda x: tn.sum(tn.array([3.0, 4.0]) * [x[1], x[0]]), 10.0),
    "nested, with numbers": (lambda x: tn.sum([[x[0], x[1]], [1, 2]]), 6.0),
    "a tuple": (lambda x: tn.linalg.norm((x[0], x[1])) ** 2, 5.0),
    "with a size": (lambda x: tn.sum([x.shape[0], x[0]]), 3.0),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_traced_values_is_an_array(name: str) -> None:
    function, value = LISTS[name]
    x = np.array([1.0, 2.0])
    for call in (function, tn.jit(function), tn.jit(function, executor="numpy")):
        np.testing.assert_allclose(np.asarray(call(tn.array(x))), value)
    wanted = tn.grad(lambda x: function(x))(x)
    np.testing.assert_allclose(tn.jit(tn.grad(function))(x), wanted)


def test_an_argument_that_is_a_list_is_an_array_of_its_entries() -> None:
    assert tn.jit(tn.sum)([1.0, 2.0]).item() == 3.0
    assert tn.jit(tn.sum)([1, True]).dtype == np.int64
    assert [each.item() for each in tn.grad(tn.sum)([1.0, 2.0])] == [1.0, 1.0]
    x = tn.array([1.0, 2.0], dtype="float32")
    assert tn.jit(lambda x: tn.sum([x[0], 1.0]))(x).dtype == tn.sum([x[0], 1.0]).dtype


def test_a_list_that_is_no_array_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"stack: f64\[2\] and f64\[1\] must have equal shapes"):
        tn.jit(lambda x: tn.sum([[x[0], x[1]], [x[0]]]))(np.ones(2))
    with pytest.raises(DTypeError, match="entries: takes arrays and numbers, got TracedTensor, st"):
        tn.jit(lambda x: tn.sum([x[0], "a"]))(np.ones(2))


def test_a_list_of_eager_values_has_derivatives() -> None:
    runtime = tn.EagerRuntime()
    x = runtime.variable(np.array([1.0, 2.0]))
    tn.sum(x * [x[1] * x[1], x[0]]).backward()
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 5.0])
