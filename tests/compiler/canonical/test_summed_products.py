"""The sum of products over a batch is one product."""

from __future__ import annotations

import pytest

from tenferro.compiler import DeadCode, Pass, SummedProducts
from tenferro.ir import ExecProgram
from tests.programs import assert_leaves_alone, assert_rewrites, rewritten


class Summed:
    """The pass, and the dead code that it leaves."""

    name = "summed_products"

    def run(self, program: ExecProgram) -> ExecProgram:
        return DeadCode().run(SummedProducts().run(program))


SUMMED: Pass = Summed()  # type: ignore[assignment]  # runs as one


def test_a_sum_over_batch_axes_is_contracted_over_them() -> None:
    assert_rewrites(
        SUMMED,
        before="""
            exec_program(%0: f64[n,2,3,4], %1: f64[5,4,n,2]) {
              %2: f64[n,2,3,5] = dot_general[(3,), (1,), (0, 1), (2, 3)] %0, %1
              %3: f64[2,3,5] = reduce_sum[axes=(0,)] %2
              return %3
            }""",
        after="""
            exec_program(%0: f64[n,2,3,4], %1: f64[5,4,n,2]) {
              %3: f64[2,3,5] = dot_general[(0, 3), (2, 1), (1,), (3,)] %0, %1
              return %3
            }""",
    )


def test_both_operands_are_zero_where_the_product_does_not_count() -> None:
    text = rewritten(
        SUMMED,
        """
        exec_program(%0: c64[6,3], %1: c64[4,6], %2: bool[6]) {
          %3: c64[6,3,4] = dot_general[(), (), (0,), (1,)] %0, %1
          %4: bool[6,3,4] = broadcast_in_dim[shape=(6, 3, 4), dims=(0,)] %2
          %5: c64[] = constant[value=0j, dtype=c64]
          %6: c64[6,3,4] = broadcast_in_dim[shape=(6, 3, 4), dims=()] %5
          %7: c64[6,3,4] = select %4, %6, %3
          %8: c64[6,3,4] = dot_general[(), (), (0,), (1,)] %0, %1
          %9: c64[6,3,4] = add %7, %8
          %10: c64[3,4] = reduce_sum[axes=(0,)] %9
          return %10
        }""",
    )
    assert "[6,3,4]" not in text
    assert text.count("dot_general[(0,), (1,)]") == 2
    assert text.count("select") == 2


@pytest.mark.parametrize(
    ("mask", "axes", "result"),
    [("bool[6,3,4]", "(0,)", "f64[3,4]"), ("bool[6]", "(1,)", "f64[6,4]")],
)
def test_other_masks_and_other_sums_stay(mask: str, axes: str, result: str) -> None:
    dims = "(0, 1, 2)" if "," in mask else "(0,)"
    assert_leaves_alone(
        SummedProducts(),
        f"""
        exec_program(%0: f64[6,3], %1: f64[6,4], %2: {mask}) {{
          %3: f64[6,3,4] = dot_general[(), (), (0,), (0,)] %0, %1
          %4: bool[6,3,4] = broadcast_in_dim[shape=(6, 3, 4), dims={dims}] %2
          %5: f64[] = constant[value=0.0, dtype=f64]
          %6: f64[6,3,4] = broadcast_in_dim[shape=(6, 3, 4), dims=()] %5
          %7: f64[6,3,4] = select %4, %3, %6
          %8: {result} = reduce_sum[axes={axes}] %7
          return %8
        }}""",
    )


def test_products_that_something_else_reads_stay() -> None:
    assert_leaves_alone(
        SummedProducts(),
        """
        exec_program(%0: f64[6,3], %1: f64[6,4]) {
          %2: f64[6,3,4] = dot_general[(), (), (0,), (0,)] %0, %1
          %3: f64[3,4] = reduce_sum[axes=(0,)] %2
          return %2, %3
        }""",
    )
