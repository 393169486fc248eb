"""LoopFusion: switches on the same index become one."""

from tenferro.compiler import LoopFusion, parse
from tests.programs import assert_rewrites

VALUE_AND_DERIVATIVE = """
exec_program(%0: i32[], %1: f64[3]) {
  %2: f64[3] = switch %0, %1 {
    branches[0](%0: f64[3]) {
      %1: f64[3] = sine %0
      return %1
    }
    branches[1](%0: f64[3]) {
      return %0
    }
  }
  %3: f64[3] = negate %2
  %4: f64[3] = exponential %1
  %5: f64[3] = switch %0, %4, %2 {
    branches[0](%0: f64[3], %1: f64[3]) {
      %2: f64[3] = multiply %0, %1
      return %2
    }
    branches[1](%0: f64[3], %1: f64[3]) {
      return %0
    }
  }
  return %3, %5
}"""


def test_a_switch_passes_its_result_on_inside_the_branch() -> None:
    assert_rewrites(
        LoopFusion(),
        VALUE_AND_DERIVATIVE,
        """
exec_program(%0: i32[], %1: f64[3]) {
  %4: f64[3] = exponential %1
  %2: f64[3], %5: f64[3] = switch %0, %1, %4 {
    branches[0](%0: f64[3], %1: f64[3]) {
      %2: f64[3] = sine %0!
      %3: f64[3] = multiply %1!, %2
      return %2, %3
    }
    branches[1](%0: f64[3], %1: f64[3]) {
      return %0, %1
    }
  }
  %3: f64[3] = negate %2
  return %3, %5
}""",
    )


def test_switches_stay_apart_on_other_indices_and_where_a_value_comes_between() -> None:
    for program in (
        VALUE_AND_DERIVATIVE.replace("(%0: i32[], ", "(%6: i32[], %0: i32[], ").replace(
            "switch %0, %4", "switch %6, %4"
        ),
        VALUE_AND_DERIVATIVE.replace("exponential %1", "exponential %2"),
    ):
        parsed = parse(program)
        assert LoopFusion().run(parsed) is parsed
