"""Fragments: local nodes, external references, and what a builder refuses."""

import re
from typing import Any

import pytest

from tenferro.core import (
    PRIMAL,
    External,
    FragmentBuilder,
    Linear,
    Local,
    OpNode,
    ValNode,
    input_key,
    op_key,
)
from tenferro.errors import GraphError
from tests.core.plain_ops import PlainOp, Split
from tests.toy import ADD, EXP, MUL, Toy, real
from tests.work import tracked_objects


def builder() -> FragmentBuilder[Toy]:
    return FragmentBuilder()


def test_a_fragment_owns_its_nodes_in_the_order_they_were_added() -> None:
    b = builder()
    x = b.input("x")
    (y,) = b.add(EXP, [x], site="user.py:1")
    (z,) = b.add(MUL, [y, x])
    fragment = b.build([z])
    assert fragment.vals == (ValNode(x, None), ValNode(y, (0, 0)), ValNode(z, (1, 0)))
    assert fragment.ops == (
        OpNode(EXP, (Local(0),), (1,), PRIMAL, op_key(EXP, (x,))),
        OpNode(MUL, (Local(1), Local(0)), (2,), PRIMAL, op_key(MUL, (y, x))),
    )
    assert (fragment.inputs, fragment.outputs) == ((0,), (2,))
    assert (fragment.input_keys, fragment.output_keys) == ((x,), (z,))
    assert fragment.key(1) is y


def test_a_value_of_another_fragment_is_an_external_reference() -> None:
    first = builder()
    x = first.input("x")
    (y,) = first.add(EXP, [x])
    parent = first.build([y])
    second: FragmentBuilder[Toy] = FragmentBuilder(parents=[parent])
    (z,) = second.add(MUL, [x, y])
    fragment = second.build([z])
    assert fragment.ops[0].inputs == (External(x), External(y))
    assert fragment.parents == (parent,)
    assert (second.owns(z), second.owns(y)) == (True, False)


def test_an_application_is_not_repeated() -> None:
    b = builder()
    x = b.input("x")
    assert b.add(EXP, [x]) == b.add(EXP, [x])
    assert len(b.build([]).ops) == 1


def test_an_application_in_another_mode_is_another_node() -> None:
    b = builder()
    a, x = b.input("a"), b.input("x")
    b.add(MUL, [a, x])
    b.add(MUL, [a, x], Linear((False, True)))
    b.add(MUL, [a, x], Linear((True, False)))
    assert len(b.build([]).ops) == 3


def test_an_op_may_have_several_outputs() -> None:
    b: FragmentBuilder[Split] = FragmentBuilder()
    first, second = b.add(Split(2), [b.input("x")])
    fragment = b.build([second, first])
    assert fragment.ops[0].outputs == (1, 2)
    assert [val.producer for val in fragment.vals] == [None, (0, 0), (0, 1)]
    assert fragment.outputs == (2, 1)


def test_an_output_may_be_given_twice_or_be_an_input() -> None:
    b = builder()
    x = b.input("x")
    assert b.build([x, x]).outputs == (0, 0)
    assert str(b.build([x, x])) == "fragment(%0 = x) {\n  return %0, %0\n}"


def test_a_fragment_prints_modes_sites_and_external_names() -> None:
    b = builder()
    dx = b.input("dx")
    outside = op_key(EXP, (input_key(real("x")),)).output(0)
    (y,) = b.add(MUL, [outside, dx], Linear((False, True)), site="user.py:12")
    assert str(b.build([y])) == (
        "fragment(%0 = dx) {\n"
        "  %1 = mul @exp(x), %0  linear[fixed,active]  # user.py:12\n"
        "  return %1\n"
        "}"
    )


def test_a_fragment_prints_several_outputs_and_ops_without_operands() -> None:
    b: FragmentBuilder[PlainOp] = FragmentBuilder()
    (pair,) = b.add(PlainOp("pair", n_inputs=0), [])
    b.add(Split(2), [pair])
    assert str(b.build([])) == "fragment() {\n  %0 = pair\n  %1, %2 = split[2] %0\n  return\n}"


