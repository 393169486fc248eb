"""Emitters: where rules put their ops, and which mode the nodes have."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tenferro.core import (
    PRIMAL,
    Derived,
    External,
    FragmentBuilder,
    FragmentEmitter,
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    Linear,
    Local,
    PrimitiveOp,
    RuleContext,
    TransposeSite,
    input_key,
    op_key,
)
from tenferro.errors import GraphError
from tests.core.derivative_ops import MIRROR
from tests.toy import CONJ, CTX, EXP, MUL, NEG, Meta, Toy, cplx, real, vector

X = input_key(real("x"))


def emitter_into_a_fragment() -> tuple[FragmentBuilder[Toy], FragmentEmitter]:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    return builder, FragmentEmitter(builder, CTX)


def mode_of(value: GlobalValKey) -> object:
    assert isinstance(value, Derived)
    return value.op.mode


def test_a_key_emitter_makes_the_primal_identity() -> None:
    emitter = KeyEmitter(CTX)
    assert emitter.emit(MUL, X, X) is op_key(MUL, (X, X)).output(0)
    assert emitter.emit_all(MUL, X, X) == op_key(MUL, (X, X)).outputs
    assert emitter.emit_all(MIRROR, X) == op_key(MIRROR, (X,)).outputs
    assert emitter.ctx is CTX


def test_what_is_emitted_is_simplified_by_the_op() -> None:
    emitter = KeyEmitter(CTX)
    negated = emitter.emit(NEG, X)
    assert emitter.emit(NEG, negated) is X
    assert emitter.emit_all(NEG, negated) == (X,)
    assert emitter.emit(CONJ, negated) is op_key(CONJ, (negated,)).output(0)


def test_the_producer_of_a_value_is_its_op_and_operands() -> None:
    emitter = KeyEmitter(CTX)
    assert emitter.producer(emitter.emit(MUL, X, X)) == (MUL, (X, X))


def test_inputs_and_outputs_of_several_have_no_producer() -> None:
    emitter = KeyEmitter(CTX)
    assert emitter.producer(X) is None
    assert [emitter.producer(output) for output in emitter.emit_all(MIRROR, X)] == [None, None]


def test_emit_refuses_an_op_of_several_outputs() -> None:
    for emitter in (KeyEmitter(CTX), emitter_into_a_fragment()[1]):
        with pytest.raises(GraphError, match="emit: mirror has 2 outputs; use emit_all"):
            emitter.emit(MIRROR, X)


def test_older_values_come_first_in_order() -> None:
    emitter = KeyEmitter(CTX)
    assert emitter.order(X) < emitter.order(emitter.emit(EXP, X))


def test_an_op_that_reads_an_active_value_is_linear_in_it() -> None:
    builder, emitter = emitter_into_a_fragment()
    dx = emitter.active_input("dx", like=X)
    once = emitter.emit(MUL, X, dx)
    twice = emitter.emit(MUL, once, X)
    assert mode_of(once) == Linear((False, True))
    assert mode_of(twice) == Linear((True, False))
    fragment = builder.build([twice])
    assert fragment.ops[0].inputs == (External(X), Local(0))


def test_an_op_that_reads_no_active_value_is_primal_and_the_user_s_own_node() -> None:
    builder, emitter = emitter_into_a_fragment()
    emitter.active_input("dx", like=X)
    coefficient = emitter.emit(EXP, X)
    assert mode_of(coefficient) is PRIMAL
    assert coefficient is op_key(EXP, (X,)).output(0)
    assert builder.owns(coefficient)


def test_all_outputs_of_a_linear_op_are_active() -> None:
    _, emitter = emitter_into_a_fragment()
    first, second = emitter.emit_all(MIRROR, emitter.active_input("dx", like=X))
    assert emitter.may_flow(first)
    assert mode_of(emitter.emit(MUL, second, X)) == Linear((True, False))


def test_only_active_values_may_flow_in_a_fragment_and_all_may_among_keys() -> None:
    _, emitter = emitter_into_a_fragment()
    dx = emitter.active_input("dx", like=X)
    flows = [emitter.may_flow(value) for value in (dx, X, emitter.emit(EXP, X))]
    assert flows == [True, False, False]
    assert KeyEmitter(CTX).may_flow(X)


def test_an_active_input_has_the_metadata_of_what_it_is_like() -> None:
    _, emitter = emitter_into_a_fragment()
    for like in (real("r"), cplx("z"), vector("v", 3)):
        tangent = emitter.active_input(f"d{like}", like=input_key(like))
        assert CTX.meta(tangent) == like.meta
    assert CTX.meta(emitter.emit(NEG, tangent)) == Meta("real", 3)


def test_sites_emit_and_ask_through_their_emitter() -> None:
    emitter = KeyEmitter(CTX)
    for site in (
        JvpSite(emitter, (X,), (X,), (X,)),
        TransposeSite(emitter, (X,), (X,), (True,)),
    ):
        assert site.ctx is CTX
        assert site.emit(EXP, X) is emitter.emit(EXP, X)


class NumberEmitter:
    """Runs each op at once: its values are numbers."""

    ctx: RuleContext = CTX

    def emit(self, op: PrimitiveOp, *operands: float) -> float:
        return self.emit_all(op, *operands)[0]

    def emit_all(self, op: PrimitiveOp, *operands: float) -> tuple[float, ...]:
        return op.evaluate(operands)

    def producer(self, value: float) -> tuple[Any, tuple[float, ...]] | None:
        return None

    def order(self, value: float) -> int:
        return 0


def test_a_rule_written_once_runs_on_numbers_as_well() -> None:
    x, y, dx, dy = 2.0, 5.0, 0.5, 0.25
    emitter = NumberEmitter()
    at = JvpSite(emitter, (x, y), (x * y,), (dx, dy))
    assert MUL.linearize(at) == (dx * y + x * dy,)
    exp = JvpSite(emitter, (x,), (math.exp(x),), (dx,))
    assert EXP.linearize(exp) == (math.exp(x) * dx,)
