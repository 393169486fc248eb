"""Differentiation: from a resolved view to a fragment linear in fresh tangents."""

from typing import Any

import pytest

import tenferro as tn
from tenferro.core import (
    PRIMAL,
    External,
    FragmentBuilder,
    Linear,
    LinearFragment,
    Tangent,
    differentiate,
    input_key,
    op_key,
    push_forward,
    resolve,
    resolve_keys,
)
from tenferro.errors import ADError, UnresolvedValueError
from tenferro.ops import shape_context
from tests.core.derivative_ops import NOTHING, SQUARE, SUM_AND_PRODUCT, Ruled
from tests.core.derivative_values import KEYS, X, Y, apply, x, y
from tests.toy import ADD, CTX, EXP, MUL, NEG, Meta, Toy, real, vector
from tests.toy_graphs import run, text_of
from tests.work import chain, tracked_objects


def test_the_tangent_inputs_are_fresh_and_told_to_the_caller() -> None:
    linear = differentiate(KEYS, [apply(MUL, x, y)], [y, x], ctx=CTX)
    (dy, _), (dx, _) = linear.tangent_inputs
    assert isinstance(dy, Tangent)
    assert isinstance(dx, Tangent)
    assert (dy.of, dx.of, dy.pass_id) == (y, x, dx.pass_id)
    assert linear.input_keys == (input_key(dy), input_key(dx))
    again = differentiate(KEYS, [apply(MUL, x, y)], [y, x], ctx=CTX)
    assert set(again.input_keys).isdisjoint(linear.input_keys)


def test_a_tangent_has_the_metadata_of_its_primal() -> None:
    v = input_key(vector("v", 3))
    linear = differentiate(KEYS, [apply(EXP, v)], [v], ctx=CTX)
    assert [CTX.meta(key) for key in linear.input_keys] == [Meta("real", 3)]


def test_wrt_may_name_inputs_by_their_own_keys() -> None:
    linear = differentiate(KEYS, [apply(EXP, x)], [X], ctx=CTX)
    assert text_of(linear).startswith("fragment(%0 = d(x)) {")


def test_the_view_s_fragments_are_the_parents_of_the_linear_one() -> None:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    primal = builder.build(builder.add(EXP, [builder.input(X)]))
    linear = differentiate(resolve([primal]), primal.output_keys, [X], ctx=CTX)
    assert linear.fragment.parents == (primal,)


def test_an_output_that_does_not_depend_on_wrt_has_no_tangent() -> None:
    outputs = [apply(EXP, y), apply(EXP, x), y]
    linear = differentiate(KEYS, outputs, [x], ctx=CTX)
    assert linear.tangent_outputs == (None, 1, None)
    assert linear.fragment.outputs == (1,)


def test_without_wrt_nothing_has_a_tangent() -> None:
    linear = differentiate(KEYS, [apply(EXP, x)], [], ctx=CTX)
    assert (linear.tangent_inputs, linear.tangent_outputs) == ((), (None,))


def test_the_tangent_of_an_input_is_its_own() -> None:
    linear = differentiate(KEYS, [x, x], [x], ctx=CTX)
    assert linear.output_keys == (*linear.input_keys, *linear.input_keys)
    assert text_of(linear) == "fragment(%0 = d(x)) {\n  return %0, %0\n}"


def test_an_output_given_twice_has_its_tangent_twice() -> None:
    linear = differentiate(KEYS, [apply(NEG, x)] * 2, [x], ctx=CTX)
    assert linear.tangent_outputs == (1, 1)


def test_a_value_may_be_given_once_in_wrt() -> None:
    message = r"^differentiate: wrt names x twice; name each value once$"
    with pytest.raises(ADError, match=message):
        differentiate(KEYS, [x], [y, x, X], ctx=CTX)
    with pytest.raises(ADError, match=message):
        push_forward(KEYS, [x], [x, x], [y, y], ctx=CTX)


def test_wrt_may_be_an_intermediate_value_and_nothing_behind_it_is_differentiated() -> None:
    middle = apply(MUL, x, y)
    linear = differentiate(KEYS, [apply(ADD, middle, x)], [middle], ctx=CTX)
    assert text_of(linear) == "fragment(%0 = d(mul(x, y))) {\n  return %0\n}"
    both = differentiate(KEYS, [apply(MUL, middle, x)], [middle, x], ctx=CTX)
    assert [node.op for node in both.fragment.ops] == [MUL, MUL, ADD]


def test_ops_that_no_tangent_reaches_are_not_linearized() -> None:
    opaque = Toy("opaque")
    linear = differentiate(KEYS, [apply(MUL, apply(opaque, y), x)], [x], ctx=CTX)
    assert [node.op for node in linear.fragment.ops] == [MUL]


def test_an_unresolved_value_is_refused() -> None:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    outputs = builder.add(EXP, [x])
    view = resolve([builder.build(outputs)])
    with pytest.raises(UnresolvedValueError, match=r"^resolve: Input\(.*\) is defined in no"):
        differentiate(view, outputs, [y], ctx=CTX)


def test_a_leaf_need_not_be_resolved() -> None:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    outputs = builder.add(EXP, [x])
    view = resolve([builder.build(outputs)])
    assert differentiate(view, outputs, [x], ctx=CTX).tangent_outputs == (1,)


def test_each_output_of_an_op_has_its_tangent() -> None:
    outputs = op_key(SUM_AND_PRODUCT, (x, y)).outputs
    linear = differentiate(KEYS, outputs, [x, y], ctx=CTX)
    result = run(KEYS, linear.output_keys, {X: 2.0, Y: 5.0})
    assert result == [2.0, 7.0]


