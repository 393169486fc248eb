"""The order of axes chosen for contractions: text in, text out, and the same results."""

from hypothesis import given

from tenferro.compiler import ContractionLayout, OptimizerOptions, optimize
from tenferro.ir import ExecBuilder, ExecProgram, verify
from tenferro.ops import EXP, DotGeneral, Transpose
from tenferro.shape import FLOAT64, make_meta
from tests.programs import PASSES, assert_leaves_alone, assert_rewrites, assert_same_results, read
from tests.random_contractions import contraction_programs


def test_a_result_is_made_in_the_order_in_which_it_is_contracted() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[300,200] = dot_general[(1,), (0,)] %0, %1
              %4: f64[200,9] = dot_general[(0,), (0,)] %3, %2
              return %4
            }""",
        after="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[200,8] = transpose[perm=(1, 0)] %1
              %4: f64[200,300] = dot_general[(1,), (1,)] %3, %0
              %5: f64[200,9] = dot_general[(1,), (0,)] %4, %2
              return %5
            }""",
    )


def test_a_short_left_side_stays_where_the_result_would_have_to_be_moved() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[4,500], %1: f64[500,900], %2: f64[900,3]) {
              %3: f64[4,900] = dot_general[(1,), (0,)] %0, %1
              %4: f64[4,3] = dot_general[(1,), (0,)] %3, %2
              return %4
            }""",
        after="""
            exec_program(%0: f64[4,500], %1: f64[500,900], %2: f64[900,3]) {
              %3: f64[4,900] = dot_general[(1,), (0,)] %0, %1
              %4: f64[4,3] = dot_general[(1,), (0,)] %3, %2
              return %4
            }""",
    )


def test_a_wish_goes_through_what_is_elementwise_and_a_transpose_is_a_change_of_names() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[300,200] = dot_general[(1,), (0,)] %0, %1
              %4: f64[300,200] = exponential %3
              %5: f64[200,300] = transpose[perm=(1, 0)] %4
              %6: f64[200,9] = dot_general[(1,), (0,)] %5, %2
              return %6
            }""",
        after="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[200,8] = transpose[perm=(1, 0)] %1
              %4: f64[200,300] = dot_general[(1,), (1,)] %3, %0
              %5: f64[200,300] = exponential %4
              %6: f64[200,9] = dot_general[(1,), (0,)] %5, %2
              return %6
            }""",
    )


def test_batch_axes_are_made_to_lead() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[400,50], %1: f64[50,3,40], %2: f64[3,40,70]) {
              %3: f64[400,3,40] = dot_general[(1,), (0,)] %0, %1
              %4: f64[3,400,70] = dot_general[(2,), (1,), (1,), (0,)] %3, %2
              return %4
            }""",
        after="""
            exec_program(%0: f64[400,50], %1: f64[50,3,40], %2: f64[3,40,70]) {
              %3: f64[400,3,40] = dot_general[(1,), (0,)] %0, %1
              %4: f64[3,400,40] = transpose[perm=(1, 0, 2)] %3
              %5: f64[3,400,70] = dot_general[(2,), (1,), (0,), (0,)] %4, %2
              return %5
            }""",
    )


