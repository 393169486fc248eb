"""Products that a loop adds up become one product after it."""

import numpy as np
import pytest

from tenferro.compiler import DeadCode, RenumberSlots, ScanPushoutDot, optimize, parse
from tenferro.ir import evaluate
from tenferro.ops.control_flow import Scan
from tests.programs import assert_leaves_alone, assert_same_results

SUM = """
exec_program(%0: f64[3,4], %1: f64[3], %2: f64[5,4]) {
  %3: f64[3,4], %4: f64[3] = scan[consts=0, carry=2, length=5] %0, %1, %2 {
    body(%0: f64[3,4], %1: f64[3], %2: f64[4]) {
      %3: f64[3] = sine %1
      %4: f64[3,4] = dot_general[lhs_contract=(), rhs_contract=()] %3, %2
      %5: f64[3,4] = add %0, %4
      return %5, %3
    }
  }
  return %3, %4
}"""


def test_a_sum_of_products_is_one_product_of_stacks() -> None:
    """The entries are those that the loop reads; the other factor is stacked."""
    program = optimize(parse(SUM))
    (loop,) = program.ops_of(Scan)
    assert loop.carry == 1
    assert "dot_general" not in {op.name for op in loop.body.ops()}
    assert "dot_general[lhs_contract=(0,), rhs_contract=(0,)]" in str(program)
    assert_same_results(parse(SUM), program, {})


def test_products_over_rows_are_contracted_over_rounds_and_rows() -> None:
    text = (
        SUM.replace("f64[3,4]", "f64[8,9]").replace("%1: f64[3]", "%1: f64[2,8]")
        .replace("%4: f64[3] ", "%4: f64[2,8] ").replace("%3: f64[3] ", "%3: f64[2,8] ")
        .replace("f64[5,4]", "f64[5,2,9]").replace("%2: f64[4]", "%2: f64[2,9]")
        .replace("lhs_contract=(), rhs_contract=()", "lhs_contract=(0,), rhs_contract=(0,)")
    )  # fmt: skip
    program = ScanPushoutDot().run(parse(text))
    assert "lhs_contract=(0, 1), rhs_contract=(0, 1)" in str(program)
    assert_same_results(parse(text), program, {})


def test_what_is_added_besides_stays_in_the_loop() -> None:
    text = SUM.replace(
        "%5: f64[3,4] = add %0, %4\n      return %5, %3",
        "%5: f64[3,4] = cosine %4\n"
        "      %6: f64[3,4] = dot_general[lhs_contract=(), rhs_contract=()] %1, %2\n"
        "      %7: f64[3,4] = add %5, %6\n"
        "      %8: f64[3,4] = add %7, %0\n"
        "      return %8, %3",
    )
    program = ScanPushoutDot().run(parse(text))
    (loop,) = program.ops_of(Scan)
    assert [op.name for op in DeadCode().run(loop.body).ops()].count("dot_general") == 1
    assert_same_results(parse(text), program, {})


@pytest.mark.parametrize(
    "change",
    [
        ("add %0, %4", "multiply %0, %4"),
        ("return %5, %3", "return %5, %6"),  # the sum is read in the round
        ("scan[", "checkpointed_scan["),
        ("f64[3]", "f64[90,3]"),  # the factor is larger than the product
    ],
)
def test_other_loops_stay(change: tuple[str, str]) -> None:
    text = SUM.replace(*change)
    if change[1].startswith("return"):
        text = text.replace(
            "      return", "      %6: f64[3] = reduce_sum[axes=(1,)] %0\n      return"
        )
    if change[0] == "f64[3]":
        text = text.replace("%2: f64[4]", "%2: f64[90,4]").replace("f64[5,4]", "f64[5,90,4]")
        text = text.replace("=(), rhs_contract=()", "=(0,), rhs_contract=(0,)")
    assert_leaves_alone(ScanPushoutDot(), text)


def test_the_order_of_rounds_does_not_matter() -> None:
    text = SUM.replace("length=5]", "length=5, reverse=True]")
    before, after = parse(text), RenumberSlots().run(ScanPushoutDot().run(parse(text)))
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=shape) for shape in ((3, 4), (3,), (5, 4))]
    for one, other in zip(evaluate(before, inputs), evaluate(after, inputs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
