"""AD architecture, section IV: f(x) = exp(a · x), step by step, on the toy ops."""

import math

import pytest

from tenferro.core import (
    External,
    FragmentBuilder,
    Linear,
    Local,
    compile_graph,
    differentiate,
    input_key,
    materialize_merge,
    op_key,
    resolve,
    transpose,
)
from tests.toy import CTX, EXP, MUL, Toy, real
from tests.toy_graphs import run, text_of

FIXED_ACTIVE = Linear((False, True))
ACTIVE_FIXED = Linear((True, False))
X, A = real("x"), real("a")


class Example:
    """The values of steps 1, 2 and 4, under the document's names."""

    def __init__(self) -> None:
        builder: FragmentBuilder[Toy] = FragmentBuilder()
        self.p0, self.p1 = builder.input(X), builder.input(A)
        (self.p2,) = builder.add(MUL, [self.p0, self.p1])
        (self.p3,) = builder.add(EXP, [self.p2])
        self.f0 = builder.build([self.p3])
        self.l1 = differentiate(resolve([self.f0]), [self.p3], [X], ctx=CTX)
        self.t1 = transpose(self.l1, ctx=CTX)


@pytest.fixture
def example() -> Example:
    return Example()


def test_section_iv_step_1_build_makes_a_primal_fragment(example: Example) -> None:
    assert str(example.f0) == (
        "fragment(%0 = x, %1 = a) {\n"
        "  %2 = mul %0, %1\n"
        "  %3 = exp %2\n"
        "  return %3\n"
        "}"
    )  # fmt: skip


def test_section_iv_step_1_identities_are_structural(example: Example) -> None:
    x, a = input_key(X), input_key(A)
    product = op_key(MUL, (x, a)).output(0)
    assert (example.p0, example.p1) == (x, a)
    assert example.p2 is product
    assert example.p3 is op_key(EXP, (product,)).output(0)


def test_section_iv_step_2_differentiate_refers_to_primal_values(example: Example) -> None:
    assert text_of(example.l1) == (
        "fragment(%0 = d(x)) {\n"
        "  %1 = mul %0, @a  linear[active,fixed]\n"
        "  %2 = mul @exp(mul(x, a)), %1  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )


def test_section_iv_step_2_t0_t1_t2_are_local_and_p1_p3_external(example: Example) -> None:
    fragment = example.l1.fragment
    assert [val.producer for val in fragment.vals] == [None, (0, 0), (1, 0)]
    assert [node.inputs for node in fragment.ops] == [
        (Local(0), External(example.p1)),
        (External(example.p3), Local(1)),
    ]
    assert [node.mode for node in fragment.ops] == [ACTIVE_FIXED, FIXED_ACTIVE]


def test_section_iv_step_2_no_merge_has_happened(example: Example) -> None:
    owned = {val.key for val in example.l1.fragment.vals}
    assert owned.isdisjoint({val.key for val in example.f0.vals})
    assert example.l1.fragment.parents == (example.f0,)


def test_section_iv_step_3_resolve_is_enough_to_trace_back_to_x(example: Example) -> None:
    (t2,) = example.l1.output_keys
    assert t2 is not None
    order, inputs = resolve([example.f0, example.l1.fragment]).topo_order([t2])
    assert [str(op.primitive) for op in order] == ["mul", "exp", "mul", "mul"]
    assert {example.p0, example.p1} < set(inputs)


def test_section_iv_step_4_transpose_reverses_the_active_flow(example: Example) -> None:
    assert text_of(example.t1) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = mul @exp(mul(x, a)), %0  linear[fixed,active]\n"
        "  %2 = mul @a, %1  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )


def test_section_iv_step_5_materializes_only_when_compiling(example: Example) -> None:
    view = resolve([example.f0, example.t1.fragment])
    (c2,) = example.t1.output_keys
    assert c2 is not None
    graph = materialize_merge(view, [example.p3, c2])
    assert text_of(graph) == (
        "graph(%0 = x, %1 = a, %2 = ct[0]) {\n"
        "  %3 = mul %0, %1\n"
        "  %4 = exp %3\n"
        "  %5 = mul %4, %2  linear[fixed,active]\n"
        "  %6 = mul %1, %5  linear[fixed,active]\n"
        "  return %4, %6\n"
        "}"
    )
    assert str(compile_graph(graph)) == (
        "program(%0, %1, %2) {\n"
        "  %3 = mul %0, %1\n"
        "  %4 = exp %3\n"
        "  %5 = mul %4, %2\n"
        "  %6 = mul %1, %5\n"
        "  return %4, %6\n"
        "}"
    )


def test_section_iv_resulting_formulas(example: Example) -> None:
    x, a, dx, ct = 0.3, 1.7, 0.5, 0.9
    y = math.exp(a * x)
    forward = resolve([example.f0, example.l1.fragment])
    reverse = resolve([example.f0, example.t1.fragment])
    assert run(forward, [example.p3], {X: x, A: a}) == [y]
    dy = run(forward, example.l1.output_keys, {X: x, A: a}, seed=dx)
    assert dy == pytest.approx([y * a * dx])
    ct_x = run(reverse, example.t1.output_keys, {X: x, A: a}, seed=ct)
    assert ct_x == pytest.approx([a * y * ct])


def test_section_iv_higher_order_differentiates_the_resolved_view_again(example: Example) -> None:
    (t2,) = example.l1.output_keys
    assert t2 is not None
    l2 = differentiate(resolve([example.f0, example.l1.fragment]), [t2], [X], ctx=CTX)
    owned = {val.key for val in l2.fragment.vals}
    assert owned.isdisjoint(val.key for val in (*example.f0.vals, *example.l1.fragment.vals))
    x, a = 0.3, 1.7
    values = run(resolve([example.f0, l2.fragment]), l2.output_keys, {X: x, A: a})
    assert values == pytest.approx([a * a * math.exp(a * x)])