def test_a_coefficient_is_primal_and_what_it_multiplies_linear() -> None:
    linear = differentiate(KEYS, [apply(SQUARE, x)], [x], ctx=CTX)
    coefficient, product = linear.fragment.ops
    assert (coefficient.mode, coefficient.inputs) == (PRIMAL, (External(x), External(x)))
    assert coefficient.key is op_key(ADD, (x, x))
    assert product.mode == Linear((False, True))


def test_a_result_that_reads_no_tangent_is_zero() -> None:
    nothing, also = apply(NOTHING, x), apply(MUL, apply(NOTHING, x), y)
    linear = differentiate(KEYS, [nothing, also, apply(EXP, x)], [x], ctx=CTX)
    assert linear.output_keys[:2] == (None, None)
    assert linear.output_keys[2] is not None


def test_derivatives_in_different_passes_are_not_confused() -> None:
    inner = differentiate(KEYS, [apply(ADD, x, y)], [y], ctx=CTX)
    (slope,) = inner.output_keys
    assert slope is not None
    outer = differentiate(KEYS, [apply(MUL, x, slope)], [x], ctx=CTX)
    assert run(KEYS, outer.output_keys, {X: 2.0, Y: 3.0}) == [1.0]  # d/dx (x · d/dy (x + y))


def test_a_result_that_is_not_linear_in_the_mode_of_a_later_pass_is_still_differentiated() -> None:
    first = differentiate(KEYS, [apply(MUL, apply(EXP, x), x)], [x], ctx=CTX)
    (dy,) = first.output_keys
    assert dy is not None
    second = differentiate(KEYS, [dy], [x, *first.input_keys], ctx=CTX)
    modes = {node.mode for node in second.fragment.ops if isinstance(node.mode, Linear)}
    assert modes <= {Linear((True, False)), Linear((False, True)), Linear((True, True))}
    (value,) = run(KEYS, second.output_keys, {X: 0.0})
    assert value == pytest.approx(2.0 + 1.0)  # d²(x eˣ) + d(x eˣ) at 0, with unit seeds


def test_pushing_a_seed_forward_gives_the_value_of_the_jvp() -> None:
    output = apply(MUL, apply(EXP, x), y)
    seed_x, seed_y = input_key(real("sx")), input_key(real("sy"))
    pushed = push_forward(KEYS, [output, y], [x, y], [seed_x, seed_y], ctx=CTX)
    values = {X: 0.3, Y: 1.7}
    linear = differentiate(KEYS, [output, y], [x, y], ctx=CTX)
    assert run(KEYS, pushed, values) == run(KEYS, linear.output_keys, values)
    assert pushed[1] is seed_y


def test_what_is_pushed_forward_is_primal_and_simplified() -> None:
    seed = input_key(real("s"))
    (twice,) = push_forward(KEYS, [apply(NEG, apply(NEG, x))], [x], [seed], ctx=CTX)
    assert twice is seed
    (once,) = push_forward(KEYS, [apply(NEG, x)], [x], [seed], ctx=CTX)
    assert once is apply(NEG, seed)


def test_a_seed_may_be_a_symbolic_zero() -> None:
    seed = input_key(real("s"))
    output = apply(MUL, x, y)
    assert push_forward(KEYS, [output], [x, y], [seed, None], ctx=CTX) == [apply(MUL, seed, y)]
    assert push_forward(KEYS, [output, x], [x, y], [None, None], ctx=CTX) == [None, None]


def test_a_symbolic_zero_stops_the_walk_like_any_leaf() -> None:
    broken = apply(Toy("opaque"), x)
    assert push_forward(KEYS, [broken], [broken, x], [None, y], ctx=CTX) == [None]


def test_there_is_one_seed_for_each_value_of_wrt() -> None:
    message = r"^push_forward: 1 tangent for 2 values of wrt$"
    with pytest.raises(ADError, match=message):
        push_forward(KEYS, [x], [x, y], [x], ctx=CTX)


def test_what_a_rule_emits_is_recorded_where_its_op_was() -> None:
    (exp_x,) = op_key(EXP, (input_key(real("sited")),), site="user.py:1").outputs
    (product,) = op_key(MUL, (exp_x, y), site="user.py:2").outputs
    linear = differentiate(KEYS, [product], [real("sited")], ctx=CTX)
    assert [node.key.site for node in linear.fragment.ops] == ["user.py:1", "user.py:2"]


def test_a_rule_sees_operands_outputs_and_tangents() -> None:
    seen = []

    def rule(at: Any) -> Any:
        seen.append((at.primal, at.out, at.tangent))
        return (None,)

    spy = Ruled("spy", rule, n_inputs=2)
    node = op_key(spy, (x, y))
    linear = differentiate(KEYS, node.outputs, [y], ctx=CTX)
    assert seen == [((x, y), node.outputs, (None, *linear.input_keys))]
    assert linear.tangent_outputs == (None,)


def test_a_linear_fragment_tracks_what_its_nodes_are_and_no_more() -> None:
    ctx = shape_context()
    argument = tn.TracedTensor.input((8,))
    y = chain(argument, 1_000)

    def linearized() -> LinearFragment[Any]:
        return differentiate(resolve_keys(), [y.key], [argument.key], ctx=ctx)

    linearized()
    linear, count = tracked_objects(linearized)
    assert len(linear.fragment.nodes) == 2_500
    assert count < 3 * 2_500 + 50
