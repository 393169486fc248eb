"""Arguments of transforms: fresh, and replaced once, not once for each level of nesting."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import tenferro as tn
from tenferro.core import GlobalValKey, KeyEmitter
from tenferro.ops import Argument, shape_context
from tenferro.runtime import TraceContext
from tenferro.transforms import argument, with_arguments_replaced, without_arguments
from tenferro.transforms import substitute_keys as substituted

CTX = shape_context()
Function = Callable[[Any], Any]


def vector(name: str = "x") -> tn.TracedTensor:
    return tn.TracedTensor.input((2,), name=name)


def new_argument(value: tn.TracedTensor) -> tn.TracedTensor:
    key = argument(value.key)
    assert key is not None
    return tn.TracedTensor(key)


def test_an_argument_is_unlike_the_value_passed_and_unlike_any_other_argument() -> None:
    x = vector()
    first, second = new_argument(x), new_argument(x)
    assert len({x.key, first.key, second.key}) == 3
    assert first.meta is x.meta


def test_a_constant_is_not_made_an_argument_for_simplifications_must_see_it() -> None:
    assert argument((vector() * 0 + 1).key) is not None
    assert argument(tn.TracedTensor.constant(2.0).key) is None


def test_settled_values_read_what_was_passed_through_all_levels_at_once() -> None:
    x = vector()
    outer = new_argument(tn.sin(x))
    inner = new_argument(tn.exp(outer))
    (result,) = without_arguments([(inner - outer).key])
    assert result is (tn.exp(tn.sin(x)) - tn.sin(x)).key


def test_a_derivative_goes_through_an_argument_that_is_done() -> None:
    x = vector()
    (dx,) = tn.AdContext().grad(tn.sum(new_argument(x) * 3.0), [x])
    program = tn.GraphCompiler().compile([dx])
    assert tn.GraphExecutor(tn.NumpyBackend()).run(program, {})[0].tolist() == [3.0, 3.0]


def needed(*outputs: tn.TracedTensor) -> tuple[list[GlobalValKey], list[Any]]:
    keys = [output.key for output in outputs]
    return keys, tn.core.resolve_keys().topo_order(keys)[0]


def test_a_value_that_is_read_only_as_one_argument_is_left_in_its_place() -> None:
    x = vector()
    with TraceContext() as context:
        context.arguments = [((a := new_argument(x)).key, x)]
    keys, ops = needed(tn.sin(a) * a)
    assert with_arguments_replaced(keys, ops) == keys


def test_a_value_that_is_read_as_an_argument_and_otherwise_is_settled() -> None:
    x = vector()
    a, b = new_argument(x), new_argument(x)
    with TraceContext() as context:
        context.arguments = [(a.key, x), (b.key, x)]
        keys, ops = needed(tn.sin(a) - x)
        assert with_arguments_replaced(keys, ops) == keys  # the function is still being traced
    assert with_arguments_replaced(keys, ops) == [(tn.sin(x) - x).key]
    assert with_arguments_replaced(*needed(tn.sin(a) - b)) == [(tn.sin(x) - x).key]


def test_an_open_argument_is_kept_by_whoever_rewrites_around_it() -> None:
    x, y = vector("x"), vector("y")
    a = new_argument(x)
    assert substituted([(a - y).key], {y.key: x.key}, CTX) == [(a - x).key]
    assert without_arguments([(a - y).key]) == [(x - y).key]  # a program has no arguments


# -------------------------------------------------------------------- work in nested transforms


class Counter(KeyEmitter):
    """Counts what is emitted anew where values are replaced."""

    emitted = 0

    def emit(self, op: Any, *operands: GlobalValKey) -> GlobalValKey:
        Counter.emitted += 1
        return super().emit(op, *operands)


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> type[Counter]:
    module = sys.modules["tenferro.transforms.trace"]  # the package has a function of that name
    monkeypatch.setattr(module, "KeyEmitter", Counter)
    Counter.emitted = 0
    return Counter


def nested(derivative: Callable[[Function], Function], order: int) -> Function:
    function: Function = lambda x: tn.sin(x) * tn.exp(x * x)  # noqa: E731
    for _ in range(order):
        function = derivative(function)
    return function


def by_jvp(function: Function) -> Function:
    return lambda x: tn.jvp(function, (x,), (1.0,))[1]


@pytest.mark.parametrize("derivative", [tn.grad, by_jvp], ids=["grad", "jvp"])
def test_a_nest_is_emitted_anew_once_and_not_once_for_each_level(
    derivative: Callable[[Function], Function], counter: type[Counter]
) -> None:
    for order in (1, 2, 4, 6):
        counter.emitted = 0
        program = tn.make_program(
            nested(derivative, order),
            tn.TensorSpec((), "float64"),
            options=tn.OptimizerOptions.none(),
        )
        assert counter.emitted <= 1.5 * len(program.exec_program.instructions)


def test_nothing_is_emitted_anew_inside_a_nest(counter: type[Counter]) -> None:
    x = tn.TracedTensor.input((), name="x")
    y = nested(tn.grad, 5)(x)
    assert counter.emitted == 0
    assert any(isinstance(op.primitive, Argument) for op in needed(y)[1])


def test_a_function_that_reads_its_argument_beside_a_derivative_is_shared_between_levels() -> None:
    def step(function: Function) -> Function:
        return lambda x: function(x) + tn.grad(function)(x)

    function: Function = tn.sin
    sizes = []
    for _ in range(8):
        function = step(function)
        program = tn.make_program(function, tn.TensorSpec(()))
        sizes.append(len(program.exec_program.instructions))
    assert sizes[-1] <= 2 * sizes[3] + 4  # linear: without sharing it doubles at each level
