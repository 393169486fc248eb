"""Graphs in the DOT language."""

from tenferro.core import input_key, materialize_merge, op_key, resolve_keys, to_dot
from tests.core.plain_ops import PlainOp, Split
from tests.toy import EXP, MUL


def test_inputs_are_boxes_ops_ellipses_and_outputs_doubled() -> None:
    x, y = input_key("x"), input_key("y")
    product = op_key(MUL, (x, y)).output(0)
    graph = materialize_merge(resolve_keys(), [op_key(EXP, (product,)).output(0), y])
    assert to_dot(graph) == (
        "digraph tenferro {\n"
        "  rankdir=TB;\n"
        '  v0 [shape=box, label="x"];\n'
        '  v1 [shape=box, label="y", peripheries=2];\n'
        '  v2 [shape=ellipse, label="mul"];\n'
        "  v0 -> v2;\n"
        "  v1 -> v2;\n"
        '  v3 [shape=ellipse, label="exp", peripheries=2];\n'
        "  v2 -> v3;\n"
        "}"
    )


def test_an_edge_from_a_further_output_has_its_slot() -> None:
    first, second = op_key(Split(2), (input_key("x"),)).outputs
    graph = materialize_merge(resolve_keys(), [op_key(MUL, (first, second)).output(0)])
    assert to_dot(graph).splitlines()[6:8] == ["  v1 -> v2;", "  v1 -> v2 [label=1];"]


def test_an_op_any_of_whose_outputs_is_asked_for_is_doubled() -> None:
    _, second = op_key(Split(2), (input_key("x"),)).outputs
    graph = materialize_merge(resolve_keys(), [second])
    assert '  v1 [shape=ellipse, label="split[2]", peripheries=2];' in to_dot(graph)


def test_labels_are_quoted_and_may_be_given() -> None:
    graph = materialize_merge(
        resolve_keys(), [op_key(PlainOp('say "a\\b"'), (input_key("x"),)).output(0)]
    )
    assert r'label="say \"a\\b\""' in to_dot(graph)
    assert 'label="an op"' in to_dot(graph, label=lambda op: "an op")