def test_an_operand_contracted_in_the_middle_stays_and_the_other_is_repeated() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[30,8], %1: f64[5,8,20], %2: f64[5,20,7]) {
              %3: f64[30,5,20] = dot_general[(1,), (1,)] %0, %1
              %4: f64[5,30,7] = dot_general[(2,), (1,), (1,), (0,)] %3, %2
              return %4
            }""",
        after="""
            exec_program(%0: f64[30,8], %1: f64[5,8,20], %2: f64[5,20,7]) {
              %3: f64[5,30,8] = broadcast_in_dim[shape=(5, 30, 8), dims=(1, 2)] %0
              %4: f64[5,30,20] = dot_general[(2,), (1,), (0,), (0,)] %3, %1
              %5: f64[5,30,7] = dot_general[(2,), (1,), (0,), (0,)] %4, %2
              return %5
            }""",
    )


def test_products_of_repeated_values_are_made_in_the_order_that_is_wanted() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[90,80], %1: f64[80,70], %2: f64[90,200], %3: f64[5,5]) {
              %4: f64[90,80,70] = broadcast_in_dim[shape=(90, 80, 70), dims=(0, 1)] %0
              %5: f64[90,80,70] = broadcast_in_dim[shape=(90, 80, 70), dims=(1, 2)] %1
              %6: f64[90,80,70] = multiply %4, %5
              %7: f64[80,70,200] = dot_general[(0,), (0,)] %6, %2
              %8: f64[5,5] = dot_general[(1,), (0,)] %3, %3
              return %7, %8
            }""",
        after="""
            exec_program(%0: f64[90,80], %1: f64[80,70], %2: f64[90,200], %3: f64[5,5]) {
              %4: f64[80,90] = transpose[perm=(1, 0)] %0
              %5: f64[80,70,90] = broadcast_in_dim[shape=(80, 70, 90), dims=(0, 2)] %4
              %6: f64[80,70,90] = broadcast_in_dim[shape=(80, 70, 90), dims=(0, 1)] %1
              %7: f64[80,70,90] = multiply %5, %6
              %8: f64[80,70,200] = dot_general[(2,), (0,)] %7, %2
              %9: f64[5,5] = dot_general[(1,), (0,)] %3, %3
              return %8, %9
            }""",
    )


def test_other_ops_and_outputs_get_their_values_as_they_were() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[300,200] = dot_general[(1,), (0,)] %0, %1
              %4: f64[200,9] = dot_general[(0,), (0,)] %3, %2
              %5: f64[200,300] = reshape[shape=(200, 300)] %3
              return %3, %4, %5
            }""",
        after="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[300,200] = dot_general[(1,), (0,)] %0, %1
              %4: f64[200,9] = dot_general[(0,), (0,)] %3, %2
              %5: f64[200,300] = reshape[shape=(200, 300)] %3
              return %3, %4, %5
            }""",
    )


def test_one_contraction_alone_is_left_to_the_executor() -> None:
    assert_leaves_alone(
        ContractionLayout(),
        """
        exec_program(%0: f64[8,300], %1: f64[8,200]) {
          %2: f64[300,200] = dot_general[(0,), (0,)] %0, %1
          return %2
        }""",
    )


def test_an_outer_product_is_written_in_the_order_in_which_it_is_read() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[4,5,6], %1: f64[4,7], %2: f64[4,7,6,5]) {
              %3: f64[4,5,6,7] = broadcast_in_dim[shape=(4, 5, 6, 7), dims=(0, 1, 2)] %0
              %4: f64[4,5,6,7] = broadcast_in_dim[shape=(4, 5, 6, 7), dims=(0, 3)] %1
              %5: f64[4,5,6,7] = multiply %3, %4
              %6: f64[4,7,6,5] = transpose[perm=(0, 3, 2, 1)] %5
              %7: f64[4,7,6,5] = multiply %2, %6
              %8: f64[] = reduce_sum[axes=(0, 1, 2, 3)] %7
              return %8
            }""",
        after="""
            exec_program(%0: f64[4,5,6], %1: f64[4,7], %2: f64[4,7,6,5]) {
              %3: f64[4,6,5] = transpose[perm=(0, 2, 1)] %0
              %4: f64[4,7,6,5] = broadcast_in_dim[shape=(4, 7, 6, 5), dims=(0, 2, 3)] %3
              %5: f64[4,7,6,5] = broadcast_in_dim[shape=(4, 7, 6, 5), dims=(0, 1)] %1
              %6: f64[4,7,6,5] = multiply %4, %5
              %7: f64[4,7,6,5] = multiply %2, %6
              %8: f64[] = reduce_sum[axes=(0, 1, 2, 3)] %7
              return %8
            }""",
    )


def test_a_contraction_over_no_axes_is_written_in_the_order_in_which_it_is_read() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: c128[5,4], %1: c128[7,6,4], %2: c128[7,5,4,6]) {
              %3: c128[4,5,7,6] = dot_general[(), (), (1,), (2,)] %0, %1
              %4: c128[7,5,4,6] = transpose[perm=(2, 1, 0, 3)] %3
              %5: c128[7,5,4,6] = multiply %4, %2
              return %5
            }""",
        after="""
            exec_program(%0: c128[5,4], %1: c128[7,6,4], %2: c128[7,5,4,6]) {
              %3: c128[7,5,4,6] = broadcast_in_dim[shape=(7, 5, 4, 6), dims=(1, 2)] %0
              %4: c128[7,4,6] = transpose[perm=(0, 2, 1)] %1
              %5: c128[7,5,4,6] = broadcast_in_dim[shape=(7, 5, 4, 6), dims=(0, 2, 3)] %4
              %6: c128[7,5,4,6] = multiply %3, %5
              %7: c128[7,5,4,6] = multiply %6, %2
              return %7
            }""",
    )


