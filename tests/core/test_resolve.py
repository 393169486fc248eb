"""Views: logical traversal through any number of fragments."""

import re

import pytest

from tenferro.core import (
    Fragment,
    FragmentBuilder,
    GlobalValKey,
    Input,
    input_key,
    op_key,
    require_values,
    resolve,
    resolve_keys,
)
from tenferro.errors import GraphError, UnresolvedValueError
from tests.core.plain_ops import PlainOp, Split
from tests.toy import ADD, EXP, MUL, NEG, Toy


def exp_fragment(value: GlobalValKey, *parents: Fragment[Toy]) -> Fragment[Toy]:
    """A fragment that owns no more than the exponential of a value."""
    builder: FragmentBuilder[Toy] = FragmentBuilder(parents)
    return builder.build(builder.add(EXP, [value]))


@pytest.fixture
def primal() -> Fragment[Toy]:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    x, y = builder.input("x"), builder.input("y")
    (product,) = builder.add(MUL, [x, y])
    return builder.build(builder.add(ADD, [product, x]))


def test_a_definition_is_the_key_itself(primal: Fragment[Toy]) -> None:
    view = resolve([primal])
    for val in primal.vals:
        assert view.resolve_val(val.key) is val.key


def test_parents_are_resolved_through_any_number_of_fragments(primal: Fragment[Toy]) -> None:
    fragment = primal
    for _ in range(10):
        fragment = exp_fragment(fragment.output_keys[0], fragment)
    order, inputs = resolve([fragment]).topo_order(fragment.output_keys)
    assert [str(op.primitive) for op in order] == ["mul", "add", *["exp"] * 10]
    assert [key.key for key in inputs] == ["x", "y"]


class CountedFragment(Fragment[Toy]):
    """A fragment that counts how often its keys are read."""

    reads = 0

    def __init__(self, counted: Fragment[Toy]) -> None:
        self._counted = counted
        super().__init__(counted.keys, counted.nodes, (), counted.output_keys, counted.parents)

    @property  # type: ignore[misc]  # a slot of the base class
    def keys(self) -> tuple[GlobalValKey, ...]:  # type: ignore[override]
        self.reads += 1
        return self._counted.keys

    @keys.setter
    def keys(self, keys: tuple[GlobalValKey, ...]) -> None:
        assert keys == self._counted.keys


def test_a_fragment_shared_by_many_parents_is_read_once(primal: Fragment[Toy]) -> None:
    shared = CountedFragment(primal)
    fragments = [exp_fragment(primal.output_keys[0], shared)]
    for _ in range(40):  # read again on each path, it would be read 2**40 times
        last = fragments[-1]
        fragments.append(exp_fragment(last.output_keys[0], last, last))
    view = resolve([fragments[-1]])
    assert view.resolve_val(primal.output_keys[0]) is primal.output_keys[0]
    assert shared.reads == 1


def test_a_value_that_no_fragment_holds_is_unresolved(primal: Fragment[Toy]) -> None:
    (result,) = primal.output_keys
    dangling = exp_fragment(result)
    message = "resolve: Derived(add, slot=0) is defined in no fragment of this view; "
    message = f"^{re.escape(message)}add its fragment$"
    with pytest.raises(UnresolvedValueError, match=message):
        resolve([dangling]).resolve_val(result)
    with pytest.raises(UnresolvedValueError, match=message):
        resolve([dangling]).topo_order(dangling.output_keys)
    resolve([dangling, primal]).topo_order(dangling.output_keys)


def test_an_unresolved_input_is_named() -> None:
    with pytest.raises(UnresolvedValueError, match=r"^resolve: Input\('x'\) is defined in no"):
        resolve([exp_fragment(input_key("x"))]).topo_order([input_key("x")])


def test_a_view_of_keys_takes_each_at_its_word() -> None:
    value = op_key(NEG, (op_key(EXP, (input_key("x"),)).output(0),)).output(0)
    order, inputs = resolve_keys().topo_order([value])
    assert [str(op.primitive) for op in order] == ["exp", "neg"]
    assert inputs == [input_key("x")]


def test_the_order_has_each_op_once_and_after_what_it_reads() -> None:
    x = input_key("x")
    left = op_key(EXP, (x,)).output(0)
    right = op_key(NEG, (left,)).output(0)
    top = op_key(ADD, (left, right)).output(0)
    order, inputs = resolve_keys().topo_order([top, left, top])
    assert [str(op.primitive) for op in order] == ["exp", "neg", "add"]
    assert inputs == [x]


def test_the_order_follows_the_outputs_and_their_operands_from_left_to_right() -> None:
    x, y = input_key("x"), input_key("y")
    parts = op_key(Split(2), (y,))
    first = op_key(MUL, (parts.output(1), x)).output(0)
    second = op_key(ADD, (parts.output(0), first)).output(0)
    order, inputs = resolve_keys().topo_order([first, second])
    assert [str(op.primitive) for op in order] == ["split[2]", "mul", "add"]
    assert [key.key for key in inputs] == ["y", "x"]


def test_the_walk_does_not_look_behind_leaves() -> None:
    x = input_key("x")
    middle = op_key(EXP, (x,)).output(0)
    top = op_key(NEG, (middle,)).output(0)
    order, inputs = resolve_keys().topo_order([top], leaves=[middle])
    assert [str(op.primitive) for op in order] == ["neg"]
    assert inputs == []
    assert resolve_keys().topo_order([top], leaves=[top]) == ([], [])


def test_a_graph_of_many_paths_is_walked_in_linear_time() -> None:
    value: GlobalValKey = input_key("x")
    for _ in range(100):  # 2**100 paths
        value = op_key(ADD, (value, value)).output(0)
    order, _ = resolve_keys().topo_order([value])
    assert len(order) == 100


def test_an_op_without_operands_needs_no_inputs() -> None:
    constant = op_key(PlainOp("pi", n_inputs=0), ()).output(0)
    order, inputs = resolve_keys().topo_order([constant])
    assert ([str(op.primitive) for op in order], inputs) == (["pi"], [])


def test_views_print_their_fragments(primal: Fragment[Toy]) -> None:
    assert str(resolve([primal, primal])) == f"view of 2 fragments\n{primal}\n{primal}"
    assert str(resolve([])) == "view of 0 fragments"
    assert str(resolve_keys()) == "view of every key"


def test_a_view_of_no_fragments_resolves_nothing() -> None:
    x: Input = input_key("x")
    with pytest.raises(UnresolvedValueError, match=r"^resolve: Input\('x'\)"):
        resolve([]).resolve_val(x)


def test_a_view_is_made_of_a_list_of_fragments(primal: Fragment[Toy]) -> None:
    message = r"^resolve: takes a list of fragments, got a Fragment; write resolve\(\[f\]\)$"
    with pytest.raises(GraphError, match=message):
        resolve(primal)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match=r"^resolve: takes a list of fragments, got a list;"):
        resolve([primal, "exp"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("x", r"^walk: outputs must be a list of values, got a str$"),
        ([3.0], r"^walk: outputs must be a list of values, got a float in it$"),
    ],
)
def test_what_is_not_a_list_of_values_is_refused(values: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        require_values("walk", "outputs", values)


def test_the_hint_for_a_value_with_a_key_names_it(primal: Fragment[Toy]) -> None:
    with pytest.raises(GraphError, match=r"got a ValNode in it; write its \.key$"):
        require_values("walk", "inputs", [primal.vals[0]], keys=True)
    require_values("walk", "inputs", ["x", input_key("x")], keys=True)
    with pytest.raises(GraphError, match="got a list in it"):
        require_values("walk", "inputs", [["x"]], keys=True)
