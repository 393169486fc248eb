"""Transposition: the reversed active flow of a linear fragment."""

from typing import Any

import pytest

import tenferro as tn
from tenferro.core import (
    Cotangent,
    FragmentBuilder,
    GlobalValKey,
    Linear,
    LinearFragment,
    differentiate,
    input_key,
    op_key,
    pull_back,
    resolve,
    resolve_keys,
    transpose,
)
from tenferro.errors import ADError, ADRuleError
from tenferro.ops import shape_context
from tests.core.derivative_ops import MIRROR, NOTHING, SQUARE, SUM_AND_PRODUCT, Ruled
from tests.core.derivative_values import KEYS, X, Y, apply, x, y
from tests.toy import ADD, CTX, EXP, MUL, NEG, SUM, LinearOp, Meta, Toy, real, vector
from tests.toy_graphs import run, text_of
from tests.work import chain, tracked_objects


def derivative(*outputs: GlobalValKey) -> LinearFragment[Any]:
    return differentiate(KEYS, outputs, [x, y], ctx=CTX)


def test_the_cotangent_inputs_are_fresh_and_told_to_the_caller() -> None:
    linear = derivative(apply(MUL, x, y))
    transposed = transpose(linear, ctx=CTX)
    ((key, local),) = transposed.tangent_inputs
    assert isinstance(key, Cotangent)
    assert (key.slot, local) == (0, 0)
    assert set(transpose(linear, ctx=CTX).input_keys).isdisjoint(transposed.input_keys)


def test_a_cotangent_has_the_metadata_of_the_output() -> None:
    v = input_key(vector("v", 3))
    for output, meta in ((apply(EXP, v), Meta("real", 3)), (apply(SUM, v), Meta("real"))):
        transposed = transpose(differentiate(KEYS, [output], [v], ctx=CTX), ctx=CTX)
        assert [CTX.meta(key) for key in transposed.input_keys] == [meta]
        assert [CTX.meta(key) for key in transposed.output_keys] == [Meta("real", 3)]


def test_the_linear_fragment_is_the_parent_of_its_transpose() -> None:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    primal = builder.build(builder.add(SQUARE, [builder.input(X)]))
    linear = differentiate(resolve([primal]), primal.output_keys, [X], ctx=CTX)
    transposed = transpose(linear, ctx=CTX)
    assert transposed.fragment.parents == (linear.fragment,)
    assert run(resolve([transposed.fragment]), transposed.output_keys, {X: 3.0}) == [6.0]


def test_coefficients_are_not_transposed() -> None:
    transposed = transpose(derivative(apply(SQUARE, x)), ctx=CTX)
    assert text_of(transposed) == (
        "fragment(%0 = ct[0]) {\n  %1 = mul @add(x, x), %0  linear[fixed,active]\n  return %1\n}"
    )
    assert transposed.tangent_outputs == (1, None)


def test_a_tangent_input_that_nothing_reaches_has_no_cotangent() -> None:
    transposed = transpose(derivative(apply(EXP, y)), ctx=CTX)
    assert transposed.tangent_outputs == (None, 1)
    assert transposed.fragment.outputs == (1,)


def test_an_output_without_a_tangent_has_no_cotangent_input() -> None:
    outputs = [apply(EXP, input_key(real("z"))), apply(NEG, x)]
    transposed = transpose(derivative(*outputs), ctx=CTX)
    assert text_of(transposed).startswith("fragment(%0 = ct[1]) {")
    none = transpose(derivative(outputs[0]), ctx=CTX)
    assert (none.tangent_inputs, none.tangent_outputs) == ((), (None, None))


def test_the_cotangents_of_the_pair_x_x_are_added() -> None:
    transposed = transpose(derivative(x, x), ctx=CTX)
    assert text_of(transposed) == (
        "fragment(%0 = ct[0], %1 = ct[1]) {\n"
        "  %2 = add %0, %1  linear[active,active]\n"
        "  return %2\n"
        "}"
    )


def test_the_cotangents_of_an_output_given_twice_are_added() -> None:
    output = apply(MUL, x, y)
    transposed = transpose(derivative(output, output), ctx=CTX)
    assert [node.op for node in transposed.fragment.ops] == [ADD, MUL, MUL]
    assert run(KEYS, transposed.output_keys, {X: 2.0, Y: 5.0}) == [10.0, 4.0]


def test_a_tangent_that_is_read_again_after_it_is_an_output_has_all_its_cotangents() -> None:
    middle = apply(MUL, x, y)
    transposed = transpose(derivative(middle, apply(EXP, middle)), ctx=CTX)
    (ct_x, ct_y) = run(KEYS, transposed.output_keys, {X: 0.0, Y: 5.0})
    assert (ct_x, ct_y) == (10.0, 0.0)  # (1 + exp(0)) · y


def test_a_shared_tangent_is_transposed_once() -> None:
    value: GlobalValKey = x
    for _ in range(60):  # 2**60 paths
        value = apply(ADD, value, value)
    transposed = transpose(derivative(value), ctx=CTX)
    assert len(transposed.fragment.ops) == 60
    assert run(KEYS, transposed.output_keys, {}) == [2.0**60]


def test_an_op_of_several_outputs_is_transposed_with_all_cotangents_at_once() -> None:
    same, opposite = op_key(MIRROR, (x,)).outputs
    transposed = transpose(derivative(apply(MUL, same, y), opposite), ctx=CTX)
    ct_x, ct_y = run(KEYS, transposed.output_keys, {X: 2.0, Y: 5.0})
    assert (ct_x, ct_y) == (5.0 - 1.0, 2.0)


