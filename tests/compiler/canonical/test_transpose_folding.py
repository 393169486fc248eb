from tenferro.compiler import DeadCode, Pass, TransposeFolding
from tenferro.ir import ExecProgram, verify
from tests.programs import SIZES, assert_leaves_alone, assert_rewrites, assert_same_results, read


class Folding:
    """The pass, and the dead code that it leaves."""

    name = "transpose_folding"

    def run(self, program: ExecProgram) -> ExecProgram:
        folded = TransposeFolding().run(program)
        verify(folded)
        return DeadCode().run(folded)


FOLDING: Pass = Folding()


def test_a_transposed_operand_is_folded_into_the_contraction() -> None:
    assert_rewrites(
        TransposeFolding(),
        before="""
            exec_program(%0: f64[3,2], %1: f64[3,4]) {
              %2: f64[2,3] = transpose[perm=(1, 0)] %0!
              %3: f64[2,4] = dot_general[(1,), (0,)] %2!, %1!
              return %3
            }""",
        after="""
            exec_program(%0: f64[3,2], %1: f64[3,4]) {
              %2: f64[2,3] = transpose[perm=(1, 0)] %0
              %3: f64[2,4] = dot_general[(0,), (0,)] %0, %1
              return %3
            }""",
    )


def test_batch_and_contracted_axes_of_both_operands_may_lie_anywhere() -> None:
    assert_rewrites(
        FOLDING,
        before="""
            exec_program(%0: f64[n,2,3,5], %1: f64[4,5,n,2]) {
              %2: f64[5,n,3,2] = transpose[perm=(3, 0, 2, 1)] %0
              %3: f64[n,2,5,4] = transpose[perm=(2, 3, 1, 0)] %1
              %4: f64[5,3,4] = dot_general[(1, 3), (0, 1), (0,), (2,)] %2, %3
              return %4
            }""",
        after="""
            exec_program(%0: f64[n,2,3,5], %1: f64[4,5,n,2]) {
              %4: f64[5,3,4] = dot_general[(0, 1), (2, 3), (3,), (1,)] %0, %1
              return %4
            }""",
    )


def test_a_transpose_that_reorders_free_axes_is_left_alone() -> None:
    assert_leaves_alone(
        TransposeFolding(),
        """
        exec_program(%0: f64[3,2,5], %1: f64[5,4]) {
          %2: f64[2,3,5] = transpose[perm=(1, 0, 2)] %0
          %3: f64[2,3,4] = dot_general[(2,), (0,)] %2, %1
          return %3
        }""",
    )


def test_a_transpose_of_the_result_takes_up_the_order_of_free_axes() -> None:
    assert_rewrites(
        FOLDING,
        before="""
            exec_program(%0: f64[3,2,5], %1: f64[5,4]) {
              %2: f64[2,3,5] = transpose[perm=(1, 0, 2)] %0
              %3: f64[2,3,4] = dot_general[(2,), (0,)] %2, %1
              %4: f64[3,2,4] = transpose[perm=(1, 0, 2)] %3
              return %4
            }""",
        after="""
            exec_program(%0: f64[3,2,5], %1: f64[5,4]) {
              %5: f64[3,2,4] = dot_general[(2,), (0,)] %0, %1
              return %5
            }""",
    )


def test_what_the_result_does_not_take_up_stays_one_transpose() -> None:
    assert_rewrites(
        FOLDING,
        before="""
            exec_program(%0: f64[3,2,5], %1: f64[5,4]) {
              %2: f64[2,3,5] = transpose[perm=(1, 0, 2)] %0
              %3: f64[2,3,4] = dot_general[(2,), (0,)] %2, %1
              %4: f64[2,4,3] = transpose[perm=(0, 2, 1)] %3
              return %4
            }""",
        after="""
            exec_program(%0: f64[3,2,5], %1: f64[5,4]) {
              %5: f64[3,2,4] = dot_general[(2,), (0,)] %0, %1
              %4: f64[2,4,3] = transpose[perm=(1, 2, 0)] %5
              return %4
            }""",
    )


def test_a_transposed_product_is_the_product_of_the_exchanged_operands() -> None:
    assert_rewrites(
        FOLDING,
        before="""
            exec_program(%0: c128[7,2,3], %1: c128[7,3,4]) {
              %2: c128[7,2,4] = dot_general[(2,), (1,), (0,), (0,)] %0, %1
              %3: c128[7,4,2] = transpose[perm=(0, 2, 1)] %2
              return %3
            }""",
        after="""
            exec_program(%0: c128[7,2,3], %1: c128[7,3,4]) {
              %3: c128[7,4,2] = dot_general[(1,), (2,), (0,), (0,)] %1, %0
              return %3
            }""",
    )


def test_batch_axes_of_the_result_are_reordered_in_the_contraction() -> None:
    assert_rewrites(
        FOLDING,
        before="""
            exec_program(%0: f64[7,0,3], %1: f64[7,0,3]) {
              %2: f64[7,0] = dot_general[(2,), (2,), (0, 1), (0, 1)] %0, %1
              %3: f64[0,7] = transpose[perm=(1, 0)] %2
              return %3
            }""",
        after="""
            exec_program(%0: f64[7,0,3], %1: f64[7,0,3]) {
              %3: f64[0,7] = dot_general[(2,), (2,), (1, 0), (1, 0)] %0, %1
              return %3
            }""",
    )


def test_a_product_that_is_also_read_elsewhere_is_computed_once() -> None:
    for returned in ("%2, %3", "%3, %4"):
        text = f"""
            exec_program(%0: f64[2,3], %1: f64[3,4]) {{
              %2: f64[2,4] = dot_general[(1,), (0,)] %0, %1
              %3: f64[4,2] = transpose[perm=(1, 0)] %2
              %4: f64[2,4] = transpose[perm=(1, 0)] %3
              return {returned}
            }}"""
        result = FOLDING.run(read(text))
        names = [step.op.name for step in result.instructions]
        assert names.count("dot_general") == 1
        assert_same_results(read(text), result, SIZES)


def test_two_transposes_of_a_transposed_product_do_not_double_it() -> None:
    text = """
        exec_program(%0: f64[5,2,3], %1: f64[3,4]) {
          %2: f64[5,2,4] = dot_general[(2,), (0,)] %0, %1
          %3: f64[2,5,4] = transpose[perm=(1, 0, 2)] %2
          %4: f64[4,5,2] = transpose[perm=(2, 1, 0)] %3
          %5: f64[4,2,5] = transpose[perm=(2, 0, 1)] %3
          return %4, %5
        }"""
    result = FOLDING.run(read(text))
    assert [step.op.name for step in result.instructions].count("dot_general") == 1
    assert_same_results(read(text), result, SIZES)


def test_free_axes_that_are_not_exact_keep_their_guarantee() -> None:
    assert_rewrites(
        FOLDING,
        before="""
            exec_program(%0: f64[3,?], %1: f64[<=n,3]) {
              %2: f64[?,3] = transpose[perm=(1, 0)] %0
              %3: f64[3,<=n] = transpose[perm=(1, 0)] %1
              %4: f64[?,<=n] = dot_general[(1,), (0,)] %2, %3
              return %4
            }""",
        after="""
            exec_program(%0: f64[3,?], %1: f64[<=n,3]) {
              %4: f64[?,<=n] = dot_general[(0,), (1,)] %0, %1
              return %4
            }""",
    )