def test_local_ids_are_those_of_this_fragment_only() -> None:
    b = builder()
    x = b.input("x")
    (y,) = b.add(EXP, [x])
    fragment = b.build([y])
    assert (fragment.local_id(x), fragment.local_id(y)) == (0, 1)
    foreign = op_key(EXP, (y,)).output(0)
    message = re.escape("fragment: Derived(exp, slot=0) is not a value of this fragment")
    with pytest.raises(GraphError, match=f"^{message}$"):
        fragment.local_id(foreign)
    with pytest.raises(GraphError, match=f"^{message}$"):
        b.build([foreign])


def test_an_input_declared_twice_is_refused() -> None:
    b = builder()
    b.input("x")
    with pytest.raises(GraphError, match=r"^fragment: input 'x' is declared twice$"):
        b.input("x")


def test_a_wrong_number_of_operands_is_refused() -> None:
    b = builder()
    x = b.input("x")
    with pytest.raises(GraphError, match=r"^add: takes 2 operands, got 3$"):
        b.add(ADD, [x, x, x])


def test_an_op_may_take_any_number_of_operands() -> None:
    b: FragmentBuilder[PlainOp] = FragmentBuilder()
    x = b.input("x")
    b.add(PlainOp("concatenate", n_inputs=None), [x, x, x])
    assert len(b.build([]).ops[0].inputs) == 3


def test_an_active_mask_of_another_length_is_refused() -> None:
    b = builder()
    x = b.input("x")
    with pytest.raises(GraphError, match=r"^add: active mask has 1 entry for 2 operands$"):
        b.add(ADD, [x, x], Linear((True,)))


def test_an_op_without_outputs_is_refused() -> None:
    b: FragmentBuilder[PlainOp] = FragmentBuilder()
    message = r"^discard: has no outputs; a node of a graph makes at least one value$"
    with pytest.raises(GraphError, match=message):
        b.add(PlainOp("discard", n_outputs=0), [b.input("x")])


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ("x", r"^exp: takes a list of operands, got a str$"),
        ([("x",)], r"^exp: an operand is a tuple of values, as add returns it; write \(y,\) = "),
        ([3.0], r"^exp: 3\.0 is not a value of a graph$"),
    ],
)
def test_what_is_not_a_list_of_values_is_not_operands(operands: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        builder().add(EXP, operands)


def test_the_class_of_an_op_is_not_an_op() -> None:
    b = builder()
    message = r"^add: takes an op, got the class Toy; write an op of it$"
    with pytest.raises(GraphError, match=message):
        b.add(Toy, [b.input("x")])  # type: ignore[arg-type]


def test_outputs_are_a_list_of_values() -> None:
    b = builder()
    y = b.add(EXP, [b.input("x")])
    with pytest.raises(GraphError, match=r"^fragment: outputs must be a list of values, got a "):
        b.build(y[0])  # type: ignore[arg-type]
    with pytest.raises(GraphError, match=r"^fragment: an output is a tuple of values, as add "):
        b.build([y])  # type: ignore[list-item]
    assert b.build(y).output_keys == y


def test_fragments_are_compared_by_identity() -> None:
    assert builder().build([]) != builder().build([])


def test_a_fragment_holds_nothing_for_each_node_but_the_node() -> None:
    def grow() -> FragmentBuilder[Toy]:
        b = builder()
        x = value = b.input("x")
        for _ in range(1_000):
            (value,) = b.add(MUL, [value, x])  # type: ignore[assignment]
        return b

    grow().build([])
    growing, count = tracked_objects(grow)
    assert count < 3_050  # what nodes are without a fragment
    _, count = tracked_objects(lambda: growing.build([]))
    assert count < 10


def test_local_ids_of_some_values_are_those_of_all() -> None:
    b = builder()
    x = b.input("x")
    (y,) = b.add(EXP, [x])
    (z,) = b.add(MUL, [y, x])
    fragment = b.build([z])
    assert fragment.local_ids([z, x, z]) == {x: 0, z: 2}


def test_an_input_is_active_if_it_is_declared_so_and_a_node_if_its_mode_says_so() -> None:
    b = builder()
    x, dx = b.input("x"), b.input("dx", active=True)
    (y,) = b.add(EXP, [x])
    (dy,) = b.add(MUL, [y, dx], Linear((False, True)))
    assert [b.is_active(key, False) for key in (x, dx, y, dy)] == [False, True, False, True]
    assert not b.is_active(input_key("elsewhere"), False)
