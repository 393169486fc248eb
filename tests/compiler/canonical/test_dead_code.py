from tenferro.compiler import DeadCode
from tests.programs import assert_leaves_alone, assert_rewrites


def test_what_no_output_needs_is_dropped() -> None:
    assert_rewrites(
        DeadCode(),
        before="""
            exec_program(%0: f64[3]) {
              %1: f64[3] = sine %0
              %2: f64[3] = cosine %1!
              %3: f64[3] = tanh %0!
              return %3
            }""",
        after="""
            exec_program(%0: f64[3]) {
              %3: f64[3] = tanh %0
              return %3
            }""",
    )


def test_a_program_without_dead_code_is_left_alone_with_its_marks() -> None:
    assert_leaves_alone(
        DeadCode(),
        """
        exec_program(%0: f64[<=3,?]) {
          %1: f64[<=3,?] = sine %0!
          return %1, %1
        }""",
    )


def test_a_program_that_returns_its_input_needs_no_instruction() -> None:
    assert_rewrites(
        DeadCode(),
        before="""
            exec_program(%0: f64[0]) {
              %1: f64[0] = sine %0
              return %0
            }""",
        after="""
            exec_program(%0: f64[0]) {
              return %0
            }""",
    )
