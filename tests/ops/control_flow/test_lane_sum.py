"""LaneSum: rounds are added in lanes, and lanes in a tree."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import DeadCode, parse
from tenferro.errors import ControlFlowError
from tenferro.ir import evaluate, program_of_op, verify
from tenferro.ops.control_flow import LaneSum, TreeSum, lane_bounds
from tenferro.ops.functions import OpFunction, apply
from tenferro.shape import TensorMeta

# One const; a sum over all rounds, and one to which each round adds at its own place.
BODY = parse("""
exec_program(%0: f64[20], %1: f64[], %2: f64[20], %3: i64[]) {
  %4: f64[1] = dynamic_slice[slice_sizes=(1,)] %0, %3
  %5: f64[] = reshape[shape=()] %4
  %6: f64[] = add %1, %5
  %7: f64[1] = multiply %4, %4
  %8: f64[20] = dynamic_update_slice %2, %7, %3
  return %6, %8
}""")
SUM = LaneSum(BODY, consts=1, total=20, lanes=4, apart=(False, True))
X = np.random.default_rng(0).normal(size=20)


def by_lanes(op: LaneSum) -> Any:
    """The first result, lane by lane."""
    tree = TreeSum[Any](lambda a, b: a + b)
    for lane in range(op.lanes):
        total = np.float64(0)
        for number in range(*lane_bounds(lane, op.lanes, op.total)):
            total += X[number]
        tree.push(total)
    return tree.result()


@pytest.mark.parametrize("lanes", [1, 2, 8, 32])
def test_rounds_are_added_in_lanes_and_lanes_in_their_tree(lanes: int) -> None:
    check_lanes(lanes, "numpy")


def check_lanes(lanes: int, executor: str) -> None:
    """Raise AssertionError unless an executor adds rounds in this order."""
    op = replace(SUM, lanes=lanes)
    total, squares = tn.jit(lambda x: _run(op, x), executor=executor)(X)
    assert np.asarray(total) == by_lanes(op)
    np.testing.assert_array_equal(squares, X * X)


def _run(op: LaneSum, x: Any) -> Any:
    return apply(OpFunction(op), x)


def test_part_is_the_sums_of_some_rounds() -> None:
    whole = np.zeros(2)
    for first, stop in ((0, 7), (7, 7), (7, 20)):
        total, squares = evaluate(SUM.part, [X, np.asarray(first), np.asarray(stop)])
        whole += [total, squares.sum()]
    np.testing.assert_allclose(whole, [X.sum(), (X * X).sum()], rtol=1e-13)


def test_derivatives_and_batches_are_those_of_the_loop() -> None:
    gradient = tn.grad(lambda x: _run(SUM, x)[0] * tn.sum(_run(SUM, x)[1]))(X)
    np.testing.assert_allclose(gradient, (X * X).sum() + 2 * X * X.sum(), rtol=1e-12)
    batch = np.stack([X, 2 * X])
    totals, _ = tn.vmap(lambda x: _run(SUM, x))(batch)
    np.testing.assert_allclose(totals, batch.sum(axis=1), rtol=1e-12)


def test_a_dead_sum_is_left_out() -> None:
    program = program_of_op(SUM, [TensorMeta.of(np.float64, (20,))])
    dead = replace(program, output_slots=program.output_slots[1:])
    (step,) = DeadCode().run(dead).instructions
    assert isinstance(step.op, LaneSum)
    assert step.op.apart == (True,)
    verify(DeadCode().run(dead))


def test_it_says_what_it_does_and_what_workers_exchange() -> None:
    assert SUM.in_words() == "lane_sum: 20 rounds of 5 instructions in 4 lanes"
    shared = replace(SUM, workers=2)
    assert shared.in_words().endswith("on 2 devices")
    assert (SUM.exchanged, shared.exchanged) == (0, 2 * 8 + 160)
    assert replace(SUM, workers=3).exchanged == 6 * 8 + 160
    assert replace(shared, ordered=False).exchanged == 8 + 160
    assert (SUM.scratch([8, 160]), shared.scratch([8, 160])) == (3 * 8, 2 * 8 + 160)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"lanes": 3}, "lane_sum: the number of lanes is a power of two, got 3"),
        ({"total": 0}, "lane_sum: there is at least one round, and one worker"),
        ({"apart": (True,)}, "lane_sum: apart says 1 things of 2 sums"),
        ({"consts": 2}, "lane_sum: 2 consts, 2 sums and a number do not fit a body of 4 inputs"),
        ({"total": 1.5}, "lane_sum: total must be an integer, got 1.5 of type float"),
    ],
)
def test_fields_are_checked(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ControlFlowError, match=re.escape(text)):
        replace(SUM, **changes)


def test_operands_are_checked() -> None:
    with pytest.raises(ControlFlowError, match="takes 1 operand, got 2"):
        SUM.infer_all([TensorMeta.of(np.float64, (20,))] * 2)
    with pytest.raises(ControlFlowError, match=r"operand 0 \(const 0\) is f64\[3\]"):
        SUM.infer_all([TensorMeta.of(np.float64, (3,))])
    other = parse("exec_program(%0: f64[], %1: f64[]) { \n return %0 \n }")
    with pytest.raises(ControlFlowError, match=r"takes f64\[\] as the number of the round"):
        LaneSum(other, consts=0, total=1, lanes=1, apart=(False,))
