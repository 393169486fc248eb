"""The check that rules emit only ops that have rules."""

from typing import Any

import pytest

from tenferro.core import chain, check_closure, each_active, input_key, op_key
from tenferro.errors import ADRuleError
from tests.core.derivative_ops import MIRROR, SUM_AND_PRODUCT, Mirror, SumAndProduct
from tests.toy import (
    ADD,
    CONJ,
    CTX,
    EXP,
    MUL,
    NEG,
    SUM,
    Add,
    Broadcast,
    Conj,
    Exp,
    Mul,
    Neg,
    Sum,
    Toy,
    cplx,
    real,
    vector,
)

x, y = input_key(real("x")), input_key(real("y"))
c, z = input_key(cplx("c")), input_key(cplx("z"))
v = input_key(vector("v"))


def test_the_toy_set_is_closed() -> None:
    applications: list[Any] = [
        (ADD, [x, y], [x, y]),
        (MUL, [c, z], [c, z]),
        (EXP, [x], [x]),
        (NEG, [x], [x]),
        (CONJ, [z], [z]),
        (SUM, [v], [v]),
    ]
    assert check_closure(applications, ctx=CTX) == {Add, Mul, Exp, Neg, Conj, Sum, Broadcast}


def test_ops_met_on_the_way_are_returned() -> None:
    assert check_closure([(EXP, [x], [x])], ctx=CTX) == {Exp, Mul, Add}
    assert check_closure([(MUL, [c, z], [z])], ctx=CTX) == {Mul, Conj}


def test_an_op_may_be_applied_to_one_value_twice_and_have_several_outputs() -> None:
    applications: list[Any] = [(SUM_AND_PRODUCT, [x, x], [x]), (MIRROR, [x], [x])]
    met = check_closure(applications, ctx=CTX)
    assert met == {SumAndProduct, Mirror, Mul, Add, Neg}


def test_an_op_may_be_applied_to_any_value_of_a_graph() -> None:
    exp_x = op_key(EXP, (x,)).output(0)
    assert check_closure([(MUL, [exp_x, y], [x, y])], ctx=CTX) == {Mul, Add}


def test_an_op_through_which_nothing_flows_needs_no_transpose() -> None:
    class Step(Toy):
        def linearize(self, at: Any) -> Any:
            return (None,)

    assert check_closure([(Step("step"), [x], [x])], ctx=CTX) == {Step}


def test_a_missing_rule_of_the_op_itself_is_found() -> None:
    with pytest.raises(ADRuleError, match=r"^opaque: has no linearize rule$"):
        check_closure([(Toy("opaque"), [x], [x])], ctx=CTX)


class Bare(Broadcast):
    """A broadcast that its own derivative has not heard of."""

    def linearize(self, at: Any) -> Any:
        raise ADRuleError("bare: has no linearize rule")


class BareSum(Sum):
    def transpose_rule(self, at: Any) -> Any:
        return each_active(at, lambda ct: at.emit(Bare(2), ct))


class Wrapped(Toy):
    """An op whose coefficient is an op without rules."""

    def linearize(self, at: Any) -> Any:
        return chain(at, lambda dx: at.emit(MUL, at.emit(Toy("coefficient"), *at.primal), dx))


def test_a_missing_rule_of_what_a_transpose_rule_emits_is_found() -> None:
    with pytest.raises(ADRuleError, match=r"^bare: has no linearize rule$"):
        check_closure([(BareSum("sum"), [v], [v])], ctx=CTX)


def test_a_missing_rule_of_a_coefficient_is_found() -> None:
    with pytest.raises(ADRuleError, match=r"^coefficient: has no linearize rule$"):
        check_closure([(Wrapped("wrapped"), [x], [x])], ctx=CTX)
