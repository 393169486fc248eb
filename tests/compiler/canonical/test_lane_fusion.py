"""Sums over the same rounds become one, and contract what they share once."""

import pytest

from tenferro.compiler import LoopFusion, parse
from tests.programs import assert_leaves_alone, assert_rewrites, dots

ALIKE = """
exec_program(%0: f64[4,4], %1: f64[4], %2: f64[4]) {
  %3: f64[4] = lane_sum[consts=2, total=16, lanes=2, apart=(False,)] %0, %1 {
    body(%0: f64[4,4], %1: f64[4], %2: f64[4], %3: i64[]) {
      %4: f64[4] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %1
      %5: f64[4] = add %2, %4
      return %5
    }
  }
  %4: f64[4] = negate %2
  %5: f64[4] = lane_sum[consts=3, total=16, lanes=2, apart=(True,)] %4, %0, %1 {
    body(%0: f64[4], %1: f64[4,4], %2: f64[4], %3: f64[4], %4: i64[]) {
      %5: f64[4] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %1, %2
      %6: f64[4] = multiply %5, %0
      %7: f64[4] = add %3, %6
      return %7
    }
  }
  return %3, %5
}"""


def test_sums_with_a_common_contraction_are_one() -> None:
    assert_rewrites(
        LoopFusion(),
        ALIKE,
        """
exec_program(%0: f64[4,4], %1: f64[4], %2: f64[4]) {
  %4: f64[4] = negate %2
  %3: f64[4], %5: f64[4] = lane_sum[consts=3, total=16, lanes=2, apart=(False, True)] %0, %1, %4 {
    body(%0: f64[4,4], %1: f64[4], %2: f64[4], %3: f64[4], %4: f64[4], %5: i64[]) {
      %6: f64[4] = dot_general[(1,), (0,)] %0!, %1!
      %7: f64[4] = add %3!, %6
      %8: f64[4] = multiply %6!, %2!
      %9: f64[4] = add %4!, %8!
      return %7, %9
    }
  }
  return %3, %5
}""",
    )
    assert dots(LoopFusion().run(parse(ALIKE))) == 16


@pytest.mark.parametrize(
    ("part", "changed"),
    [
        ("consts=3, total=16", "consts=3, total=17"),
        ("consts=3, total=16, lanes=2", "consts=3, total=16, lanes=1"),
        ("negate %2", "negate %3"),  # the second reads the first
        ("rhs_contract=(0,)] %1, %2", "rhs_contract=(0,)] %1, %0"),  # no common work
    ],
)
def test_others_stay_apart(part: str, changed: str) -> None:
    assert_leaves_alone(LoopFusion(), ALIKE.replace(part, changed))
