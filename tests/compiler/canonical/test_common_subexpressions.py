from tenferro.compiler import CommonSubexpressions
from tests.programs import assert_leaves_alone, assert_rewrites


def test_the_first_of_equal_instructions_stays() -> None:
    assert_rewrites(
        CommonSubexpressions(),
        before="""
            exec_program(%0: f64[n]) {
              %1: f64[n] = cosine %0  # user.py:1
              %2: f64[n] = cosine %0  # user.py:2
              %3: f64[n] = multiply %1!, %2
              return %3, %2
            }""",
        after="""
            exec_program(%0: f64[n]) {
              %1: f64[n] = cosine %0  # user.py:1
              %3: f64[n] = multiply %1, %1
              return %3, %1
            }""",
    )


def test_operands_of_a_commutative_op_may_be_in_either_order() -> None:
    assert_rewrites(
        CommonSubexpressions(),
        before="""
            exec_program(%0: f64[2], %1: f64[2]) {
              %2: f64[2] = multiply %1, %0
              %3: f64[2] = multiply %0, %1
              %4: f64[2] = maximum %2, %3
              return %4
            }""",
        after="""
            exec_program(%0: f64[2], %1: f64[2]) {
              %2: f64[2] = multiply %1, %0
              %4: f64[2] = maximum %2, %2
              return %4
            }""",
    )


def test_equality_reaches_through_what_became_equal() -> None:
    assert_rewrites(
        CommonSubexpressions(),
        before="""
            exec_program(%0: f64[]) {
              %1: f64[] = sine %0
              %2: f64[] = sine %0
              %3: f64[] = tanh %1
              %4: f64[] = tanh %2
              return %3, %4
            }""",
        after="""
            exec_program(%0: f64[]) {
              %1: f64[] = sine %0
              %3: f64[] = tanh %1
              return %3, %3
            }""",
    )


def test_payloads_and_orders_that_differ_are_kept_apart() -> None:
    assert_leaves_alone(
        CommonSubexpressions(),
        """
        exec_program(%0: f64[2,2], %1: f64[2,2]) {
          %2: f64[2,2] = subtract %0, %1
          %3: f64[2,2] = subtract %1, %0
          %4: f64[] = constant[value=0.0, dtype=f64]
          %5: f64[] = constant[value=-0.0, dtype=f64]
          %6: f64[2] = reduce_sum[axes=(0,)] %2
          %7: f64[2] = reduce_sum[axes=(1,)] %2
          return %3, %4, %5, %6, %7
        }""",
    )
