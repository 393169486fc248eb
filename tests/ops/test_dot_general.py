"""A contraction reads one copy of an operand that is the same for all entries of a batch."""

from __future__ import annotations

from tenferro.compiler import AlgebraicSimplifier
from tests.programs import assert_leaves_alone, assert_rewrites


def test_a_batch_axis_along_which_the_lhs_is_repeated_becomes_a_free_one() -> None:
    assert_rewrites(
        AlgebraicSimplifier(),
        before="""
            exec_program(%0: f64[3,4], %1: f64[n,4]) {
              %2: f64[n,3,4] = broadcast_in_dim[shape=(n, 3, 4), dims=(1, 2)] %0
              %3: f64[n,3] = dot_general[(2,), (1,), (0,), (0,)] %2, %1
              return %3
            }""",
        after="""
            exec_program(%0: f64[3,4], %1: f64[n,4]) {
              %2: f64[n,3,4] = broadcast_in_dim[shape=(n, 3, 4), dims=(1, 2)] %0
              %3: f64[n,3] = dot_general[(1,), (1,)] %1, %0
              return %3
            }""",
    )


def test_a_repetition_is_found_behind_pointwise_ops_of_one_operand() -> None:
    assert_rewrites(
        AlgebraicSimplifier(),
        before="""
            exec_program(%0: f32[1,4,3], %1: f64[5,2,4]) {
              %2: f32[5,4,3] = broadcast_in_dim[shape=(5, 4, 3), dims=(0, 1, 2)] %0
              %3: f64[5,4,3] = convert[dtype=f64] %2
              %4: f64[5,4,3] = tanh %3
              %5: f64[5,2,3] = dot_general[(2,), (1,), (0,), (0,)] %1, %4
              return %5
            }""",
        after="""
            exec_program(%0: f32[1,4,3], %1: f64[5,2,4]) {
              %2: f32[5,4,3] = broadcast_in_dim[shape=(5, 4, 3), dims=(0, 1, 2)] %0
              %3: f64[5,4,3] = convert[dtype=f64] %2
              %4: f64[5,4,3] = tanh %3
              %6: f32[4,3] = reshape[shape=(4, 3)] %0
              %7: f64[4,3] = convert[dtype=f64] %6
              %8: f64[4,3] = tanh %7
              %5: f64[5,2,3] = dot_general[(2,), (0,)] %1, %8
              return %5
            }""",
    )


def test_what_is_the_same_for_all_entries_is_computed_once() -> None:
    assert_rewrites(
        AlgebraicSimplifier(),
        before="""
            exec_program(%0: c128[3,4], %1: c128[4,0], %2: c128[2,4]) {
              %3: c128[2,3,4] = broadcast_in_dim[shape=(2, 3, 4), dims=(1, 2)] %0
              %4: c128[2,4,0] = broadcast_in_dim[shape=(2, 4, 0), dims=(1, 2)] %1
              %5: c128[2,3,0] = dot_general[(2,), (1,), (0,), (0,)] %3, %4
              return %5
            }""",
        after="""
            exec_program(%0: c128[3,4], %1: c128[4,0], %2: c128[2,4]) {
              %3: c128[2,3,4] = broadcast_in_dim[shape=(2, 3, 4), dims=(1, 2)] %0
              %4: c128[2,4,0] = broadcast_in_dim[shape=(2, 4, 0), dims=(1, 2)] %1
              %6: c128[3,0] = dot_general[(1,), (0,)] %0, %1
              %5: c128[2,3,0] = broadcast_in_dim[shape=(2, 3, 0), dims=(1, 2)] %6
              return %5
            }""",
    )


def test_a_transpose_of_the_result_is_made_where_it_moves_no_more_than_the_copies() -> None:
    text = """
        exec_program(%0: i64[3,4], %1: i64[SIZE,4,2]) {
          %2: i64[SIZE,3,4] = broadcast_in_dim[shape=(SIZE, 3, 4), dims=(1, 2)] %0
          %3: i64[SIZE,3,2] = dot_general[(2,), (1,), (0,), (0,)] %2, %1
          return %3
        }"""
    assert_rewrites(
        AlgebraicSimplifier(),
        before=text.replace("SIZE", "5"),
        after="""
            exec_program(%0: i64[3,4], %1: i64[5,4,2]) {
              %2: i64[5,3,4] = broadcast_in_dim[shape=(5, 3, 4), dims=(1, 2)] %0
              %4: i64[3,5,2] = dot_general[(1,), (1,)] %0, %1
              %3: i64[5,3,2] = transpose[perm=(1, 0, 2)] %4
              return %3
            }""",
    )
    assert_leaves_alone(AlgebraicSimplifier(), text.replace("SIZE", "n"))  # the sizes are not known
    assert_leaves_alone(
        AlgebraicSimplifier(),
        text.replace("SIZE", "5").replace("4,2]", "4,9]").replace("3,2]", "3,9]"),
    )


def test_only_the_axes_of_a_repetition_become_free() -> None:
    assert_rewrites(
        AlgebraicSimplifier(),
        before="""
            exec_program(%0: f64[2,4], %1: f64[2,5,4]) {
              %2: f64[2,5,4] = broadcast_in_dim[shape=(2, 5, 4), dims=(0, 2)] %0
              %3: f64[2,5] = dot_general[(2,), (2,), (0, 1), (0, 1)] %1, %2
              return %3
            }""",
        after="""
            exec_program(%0: f64[2,4], %1: f64[2,5,4]) {
              %2: f64[2,5,4] = broadcast_in_dim[shape=(2, 5, 4), dims=(0, 2)] %0
              %3: f64[2,5] = dot_general[(2,), (1,), (0,), (0,)] %1, %0
              return %3
            }""",
    )


def test_an_operand_that_differs_or_is_repeated_far_away_stays() -> None:
    deep = "\n".join(f"%{i}: f64[5,4] = sine %{i - 1}" for i in range(3, 103))
    for steps, last in (("", 0), (deep, 102)):
        assert_leaves_alone(
            AlgebraicSimplifier(),
            f"""
            exec_program(%0: f64[5,4], %1: f64[4]) {{
              %2: f64[5,4] = broadcast_in_dim[shape=(5, 4), dims=(1,)] %1
              {steps}
              %103: f64[5] = dot_general[(1,), (1,), (0,), (0,)] %0, %{last}
              return %103
            }}""",
        )