def test_transposes_cancel_through_elementwise_ops_and_sums_without_a_contraction() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[8,9,10], %1: f64[8,9,10]) {
              %2: f64[10,8,9] = transpose[perm=(2, 0, 1)] %0
              %3: f64[10,8,9] = exponential %2
              %4: f64[10,8,9] = transpose[perm=(2, 0, 1)] %1
              %5: f64[10,8,9] = multiply %3, %4
              %6: f64[10,9] = reduce_sum[axes=(1,)] %5
              return %6
            }""",
        after="""
            exec_program(%0: f64[8,9,10], %1: f64[8,9,10]) {
              %2: f64[8,9,10] = exponential %0
              %3: f64[8,9,10] = multiply %2, %1
              %4: f64[9,10] = reduce_sum[axes=(0,)] %3
              %5: f64[10,9] = transpose[perm=(1, 0)] %4
              return %5
            }""",
    )


def test_a_summed_axis_of_size_1_does_not_become_the_innermost_one() -> None:
    result = ContractionLayout().run(
        read("""
            exec_program(%0: f64[5,4,3]) {
              %1: f64[5,3] = reduce_sum[axes=(1,)] %0
              %2: f64[5,1,3] = broadcast_in_dim[shape=(5, 1, 3), dims=(0, 2)] %1
              %3: f64[5,1,3] = exponential %2
              %5: f64[5,4,3] = broadcast_in_dim[shape=(5, 4, 3), dims=(0, 1, 2)] %3
              %6: f64[5,4,3] = multiply %0, %5
              %7: f64[4,5,3] = transpose[perm=(1, 0, 2)] %6
              %8: f64[4,5,3] = sine %7
              %9: f64[5,4,3] = transpose[perm=(1, 0, 2)] %8
              %4: f64[5,3] = reduce_sum[axes=(1,)] %3
              return %4, %9
            }""")
    )
    assert "f64[5,1,3] = exponential" in str(result)
    assert not result.has_op(Transpose)


def test_a_program_whose_transposes_would_not_move_less_is_left_alone() -> None:
    assert_leaves_alone(
        ContractionLayout(),
        """
        exec_program(%0: f64[8,9], %1: f64[9,8]) {
          %2: f64[9,8] = transpose[perm=(1, 0)] %0
          %3: f64[9,8] = multiply %2, %1
          return %3
        }""",
    )


def test_a_program_whose_sizes_are_not_known_is_left_alone() -> None:
    assert_leaves_alone(
        ContractionLayout(),
        """
        exec_program(%0: f64[n,8], %1: f64[8,200], %2: f64[n,9]) {
          %3: f64[n,200] = dot_general[(1,), (0,)] %0, %1
          %4: f64[200,9] = dot_general[(0,), (0,)] %3, %2
          return %4
        }""",
    )


@given(contraction_programs())
def test_random_programs_keep_types_and_results(program: ExecProgram) -> None:
    verify(program)
    result = ContractionLayout().run(program)
    verify(result, after="contraction_layout")
    assert result.input_metas == program.input_metas
    assert result.output_metas == program.output_metas
    assert_same_results(program, result, {})
    with_it = optimize(program, passes=PASSES)
    without = optimize(program, OptimizerOptions(contraction_layout=False), PASSES)
    assert_same_results(without, with_it, {})


def test_exponentials_of_contractions_agree() -> None:
    builder = ExecBuilder()
    x, y = (builder.input(make_meta(FLOAT64, (7, 5))) for _ in range(2))
    (inner,) = builder.add(DotGeneral((0,), (0,)), [x, y])
    (warm,) = builder.add(EXP, [inner])
    (outer,) = builder.add(DotGeneral((0,), (1,)), [warm, x])
    program = builder.build([outer, warm])
    assert_same_results(program, ContractionLayout().run(program), {})
