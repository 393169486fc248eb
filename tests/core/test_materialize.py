"""Materialization: one concrete graph, each value and op once."""

import pytest

from tenferro.core import (
    FragmentBuilder,
    Linear,
    input_key,
    materialize_merge,
    op_key,
    resolve,
    resolve_keys,
)
from tenferro.errors import UnresolvedValueError
from tests.core.plain_ops import Split
from tests.toy import ADD, EXP, MUL, Toy, real


def test_fragments_that_hold_one_value_are_merged_on_it() -> None:
    first: FragmentBuilder[Toy] = FragmentBuilder()
    (exp_x,) = first.add(EXP, [first.input("x")])
    second: FragmentBuilder[Toy] = FragmentBuilder()
    x = second.input("x")
    (total,) = second.add(ADD, [second.add(EXP, [x])[0], x])
    view = resolve([first.build([exp_x]), second.build([total])])
    graph = materialize_merge(view, [exp_x, total])
    assert [str(op.primitive) for op in graph.ops] == ["exp", "add"]
    assert graph.inputs == (x,)
    assert graph.outputs == (exp_x, total)
    assert graph.vals == (x, exp_x, total)


def test_only_what_the_outputs_need_is_collected() -> None:
    x, y = input_key("x"), input_key("y")
    op_key(EXP, (y,))
    graph = materialize_merge(resolve_keys(), [op_key(EXP, (x,)).output(0)])
    assert graph.inputs == (x,)
    assert len(graph.ops) == 1


def test_nodes_that_differ_in_mode_are_not_merged() -> None:
    a, x = input_key("a"), input_key("x")
    nodes = [op_key(MUL, (a, x)), op_key(MUL, (a, x), Linear((False, True)))]
    graph = materialize_merge(resolve_keys(), [node.output(0) for node in nodes])
    assert graph.ops == tuple(nodes)


def test_declared_inputs_come_first_and_whether_or_not_they_are_reached() -> None:
    x, y, z = input_key("x"), input_key("y"), input_key("z")
    total = op_key(ADD, (x, y)).output(0)
    graph = materialize_merge(resolve_keys(), [total], inputs=[z, y, z])
    assert graph.inputs == (z, y, x)


def test_an_output_may_be_given_twice_or_be_an_input() -> None:
    x = input_key("x")
    graph = materialize_merge(resolve_keys(), [x, x])
    assert (graph.ops, graph.inputs, graph.outputs) == ((), (x,), (x, x))
    assert str(graph) == "graph(%0 = x) {\n  return %0, %0\n}"


def test_an_unresolved_value_is_refused() -> None:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    outputs = builder.add(EXP, [input_key("x")])
    with pytest.raises(UnresolvedValueError, match=r"^resolve: Input\('x'\) is defined in no"):
        materialize_merge(resolve([builder.build(outputs)]), outputs)


def test_all_outputs_of_an_op_are_values_of_the_graph() -> None:
    x = input_key("x")
    parts = op_key(Split(3), (x,))
    graph = materialize_merge(resolve_keys(), [parts.output(1)])
    assert graph.vals == (x, *parts.outputs)


def test_a_graph_prints_like_a_fragment_without_externals() -> None:
    x, dx = input_key(real("x")), input_key("dx")
    parts = op_key(Split(2), (x,), site="user.py:3")
    product = op_key(MUL, (parts.output(1), dx), Linear((False, True))).output(0)
    assert str(materialize_merge(resolve_keys(), [product])) == (
        "graph(%0 = x, %1 = dx) {\n"
        "  %2, %3 = split[2] %0  # user.py:3\n"
        "  %4 = mul %3, %1  linear[fixed,active]\n"
        "  return %4\n"
        "}"
    )
