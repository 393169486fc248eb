"""Writing rules and lowerings with ordinary array functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.core import KeyEmitter
from tenferro.errors import TracingError
from tenferro.extension import apply, inline
from tenferro.ops import MUL, SIN, shape_context
from tests.spec.extensions import context, inputs, native, pair
from tests.testing.families import Pair, PairRule, X, Y, rule_set


def emitter() -> Any:
    return KeyEmitter(shape_context())


def test_what_the_function_computes_is_emitted_on_the_values() -> None:
    x, y = inputs("x", "y")
    at = emitter()
    expected = at.emit(MUL, at.emit(SIN, x.key), y.key)
    assert inline(at, lambda a, b: tn.sin(a) * b, x.key, y.key) is expected


def test_results_are_one_value_or_a_tuple_of_them() -> None:
    (x,) = inputs("x")
    assert inline(emitter(), lambda a: a, x.key) is x.key
    one, none, other = inline(emitter(), lambda a: (tn.sin(a), None, a), x.key)
    assert (one, none, other) == (emitter().emit(SIN, x.key), None, x.key)
    assert inline(emitter(), lambda a: [a], x.key) == (x.key,)
    assert inline(emitter(), lambda: ()) == ()


def test_symbolic_zeros_stay_none() -> None:
    (x,) = inputs("x")
    assert inline(emitter(), lambda a, b: (b is None, a)[1], x.key, None) is x.key
    assert inline(emitter(), lambda a: None, x.key) is None


def test_small_arrays_and_numbers_are_constants() -> None:
    (x,) = inputs("x", shape=(2, 3))
    program = tn.GraphCompiler().compile(
        [tn.TracedTensor(inline(emitter(), lambda a: 2 * a + X, x.key))], inputs=[x]
    )
    np.testing.assert_allclose(native().run(program, {x: Y})[0], 2 * Y + X)


def test_a_value_of_elsewhere_is_refused() -> None:
    x, y = inputs("x", "y")
    with pytest.raises(TracingError, match=r"inline: the function reads .*y.*; pass it as a value"):
        inline(emitter(), lambda a: a * y, x.key)
    large = np.zeros((300, 300))
    (z,) = inputs("z", shape=(300, 300))
    with pytest.raises(TracingError, match="not among its arguments"):
        inline(emitter(), lambda a: a + large, z.key)


def test_extension_ops_can_be_emitted() -> None:
    x, y = inputs("x", "y")
    first, second = inline(emitter(), lambda a, b: apply(Pair(), a, b), x.key, y.key)
    assert [first, second] == [out.key for out in pair(x, y)]


@pytest.mark.parametrize("executor", ["xla", "native"])
def test_rules_hold_where_data_decide_the_sizes(executor: str) -> None:
    def f(x: Any, y: Any, rows: Any) -> Any:
        product, sine = pair(tn.dynamic_truncate(x, rows), tn.dynamic_truncate(y, rows))
        return tn.sum(product * sine)

    def expected(rows: int) -> Any:
        gradient = 2 * Y * (np.sin(X) + X * np.cos(X))
        return np.where(np.arange(2)[:, None] < rows, gradient, 0)

    chosen = native() if executor == "native" else executor
    gradient = tn.jit(tn.grad(f, ad_context=context(rule_set(PairRule()))), executor=chosen)
    for rows in (0, 1, 2):
        np.testing.assert_allclose(gradient(X, Y * np.ones(3), np.int64(rows)), expected(rows))
