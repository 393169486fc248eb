"""A loop of one round, and a choice that is known, are written out."""

import pytest

from tenferro.compiler import LoopInlining
from tests.programs import assert_leaves_alone, assert_rewrites


def test_a_scan_of_one_round_is_its_body() -> None:
    assert_rewrites(
        LoopInlining(),
        before="""
            exec_program(%0: f64[2], %1: f64[2], %2: f64[1,2]) {
              %3: f64[2], %4: f64[1,2] = scan[consts=1, carry=1, length=1] %0, %1, %2 {
                body(%0: f64[2], %1: f64[2], %2: f64[2]) {
                  %3: f64[2] = multiply %0, %1  # user.py:3
                  %4: f64[2] = add %3, %2
                  return %4, %3
                }
              }
              return %3, %4
            }""",
        after="""
            exec_program(%0: f64[2], %1: f64[2], %2: f64[1,2]) {
              %5: f64[2] = reshape[shape=(2,)] %2
              %6: f64[2] = multiply %0, %1  # user.py:3
              %7: f64[2] = add %6, %5
              %8: f64[1,2] = reshape[shape=(1, 2)] %6
              return %7, %8
            }""",
    )


SWITCH = """
exec_program(%0: f64[2], %1: i64[]) {{
  {index}
  %3: f64[2] = switch %2, %0 {{
    branches[0](%0: f64[2]) {{
      %1: f64[2] = sine %0
      return %1
    }}
    branches[1](%0: f64[2]) {{
      return %0
    }}
  }}
  return %3
}}"""


@pytest.mark.parametrize(
    ("value", "result"), [(-3, "%3: f64[2] = sine %0\n  return %3"), (7, "return %0")]
)
def test_a_switch_whose_index_is_known_is_a_branch(value: int, result: str) -> None:
    index = f"%2: i64[] = constant[value={value}, dtype=i64]"
    after = f"exec_program(%0: f64[2], %1: i64[]) {{\n  {index}\n  {result}\n}}"
    assert_rewrites(LoopInlining(), SWITCH.format(index=index), after)


def test_other_loops_and_choices_stay() -> None:
    assert_leaves_alone(LoopInlining(), SWITCH.format(index="%2: i64[] = negate %1"))
    assert_leaves_alone(
        LoopInlining(),
        """
        exec_program(%0: f64[2]) {
          %1: f64[2] = scan[consts=0, carry=1, length=2] %0 {
            body(%0: f64[2]) {
              %1: f64[2] = sine %0
              return %1
            }
          }
          return %1
        }""",
    )