@pytest.mark.parametrize(("slot", "slope"), [(0, 1.0), (1, -1.0)])
def test_the_cotangent_of_an_output_that_is_not_used_is_a_symbolic_zero(
    slot: int, slope: float
) -> None:
    transposed = transpose(derivative(op_key(MIRROR, (x,)).output(slot)), ctx=CTX)
    assert run(KEYS, transposed.output_keys, {}) == [slope]


def test_outputs_of_one_op_may_depend_on_different_inputs() -> None:
    total, product = op_key(SUM_AND_PRODUCT, (x, y)).outputs
    transposed = transpose(derivative(total, product), ctx=CTX)
    assert run(KEYS, transposed.output_keys, {X: 2.0, Y: 5.0}) == [6.0, 3.0]


def test_linear_nodes_that_reach_no_output_are_not_transposed() -> None:
    def linearize(at: Any) -> Any:
        at.emit(LinearOp("one way"), at.tangent[0])  # has no transpose rule
        return at.tangent

    linear = derivative(apply(Ruled("careless", linearize), x))
    assert [node.mode for node in linear.fragment.ops] == [Linear((True,))]
    assert transpose(linear, ctx=CTX).output_keys[0] is not None


def test_a_term_that_reads_no_cotangent_is_zero() -> None:
    def linearize(at: Any) -> Any:
        return (at.emit(gone, *at.tangent),)

    gone = Ruled("gone", linearize, lambda at: (at.emit(NOTHING, at.ct[0]),))
    transposed = transpose(derivative(apply(gone, x), apply(NEG, y)), ctx=CTX)
    assert (transposed.output_keys[0], transposed.output_keys[1] is None) == (None, False)


def test_terms_may_cancel_to_nothing() -> None:
    class Cancelling:
        """A context whose sums are all zero."""

        adder = NOTHING
        meta = CTX.meta
        declare_like = CTX.declare_like

    ctx: Any = Cancelling()
    assert transpose(derivative(x, x), ctx=ctx).output_keys == (None, None)
    assert transpose(derivative(x, x, x), ctx=ctx).output_keys[0] is not None


def test_the_transpose_of_the_transpose_is_the_same_map() -> None:
    linear = derivative(apply(MUL, apply(EXP, apply(MUL, x, y)), x), apply(ADD, x, y))
    again = transpose(transpose(linear, ctx=CTX), ctx=CTX)
    values = {X: 0.3, Y: 1.7}
    assert run(KEYS, again.output_keys, values) == pytest.approx(
        run(KEYS, linear.output_keys, values)
    )


def test_what_a_rule_emits_is_recorded_where_its_op_was() -> None:
    (middle,) = op_key(MUL, (x, input_key(real("a"))), site="user.py:1").outputs
    (output,) = op_key(MUL, (middle, input_key(real("b"))), site="user.py:2").outputs
    transposed = transpose(derivative(output), ctx=CTX)
    assert [node.key.site for node in transposed.fragment.ops] == ["user.py:2", "user.py:1"]


def test_a_missing_rule_is_never_a_zero() -> None:
    opaque = Toy("opaque")
    linear = derivative(apply(Ruled("wraps", lambda at: (at.emit(opaque, at.tangent[0]),)), x))
    with pytest.raises(ADRuleError, match=r"^opaque: has no transpose rule$"):
        transpose(linear, ctx=CTX)


def test_pulling_a_seed_back_gives_the_value_of_the_vjp() -> None:
    linear = derivative(apply(MUL, apply(EXP, x), y), x)
    seeds = [input_key(real("s")), input_key(real("t"))]
    pulled = pull_back(linear, seeds, ctx=CTX)
    values = {X: 0.3, Y: 1.7}
    transposed = transpose(linear, ctx=CTX)
    assert run(KEYS, pulled, values) == run(KEYS, transposed.output_keys, values)


def test_what_is_pulled_back_is_primal_and_simplified() -> None:
    seed = input_key(real("s"))
    linear = derivative(apply(NEG, apply(NEG, apply(NEG, x))))
    assert pull_back(linear, [seed], ctx=CTX) == [apply(NEG, seed), None]


def test_a_cotangent_may_be_a_symbolic_zero() -> None:
    seed = input_key(real("s"))
    linear = derivative(apply(NEG, x), apply(NEG, y))
    assert pull_back(linear, [None, seed], ctx=CTX) == [None, apply(NEG, seed)]
    assert pull_back(linear, [None, None], ctx=CTX) == [None, None]


def test_the_cotangent_of_an_output_without_a_tangent_is_not_read() -> None:
    linear = derivative(apply(EXP, input_key(real("z"))), x)
    assert pull_back(linear, [y, y], ctx=CTX) == [y, None]


def test_there_is_one_cotangent_for_each_output() -> None:
    with pytest.raises(ADError, match=r"^pull_back: 1 cotangent for 2 outputs$"):
        pull_back(derivative(x, y), [x], ctx=CTX)


def test_a_transposed_fragment_tracks_what_its_nodes_are_and_no_more() -> None:
    ctx = shape_context()
    argument = tn.TracedTensor.input((8,))
    y = chain(argument, 1_000)
    linear = differentiate(resolve_keys(), [y.key], [argument.key], ctx=ctx)
    transpose(linear, ctx=ctx)
    transposed, count = tracked_objects(lambda: transpose(linear, ctx=ctx))
    nodes = len(transposed.fragment.nodes)
    assert nodes == 2_000
    assert count < 3 * nodes + 50
