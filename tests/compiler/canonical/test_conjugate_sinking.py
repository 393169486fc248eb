"""Conjugates meet at the outputs; results stay what they were."""

import numpy as np
from hypothesis import given

from tenferro.compiler import ConjugateSinking, optimize
from tenferro.ir import ExecProgram, verify
from tests.programs import (
    assert_leaves_alone,
    assert_rewrites,
    assert_same_results,
    read,
    run,
)
from tests.random_contractions import contraction_programs


def test_a_contraction_of_conjugates_is_the_conjugate_of_the_contraction() -> None:
    assert_rewrites(
        ConjugateSinking(),
        before="""
            exec_program(%0: c128[4,5], %1: c128[5,6], %2: c128[6,7]) {
              %3: c128[4,5] = conj %0
              %4: c128[5,6] = conj %1
              %5: c128[4,6] = dot_general[(1,), (0,)] %3, %4
              %6: c128[6,7] = conj %2
              %7: c128[4,7] = dot_general[(1,), (0,)] %5, %6
              return %7
            }""",
        after="""
            exec_program(%0: c128[4,5], %1: c128[5,6], %2: c128[6,7]) {
              %8: c128[4,6] = dot_general[(1,), (0,)] %0, %1
              %9: c128[4,7] = dot_general[(1,), (0,)] %8, %2
              %7: c128[4,7] = conj %9
              return %7
            }""",
    )


def test_a_constant_is_conjugated_in_the_place_of_an_operand() -> None:
    assert_rewrites(
        ConjugateSinking(),
        before="""
            exec_program(%0: c128[4,5]) {
              %1: c128[] = constant[value=(1+2j), dtype=c128]
              %2: c128[3,4] = broadcast_in_dim[shape=(3, 4), dims=()] %1
              %3: c128[4,5] = conj %0
              %4: c128[3,5] = dot_general[(1,), (0,)] %2, %3
              %5: f64[3,5] = real %4
              return %5
            }""",
        after="""
            exec_program(%0: c128[4,5]) {
              %1: c128[] = constant[value=(1+2j), dtype=c128]
              %2: c128[3,4] = broadcast_in_dim[shape=(3, 4), dims=()] %1
              %6: c128[] = constant[value=(1-2j), dtype=c128]
              %7: c128[3,4] = broadcast_in_dim[shape=(3, 4), dims=()] %6
              %8: c128[3,5] = dot_general[(1,), (0,)] %7, %0
              %5: f64[3,5] = real %8
              return %5
            }""",
    )


def test_a_function_with_a_branch_cut_gets_the_zeros_that_it_would_have_got() -> None:
    """conj(x) - 5 has the imaginary part +0 where that of x is +0, and its logarithm +pi."""
    text = """
        exec_program(%0: c128[4]) {
          %1: c128[4] = conj %0
          %2: c128[] = constant[value=(-5+0j), dtype=c128]
          %3: c128[4] = broadcast_in_dim[shape=(4,), dims=()] %2
          %4: c128[4] = add %1, %3
          %5: c128[4] = log %4
          return %5, %1
        }"""
    program = read(text)
    x = np.array([1, 2, 3, 4], complex)
    (before, _), (after, _) = (run(each, [x]) for each in (program, optimize(program)))
    np.testing.assert_array_equal(before, after)
    assert np.all(after.imag > 3)


def test_a_small_value_is_not_conjugated_after_it_was_repeated() -> None:
    program = ConjugateSinking().run(
        read(
            """
            exec_program(%0: c128[3]) {
              %1: c128[3] = conj %0
              %2: c128[3,1000] = broadcast_in_dim[shape=(3, 1000), dims=(0,)] %1
              %3: c128[3,1000] = exponential %2
              return %3
            }"""
        )
    )
    assert "c128[3] = conj %0" in str(program)


def test_a_conjugate_that_meets_an_equal_operand_is_taken_there() -> None:
    """As in |x|^2; and the real part of it needs none."""
    assert_rewrites(
        ConjugateSinking(),
        before="""
            exec_program(%0: c128[4]) {
              %1: c128[4] = conj %0
              %2: f64[4] = real %1
              %3: c128[4] = multiply %0, %1
              return %2, %3
            }""",
        after="""
            exec_program(%0: c128[4]) {
              %2: f64[4] = real %0
              %4: c128[4] = conj %0
              %3: c128[4] = multiply %0, %4
              return %2, %3
            }""",
    )


def test_a_conjugate_of_a_conjugate_is_the_value() -> None:
    assert_rewrites(
        ConjugateSinking(),
        before="""
            exec_program(%0: c128[4,4]) {
              %1: c128[4,4] = conj %0
              %2: c128[4,4] = transpose[perm=(1, 0)] %1
              %3: c128[4,4] = conj %2
              return %2, %3
            }""",
        after="""
            exec_program(%0: c128[4,4]) {
              %4: c128[4,4] = transpose[perm=(1, 0)] %0
              %2: c128[4,4] = conj %4
              return %2, %4
            }""",
    )


def test_a_program_whose_conjugates_stay_where_they_are_is_left_alone() -> None:
    """Two readers, an output, and an op that does not pass conjugates on."""
    assert_leaves_alone(
        ConjugateSinking(),
        """
        exec_program(%0: c128[3], %1: c128[3]) {
          %2: c128[3] = conj %0
          %3: c128[3] = sine %1
          %4: c128[3] = multiply %0, %2
          %5: c128[3] = conj %1
          %6: c128[3] = multiply %3, %2
          return %4, %5, %6
        }""",
    )


def test_a_program_without_conjugates_is_left_alone() -> None:
    assert_leaves_alone(
        ConjugateSinking(),
        """
        exec_program(%0: c128[4,5], %1: c128[5,6]) {
          %2: c128[4,6] = dot_general[(1,), (0,)] %0, %1
          return %2
        }""",
    )


@given(contraction_programs())
def test_random_programs_keep_types_and_results(program: ExecProgram) -> None:
    result = ConjugateSinking().run(program)
    verify(result)
    assert result.output_metas == program.output_metas
    assert_same_results(program, result, {})
