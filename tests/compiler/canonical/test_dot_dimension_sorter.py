from tenferro.compiler import DotDimensionSorter
from tests.programs import assert_leaves_alone, assert_rewrites

DOT = """
    exec_program(%0: f64[{lhs}], %1: f64[{rhs}]) {{
      %2: f64[{result}] = dot_general[{lc}, {rc}] %0, %1
      return %2
    }}"""


def dot(lhs: str, rhs: str, result: str, lc: str, rc: str) -> str:
    return DOT.format(lhs=lhs, rhs=rhs, result=result, lc=lc, rc=rc).replace("\n    ", "\n")


def test_pairs_are_sorted_by_the_axis_of_lhs() -> None:
    assert_rewrites(
        DotDimensionSorter(),
        before=dot("2,3,n", "3,n,5", "2,5", "(2, 1)", "(1, 0)"),
        after=dot("2,3,n", "3,n,5", "2,5", "(1, 2)", "(0, 1)"),
    )


def test_rhs_decides_where_only_its_axes_lie_together() -> None:
    assert_rewrites(
        DotDimensionSorter(),
        before=dot("3,2,4", "4,3,5", "2,5", "(0, 2)", "(1, 0)"),
        after=dot("3,2,4", "4,3,5", "2,5", "(2, 0)", "(0, 1)"),
    )


def test_sorted_pairs_are_left_alone() -> None:
    assert_leaves_alone(DotDimensionSorter(), dot("0,3", "3,0", "", "(0, 1)", "(1, 0)"))


def test_a_free_axis_of_unknown_size_does_not_matter_and_stays_unknown() -> None:
    assert_rewrites(
        DotDimensionSorter(),
        before=dot("?,3,2", "3,2,<=n", "?,<=n", "(2, 1)", "(1, 0)"),
        after=dot("?,3,2", "3,2,<=n", "?,<=n", "(1, 2)", "(0, 1)"),
    )


def test_a_program_without_contractions_is_left_alone() -> None:
    assert_leaves_alone(
        DotDimensionSorter(),
        "exec_program(%0: f64[2]) {\n %1: f64[2] = sine %0!\n return %1\n}",
    )
