"""One invocation is one fragment: what is saved of it, and its two derivatives."""

from __future__ import annotations

from typing import Any

import pytest

from tenferro.core import Derivative, LeafOrigin, Output, Record, evaluate, input_key
from tenferro.core.tape import ancestors
from tenferro.errors import ADRuleError
from tests.core.derivative_ops import MIRROR, SQUARE, SUM_AND_PRODUCT, Ruled
from tests.toy import ADD, CTX, EXP, MUL, NEG, real


def derivative(op: Any, *active: bool) -> Derivative:
    return Derivative(op, [input_key(real(f"x{i}")) for i in range(len(active))], active, CTX)


@pytest.mark.parametrize(
    ("op", "active", "reads"),
    [
        (ADD, (True, True), ()),
        (NEG, (True,), ()),
        (MUL, (True, True), (0, 1)),
        (MUL, (True, False), (1,)),
        (MUL, (False, True), (0,)),
        (EXP, (True,), (1,)),  # the output, not the operand
        (SQUARE, (True,), (0,)),
        (SUM_AND_PRODUCT, (True, True), (0, 1)),
    ],
)
def test_only_what_a_derivative_reads_is_saved(
    op: Any, active: tuple[bool, ...], reads: tuple[int, ...]
) -> None:
    assert derivative(op, *active).reads == reads


def test_a_push_takes_what_it_reads_and_the_tangents() -> None:
    push = derivative(MUL, True, True).push((True, True))
    assert (push.reads, push.saved, push.results) == ((0, 1), (0, 1), (0,))
    assert evaluate(push.program, [3.0, 5.0, 1.0, 10.0]) == [5.0 + 30.0]


def test_a_pull_gives_the_wanted_operands_a_cotangent() -> None:
    both = derivative(MUL, True, True)
    pull = both.pull((True, True), (True,))
    assert evaluate(pull.program, [3.0, 5.0, 1.0]) == [5.0, 3.0]
    second = both.pull((False, True), (True,))
    assert (second.reads, second.saved, second.results) == ((0,), (0,), (None, 0))
    assert evaluate(second.program, [3.0, 7.0]) == [21.0]


def test_a_pull_takes_the_cotangents_that_are_given() -> None:
    mirror = derivative(MIRROR, True)
    assert evaluate(mirror.pull((True,), (True, False)).program, [2.0]) == [2.0]
    assert evaluate(mirror.pull((True,), (False, True)).program, [2.0]) == [-2.0]
    assert evaluate(mirror.pull((True,), (True, True)).program, [2.0, 5.0]) == [-3.0]


def test_each_program_is_made_once() -> None:
    both = derivative(MUL, True, True)
    assert both.push((True, False)) is both.push((True, False))
    assert both.pull((True, False), (True,)) is both.pull((True, False), (True,))


def test_an_op_through_which_nothing_flows_reaches_no_output() -> None:
    flat = Ruled("flat", linearize=lambda at: (None,))
    assert derivative(flat, True).reaches == (False,)
    assert derivative(flat, True).push((True,)).results == (None,)


def test_a_missing_rule_raises_when_it_is_asked_for_and_not_before() -> None:
    def refuse(at: Any) -> Any:
        raise ADRuleError("opaque: has no linearize rule")

    opaque = derivative(Ruled("opaque", linearize=refuse), True)
    assert opaque.reaches == (True,)
    for _ in range(2):
        with pytest.raises(ADRuleError, match="opaque: has no linearize rule"):
            opaque.push((True,))
        with pytest.raises(ADRuleError, match="opaque: has no linearize rule"):
            opaque.pull((True,), (True,))


def test_a_missing_transpose_rule_leaves_the_push_alone() -> None:
    def refuse(at: Any) -> Any:
        raise ADRuleError("one_way: has no transpose rule")

    one_way = derivative(Ruled("one_way", transpose_rule=refuse), True)
    assert evaluate(one_way.push((True,)).program, [4.0]) == [4.0]
    with pytest.raises(ADRuleError, match="one_way: has no transpose rule"):
        one_way.pull((True,), (True,))


def test_a_rule_that_reads_more_where_fewer_are_active_is_refused() -> None:
    def fickle(at: Any) -> Any:
        dx, dy = at.tangent
        return (at.emit(MUL, at.primal[1], dx) if dy is None else at.emit(ADD, dx or dy, dy),)

    fickle_op = derivative(Ruled("fickle", linearize=fickle, n_inputs=2), True, True)
    assert fickle_op.reads == ()
    with pytest.raises(ADRuleError, match="its linearize rule reads more where fewer operands"):
        fickle_op.push((True, False))


def test_the_outputs_of_a_record_have_origins_that_are_equal_when_made_again() -> None:
    record = Record(derivative(MIRROR, True), (LeafOrigin(),), ())
    assert record.outputs == (record, Output(record, 1))
    assert len({record.output(1), record.output(1)}) == 1


def test_ancestors_come_oldest_first_and_end_at_stops() -> None:
    leaf = LeafOrigin()
    negate = derivative(NEG, True)
    records = [Record(negate, (leaf,), ())]
    for _ in range(4):
        records.append(Record(negate, (records[-1],), ()))
    assert ancestors([records[-1]], set()) == records
    assert ancestors([records[-1]], {records[1]}) == records[2:]
    assert ancestors([records[-1]], {records[-1]}) == []
