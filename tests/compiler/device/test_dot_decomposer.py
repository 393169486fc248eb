import pytest

from tenferro.compiler import DotDecomposer
from tenferro.ir import verify
from tests.programs import SIZES, assert_leaves_alone, assert_rewrites, assert_same_results, read


def test_several_axes_of_a_kind_are_merged_by_reshapes() -> None:
    assert_rewrites(
        DotDecomposer(),
        before="""
            exec_program(%0: f64[2,3,n,5], %1: f64[n,5,7]) {
              %2: f64[2,3,7] = dot_general[(2, 3), (0, 1)] %0, %1
              return %2
            }""",
        after="""
            exec_program(%0: f64[2,3,n,5], %1: f64[n,5,7]) {
              %3: f64[6,5*n] = reshape[shape=(6, 5*n)] %0
              %4: f64[5*n,7] = reshape[shape=(5*n, 7)] %1
              %5: f64[6,7] = dot_general[(1,), (0,)] %3, %4
              %2: f64[2,3,7] = reshape[shape=(2, 3, 7)] %5
              return %2
            }""",
    )


def test_contracted_axes_that_come_first_stay_there() -> None:
    assert_rewrites(
        DotDecomposer(),
        before="""
            exec_program(%0: f64[3,4,2,2], %1: f64[5,3,4]) {
              %2: f64[2,2,5] = dot_general[(0, 1), (1, 2)] %0, %1
              return %2
            }""",
        after="""
            exec_program(%0: f64[3,4,2,2], %1: f64[5,3,4]) {
              %3: f64[12,4] = reshape[shape=(12, 4)] %0
              %4: f64[5,12] = reshape[shape=(5, 12)] %1
              %5: f64[4,5] = dot_general[(0,), (1,)] %3, %4
              %2: f64[2,2,5] = reshape[shape=(2, 2, 5)] %5
              return %2
            }""",
    )


def test_batch_axes_are_moved_to_the_front() -> None:
    assert_rewrites(
        DotDecomposer(),
        before="""
            exec_program(%0: c64[2,9,3], %1: c64[3,4,9]) {
              %2: c64[9,2,4] = dot_general[(2,), (0,), (1,), (2,)] %0, %1
              return %2
            }""",
        after="""
            exec_program(%0: c64[2,9,3], %1: c64[3,4,9]) {
              %3: c64[9,2,3] = transpose[perm=(1, 0, 2)] %0
              %4: c64[9,3,4] = transpose[perm=(2, 0, 1)] %1
              %2: c64[9,2,4] = dot_general[(2,), (1,), (0,), (0,)] %3, %4
              return %2
            }""",
    )


def test_batch_axes_become_one() -> None:
    assert_rewrites(
        DotDecomposer(),
        before="""
            exec_program(%0: f64[9,8,2,3], %1: f64[9,8,3]) {
              %2: f64[9,8,2] = dot_general[(3,), (2,), (0, 1), (0, 1)] %0, %1
              return %2
            }""",
        after="""
            exec_program(%0: f64[9,8,2,3], %1: f64[9,8,3]) {
              %3: f64[72,2,3] = reshape[shape=(72, 2, 3)] %0
              %4: f64[72,3] = reshape[shape=(72, 3)] %1
              %5: f64[72,2] = dot_general[(2,), (1,), (0,), (0,)] %3, %4
              %2: f64[9,8,2] = reshape[shape=(9, 8, 2)] %5
              return %2
            }""",
    )


def test_only_the_side_whose_group_does_not_lie_together_is_transposed() -> None:
    assert_rewrites(
        DotDecomposer(),
        before="""
            exec_program(%0: f64[3,2,4], %1: f64[3,4]) {
              %2: f64[2] = dot_general[(0, 2), (0, 1)] %0, %1
              return %2
            }""",
        after="""
            exec_program(%0: f64[3,2,4], %1: f64[3,4]) {
              %3: f64[2,3,4] = transpose[perm=(1, 0, 2)] %0
              %4: f64[2,12] = reshape[shape=(2, 12)] %3
              %5: f64[12] = reshape[shape=(12,)] %1
              %2: f64[2] = dot_general[(1,), (0,)] %4, %5
              return %2
            }""",
    )


@pytest.mark.parametrize(
    ("lhs", "rhs", "result", "dot"),
    [
        ("2,3", "3,4", "2,4", "(1,), (0,), (), ()"),
        ("3,2", "4,3", "2,4", "(0,), (1,), (), ()"),
        ("9,2,3", "9,3,4", "9,2,4", "(2,), (1,), (0,), (0,)"),
        ("3", "3", "", "(0,), (0,), (), ()"),
        ("2", "3", "2,3", "(), (), (), ()"),
        ("", "", "", "(), (), (), ()"),
        ("0,n", "n,0", "0,0", "(1,), (0,), (), ()"),
        ("?,3", "3,<=n", "?,<=n", "(1,), (0,), (), ()"),
        # merging needs sizes that nobody knows, or that 64 bits do not hold
        ("?,2,3", "3,4", "?,2,4", "(2,), (0,), (), ()"),
        ("2,3", "3,4,<=n", "2,4,<=n", "(1,), (0,), (), ()"),
        ("<=n,7,3", "7,3,4", "7,<=n,4", "(2,), (1,), (1,), (0,)"),
        (f"0,{2**62},{2**62}", "0", f"{2**62},{2**62}", "(0,), (0,), (), ()"),
    ],
)
def test_what_is_canonical_or_cannot_be_made_so_is_left_alone(
    lhs: str, rhs: str, result: str, dot: str
) -> None:
    program = read(contraction(lhs, rhs, result, dot))
    verify(program)
    assert DotDecomposer().run(program) is program


@pytest.mark.parametrize(
    ("lhs", "rhs", "result", "dot"),
    [
        ("2,3", "4,5", "2,3,4,5", "(), (), (), ()"),
        ("0,3,2", "2,3,0", "", "(0, 1, 2), (2, 1, 0), (), ()"),
        ("2,3,2", "2,3,2", "2,3,2", "(), (), (0, 1, 2), (0, 1, 2)"),
        ("2,3,2", "2,2,3", "3,2,2", "(), (), (1, 0, 2), (2, 0, 1)"),
        ("n,m,3", "m,n", "3", "(0, 1), (1, 0), (), ()"),
        ("n,2,m,3", "m,4,n,5", "m,n,2,3,4,5", "(), (), (2, 0), (0, 2)"),
        ("4,1,3,2", "2,3,1,4", "3,2,2", "(0, 1), (3, 2), (2,), (1,)"),
    ],
)
def test_any_contraction_becomes_one_batched_matrix_product(
    lhs: str, rhs: str, result: str, dot: str
) -> None:
    program = read(contraction(lhs, rhs, result, dot))
    verify(program)
    decomposed = DotDecomposer().run(program)
    verify(decomposed, after="dot_decomposer")
    assert_same_results(program, decomposed, SIZES)
    assert DotDecomposer().run(decomposed) is decomposed


def test_a_canonical_product_is_left_alone_as_text() -> None:
    assert_leaves_alone(DotDecomposer(), contraction("2,3", "3,4", "2,4", "(1,), (0,), (), ()"))


def contraction(lhs: str, rhs: str, result: str, dot: str) -> str:
    """A program of one contraction; `dot` lists contracted axes, then batch axes."""
    return f"""
exec_program(%0: f64[{lhs}], %1: f64[{rhs}]) {{
  %2: f64[{result}] = dot_general[{dot}] %0, %1
  return %2
}}"""
