"""AD architecture, section IV: f(x) = exp(a · x), step by step, on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tenferro.core import (
    External,
    FragmentBuilder,
    Linear,
    Local,
    differentiate,
    op_key,
    resolve,
    transpose,
)
from tenferro.core import materialize_merge as merge
from tenferro.ops import EXP, MUL
from tenferro.shape import TensorInput, TensorMeta
from tests.graphs import CTX, run
from tests.toy_graphs import text_of

SCALAR = TensorMeta.of("f64", ())


class Example:
    """The values of steps 1, 2 and 4, under the document's names."""

    def __init__(self) -> None:
        builder: FragmentBuilder[Any] = FragmentBuilder()
        self.p0 = builder.input(TensorInput("x", SCALAR))
        self.p1 = builder.input(TensorInput("a", SCALAR))
        (self.p2,) = builder.add(MUL, [self.p0, self.p1])
        (self.p3,) = builder.add(EXP, [self.p2])
        self.f0 = builder.build([self.p3])
        self.l1 = differentiate(resolve([self.f0]), [self.p3], [self.p0], ctx=CTX)
        self.t1 = transpose(self.l1, ctx=CTX)


@pytest.fixture
def example() -> Example:
    return Example()


def test_section_iv_step_1_build_makes_a_primal_fragment(example: Example) -> None:
    assert str(example.f0) == (
        "fragment(%0 = x, %1 = a) {\n  %2 = multiply %0, %1\n  %3 = exponential %2\n  return %3\n}"
    )
    assert example.p3 is op_key(EXP, (op_key(MUL, (example.p0, example.p1)).output(0),)).output(0)


def test_section_iv_step_2_differentiate_refers_to_primal_values(example: Example) -> None:
    assert text_of(example.l1) == (
        "fragment(%0 = d(x)) {\n"
        "  %1 = multiply @a, %0  linear[fixed,active]\n"
        "  %2 = multiply @exponential(multiply(x, a)), %1  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )
    first, second = example.l1.fragment.ops
    assert first.inputs == (External(example.p1), Local(0))
    assert second.inputs == (External(example.p3), Local(1))
    assert first.mode == second.mode == Linear((False, True))


def test_section_iv_step_2_no_merge_has_happened(example: Example) -> None:
    assert [val.producer for val in example.l1.fragment.vals] == [None, (0, 0), (1, 0)]
    assert example.l1.fragment.parents == (example.f0,)


def test_section_iv_step_4_transpose_reverses_the_active_flow(example: Example) -> None:
    assert text_of(example.t1) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = multiply @exponential(multiply(x, a)), %0  linear[fixed,active]\n"
        "  %2 = multiply @a, %1  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )


def test_section_iv_step_5_materializes_only_when_compiling(example: Example) -> None:
    view = resolve([example.f0, example.t1.fragment])
    (c2,) = example.t1.output_keys
    assert c2 is not None
    assert text_of(merge(view, [example.p3, c2])) == (
        "graph(%0 = x, %1 = a, %2 = ct[0]) {\n"
        "  %3 = multiply %0, %1\n"
        "  %4 = exponential %3\n"
        "  %5 = multiply %4, %2  linear[fixed,active]\n"
        "  %6 = multiply %1, %5  linear[fixed,active]\n"
        "  return %4, %6\n"
        "}"
    )


def test_section_iv_resulting_formulas(example: Example) -> None:
    x, a, dx, ct_y = (np.array(number) for number in (0.3, 1.7, 0.9, -1.2))
    (t2,), (c2,) = example.l1.output_keys, example.t1.output_keys
    assert t2 is not None
    assert c2 is not None
    values = {
        example.p0: x,
        example.p1: a,
        example.l1.input_keys[0]: dx,
        example.t1.input_keys[0]: ct_y,
    }
    view = resolve([example.l1.fragment, example.t1.fragment])
    y, dy, ct_x = run(view, [example.p3, t2, c2], values)
    np.testing.assert_allclose(y, np.exp(a * x))
    np.testing.assert_allclose(dy, np.exp(a * x) * a * dx)
    np.testing.assert_allclose(ct_x, a * np.exp(a * x) * ct_y)


def test_section_iv_higher_order_needs_resolve_and_no_merge(example: Example) -> None:
    (t2,) = example.l1.output_keys
    assert t2 is not None
    view = resolve([example.f0, example.l1.fragment])
    l2 = differentiate(view, [t2], [example.p0], ctx=CTX)
    (second,) = l2.output_keys
    assert second is not None
    one, x, a = np.array(1.0), np.array(0.3), np.array(1.7)
    values = {example.p0: x, example.p1: a, example.l1.input_keys[0]: one, l2.input_keys[0]: one}
    (result,) = run(resolve([l2.fragment]), [second], values)
    np.testing.assert_allclose(result, a**2 * np.exp(a * x))
