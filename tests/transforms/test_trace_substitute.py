from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.core import KeyEmitter
from tenferro.ops import shape_context
from tenferro.transforms import substitute_keys
from tests.work import calls_of

x, y = (tn.TracedTensor.input((2,), name=name) for name in "xy")
CTX = shape_context()


def test_a_value_is_replaced_wherever_it_is_read() -> None:
    (replaced,) = substitute_keys([(tn.sin(x) * x).key], {x.key: y.key}, CTX)
    assert replaced is not None
    program = tn.GraphCompiler().compile([tn.TracedTensor(replaced)])
    assert [declared.name for declared in program.inputs] == ["y"]
    value = np.array([0.5, 1.0])
    (result,) = tn.GraphExecutor(tn.NumpyBackend()).run(program, {y: value})
    np.testing.assert_allclose(np.asarray(result), np.sin(value) * value)


def test_what_reads_no_replaced_value_stays_the_same_node() -> None:
    kept, none = substitute_keys([tn.sin(y).key, None], {x.key: y.key}, CTX)
    assert kept is tn.sin(y).key
    assert none is None


def test_a_value_in_the_middle_may_be_replaced() -> None:
    middle = tn.sin(x)
    (replaced,) = substitute_keys([(middle * 2).key], {middle.key: y.key}, CTX)
    assert replaced is not None
    program = tn.GraphCompiler().compile([tn.TracedTensor(replaced)])
    assert [declared.name for declared in program.inputs] == ["y"]
    assert [step.op.name for step in program.exec_program.instructions] == [
        "constant",
        "broadcast_in_dim",
        "multiply",
    ]


def test_long_chains_are_no_problem() -> None:
    value = x
    for _ in range(20_000):
        value = tn.sin(value)
    (replaced,) = substitute_keys([value.key], {x.key: y.key}, CTX)
    assert replaced is not value.key


Function = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("nest", "bound"),
    [(tn.grad, 1.0), (lambda inner: lambda x: tn.grad(inner)(x) * x, 4.0)],
    ids=["grad of grad", "grad times x"],
)
def test_nesting_does_not_emit_the_graph_once_for_each_level(
    nest: Callable[[Function], Function], bound: float
) -> None:
    """Levels that grow as a square sum up to a third of their number times the last."""
    function: Function = lambda x: tn.sin(x) * tn.exp(x * x)  # noqa: E731
    for _ in range(8):
        function = nest(function)
    program, emitted = calls_of(
        KeyEmitter.emit_all,
        lambda: tn.make_program(function, tn.TensorSpec((), "float64")),
        caller="_rewritten",
    )
    assert emitted <= bound * len(program.exec_program.instructions)
