"""What a rule must return, and what is said when it does not."""

from typing import Any

import pytest

from tenferro.core import differentiate, input_key, op_key, resolve_keys, transpose
from tenferro.errors import ADRuleError
from tests.core.derivative_ops import NOTHING, ZERO, Ruled
from tests.core.plain_ops import PlainOp
from tests.toy import ADD, CTX, EXP, MUL, LinearOp, Meta, real

X = real("x")
x, y = input_key(X), input_key(real("y"))


def differentiated(op: Any, *operands: Any) -> Any:
    node = op_key(op, operands or (x,))
    return differentiate(resolve_keys(), node.outputs, [X], ctx=CTX)


def test_an_op_set_may_say_itself_that_a_rule_is_missing() -> None:
    one_way = Ruled("bad", lambda at: (at.emit(LinearOp("one way"), *at.tangent),))
    with pytest.raises(ADRuleError, match=r"^one way: has no transpose rule$"):
        transpose(differentiated(one_way), ctx=CTX)


def test_an_op_without_a_linearize_rule_is_named() -> None:
    with pytest.raises(ADRuleError, match=r"^plain: has no linearize rule$"):
        differentiated(PlainOp("plain"))


def test_an_op_without_a_transpose_rule_is_named() -> None:
    class OneWay(PlainOp):
        def infer(self, *operands: Meta) -> Meta:
            return operands[0]

        def fold(self, at: Any, operands: Any) -> None:
            return None

    plain: Any = OneWay("plain")
    emits_plain = Ruled("wraps", lambda at: (at.emit(plain, *at.tangent),))
    with pytest.raises(ADRuleError, match=r"^plain: has no transpose rule$"):
        transpose(differentiated(emits_plain), ctx=CTX)


@pytest.mark.parametrize(
    ("returned", "got"), [((), "0 values"), ((None, None), "2 values"), (None, "one NoneType")]
)
def test_a_linearize_rule_returns_one_entry_for_each_output(returned: Any, got: str) -> None:
    message = f"^bad: its linearize rule returns {got}; return a tuple of 1, one for each output$"
    with pytest.raises(ADRuleError, match=message):
        differentiated(Ruled("bad", lambda at: returned))


def test_a_bare_value_is_not_a_tuple_of_one() -> None:
    message = r"^bad: its linearize rule returns one Input; return a tuple of 1, one for each"
    with pytest.raises(ADRuleError, match=message):
        differentiated(Ruled("bad", lambda at: at.tangent[0]))


@pytest.mark.parametrize(
    ("returned", "got"), [((), "0 values"), ((None,) * 3, "3 values"), (None, "one NoneType")]
)
def test_a_transpose_rule_returns_one_entry_for_each_operand(returned: Any, got: str) -> None:
    bad = Ruled("bad", lambda at: (at.emit(bad, at.tangent[0], y),), lambda at: returned, 2)
    message = f"^bad: its transpose rule returns {got}; return a tuple of 2, one for each operand$"
    with pytest.raises(ADRuleError, match=message):
        transpose(differentiated(bad, x, y), ctx=CTX)


def test_a_fixed_operand_has_no_cotangent() -> None:
    bad = Ruled("bad", lambda at: (at.emit(bad, at.tangent[0], y),), lambda at: at.ct * 2, 2)
    message = (
        r"^bad: its transpose rule returns a cotangent for operand 1, "
        r"which is fixed; return None there$"
    )
    with pytest.raises(ADRuleError, match=message):
        transpose(differentiated(bad, x, y), ctx=CTX)


def test_a_transpose_rule_sees_operands_and_which_are_active() -> None:
    seen = []

    def rule(at: Any) -> Any:
        seen.append((at.ct, at.inputs, at.active))
        return at.ct[0], None

    spy = Ruled("spy", lambda at: (at.emit(spy, at.tangent[0], y),), rule, 2)
    linear = differentiated(spy, x, y)
    transposed = transpose(linear, ctx=CTX)
    assert seen == [(transposed.input_keys, (*linear.input_keys, y), (True, False))]


def test_what_a_rule_raises_is_not_hidden() -> None:
    def rule(at: Any) -> Any:
        raise ZeroDivisionError("the rule's own")

    with pytest.raises(ZeroDivisionError, match=r"^the rule's own$"):
        differentiated(Ruled("bad", rule))


NOT_LINEAR = {
    "a coefficient": (lambda at: at.primal, r"^bad: its linearize rule returns a value that does"),
    "exp dx": (lambda at: (at.emit(EXP, *at.tangent),), r"^exp: is not linear in operand 0;"),
    "x + dx": (
        lambda at: (at.emit(ADD, *at.primal, *at.tangent),),
        r"^add: is not linear in operand 1 alone;",
    ),
    "dx dx": (
        lambda at: (at.emit(MUL, *at.tangent, *at.tangent),),
        r"^mul: is not linear in operands 0 and 1 together;",
    ),
}


@pytest.mark.parametrize(("linearize", "text"), NOT_LINEAR.values(), ids=NOT_LINEAR)
def test_what_a_linearize_rule_returns_is_linear_in_the_tangents(linearize: Any, text: str) -> None:
    with pytest.raises(ADRuleError, match=text):
        differentiated(Ruled("bad", linearize))


def test_a_zero_need_not_be_none() -> None:
    linear = differentiated(Ruled("flat", lambda at: (at.emit(NOTHING, *at.primal),)))
    assert linear.tangent_outputs == (None,)
    linear = differentiated(Ruled("sum", lambda at: (at.emit(ADD, at.emit(ZERO), *at.tangent),)))
    assert linear.output_keys == linear.input_keys


def test_what_a_transpose_rule_returns_is_linear_in_the_cotangents() -> None:
    odd = Ruled("odd", lambda at: (at.emit(odd, *at.tangent),), lambda at: (y,))
    with pytest.raises(ADRuleError, match=r"^odd: its transpose rule returns a value that does"):
        transpose(differentiated(odd), ctx=CTX)
