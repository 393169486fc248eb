"""The sum of products over a batch is one product."""

from __future__ import annotations

import pytest

import tenferro as tn
from tenferro.compiler import DeadCode, Pass, SummedProducts
from tenferro.ir import ExecProgram
from tests.programs import assert_leaves_alone, assert_rewrites, rewritten


class Summed:
    """The pass, and the dead code that it leaves."""

    name = "summed_products"

    def run(self, program: ExecProgram) -> ExecProgram:
        return DeadCode().run(SummedProducts().run(program))


SUMMED: Pass = Summed()  # type: ignore[assignment]  # runs as one


def test_a_sum_over_batch_axes_is_contracted_over_them() -> None:
    assert_rewrites(
        SUMMED,
        before="""
            exec_program(%0: f64[n,2,3,4], %1: f64[5,4,n,2]) {
              %2: f64[n,2,3,5] = dot_general[(3,), (1,), (0, 1), (2, 3)] %0, %1
              %3: f64[2,3,5] = reduce_sum[axes=(0,)] %2
              return %3
            }""",
        after="""
            exec_program(%0: f64[n,2,3,4], %1: f64[5,4,n,2]) {
              %3: f64[2,3,5] = dot_general[(0, 3), (2, 1), (1,), (3,)] %0, %1
              return %3
            }""",
    )


def test_both_operands_are_zero_where_the_product_does_not_count() -> None:
    text = rewritten(
        SUMMED,
        """
        exec_program(%0: c64[6,3], %1: c64[4,6], %2: bool[6]) {
          %3: c64[6,3,4] = dot_general[(), (), (0,), (1,)] %0, %1
          %4: bool[6,3,4] = broadcast_in_dim[shape=(6, 3, 4), dims=(0,)] %2
          %5: c64[] = constant[value=0j, dtype=c64]
          %6: c64[6,3,4] = broadcast_in_dim[shape=(6, 3, 4), dims=()] %5
          %7: c64[6,3,4] = select %4, %6, %3
          %8: c64[6,3,4] = dot_general[(), (), (0,), (1,)] %0, %1
          %9: c64[6,3,4] = add %7, %8
          %10: c64[3,4] = reduce_sum[axes=(0,)] %9
          return %10
        }""",
    )
    assert "[6,3,4]" not in text
    assert text.count("dot_general[(0,), (1,)]") == 2
    assert text.count("select") == 2


@pytest.mark.parametrize(
    ("mask", "axes", "result"),
    [("bool[6,3,4]", "(0,)", "f64[3,4]"), ("bool[6]", "(1,)", "f64[6,4]")],
)
def test_other_masks_and_other_sums_stay(mask: str, axes: str, result: str) -> None:
    dims = "(0, 1, 2)" if "," in mask else "(0,)"
    assert_leaves_alone(
        SummedProducts(),
        f"""
        exec_program(%0: f64[6,3], %1: f64[6,4], %2: {mask}) {{
          %3: f64[6,3,4] = dot_general[(), (), (0,), (0,)] %0, %1
          %4: bool[6,3,4] = broadcast_in_dim[shape=(6, 3, 4), dims={dims}] %2
          %5: f64[] = constant[value=0.0, dtype=f64]
          %6: f64[6,3,4] = broadcast_in_dim[shape=(6, 3, 4), dims=()] %5
          %7: f64[6,3,4] = select %4, %3, %6
          %8: {result} = reduce_sum[axes={axes}] %7
          return %8
        }}""",
    )


def test_products_that_something_else_reads_stay() -> None:
    assert_leaves_alone(
        SummedProducts(),
        """
        exec_program(%0: f64[6,3], %1: f64[6,4]) {
          %2: f64[6,3,4] = dot_general[(), (), (0,), (0,)] %0, %1
          %3: f64[3,4] = reduce_sum[axes=(0,)] %2
          return %2, %3
        }""",
    )


def test_a_factor_that_is_repeated_is_contracted_with_the_other_as_it_lies() -> None:
    assert_rewrites(
        SUMMED,
        before="""
            exec_program(%0: f64[4,7], %1: f64[4,7,6,n]) {
              %2: f64[4,n,6,7] = broadcast_in_dim[shape=(4, n, 6, 7), dims=(0, 3)] %0
              %3: f64[4,n,6,7] = transpose[perm=(0, 3, 2, 1)] %1
              %4: f64[4,n,6,7] = multiply %2, %3
              %5: f64[4,n,6] = reduce_sum[axes=(3,)] %4
              return %5
            }""",
        after="""
            exec_program(%0: f64[4,7], %1: f64[4,7,6,n]) {
              %6: f64[4,6,n] = dot_general[(1,), (1,), (0,), (0,)] %1, %0
              %5: f64[4,n,6] = transpose[perm=(0, 2, 1)] %6
              return %5
            }""",
    )


def test_a_matrix_product_that_is_written_with_repeated_factors_is_a_contraction() -> None:
    text = rewritten(
        SUMMED,
        """
        exec_program(%0: f32[5,7], %1: f32[7,6]) {
          %2: f32[5,7,6] = broadcast_in_dim[shape=(5, 7, 6), dims=(0, 1)] %0
          %3: f32[5,7,6] = broadcast_in_dim[shape=(5, 7, 6), dims=(1, 2)] %1
          %4: f32[5,7,6] = multiply %2, %3
          %5: f32[5,6] = reduce_sum[axes=(1,)] %4
          return %5
        }""",
    )
    assert "f32[5,6] = dot_general[(1,), (0,)] %0, %1" in text
    assert "multiply" not in text


@pytest.mark.parametrize(
    ("type", "shape", "dims", "axes"),
    [
        ("c128", "(5, 7)", "(1,)", "(1,)"),  # complex
        ("i64", "(5, 7)", "(1,)", "(1,)"),
        ("f16", "(5, 7)", "(1,)", "(1,)"),
        ("f64", "(5, 7)", "(1,)", "(0,)"),  # summed where it is repeated
        ("f64", "(5, 7)", "(1,)", "(0, 1)"),
    ],
)
def test_other_sums_of_products_are_left_alone(type: str, shape: str, dims: str, axes: str) -> None:
    rest = {"(1,)": "5", "(0,)": "7", "(0, 1)": ""}[axes]
    before = f"""
        exec_program(%0: {type}[7], %1: {type}[5,7]) {{
          %2: {type}[5,7] = broadcast_in_dim[shape={shape}, dims={dims}] %0
          %3: {type}[5,7] = multiply %2, %1
          %4: {type}[{rest}] = reduce_sum[axes={axes}] %3
          return %4
        }}"""
    assert "dot_general" not in rewritten(SUMMED, before)


def test_a_factor_that_is_computed_while_it_is_summed_is_left_so() -> None:
    before = """
        exec_program(%0: f64[7], %1: f64[5,7]) {
          %2: f64[5,7] = broadcast_in_dim[shape=(5, 7), dims=(1,)] %0
          %3: f64[5,7] = exponential %1
          %4: f64[5,7] = multiply %2, %3
          %5: f64[5] = reduce_sum[axes=(1,)] %4
          return %5
        }"""
    assert "dot_general" not in rewritten(SUMMED, before)


def test_a_factor_that_would_have_to_be_moved_is_left_where_it_is() -> None:
    before = """
        exec_program(%0: f64[7], %1: f64[5,7,6]) {
          %2: f64[5,7,6] = broadcast_in_dim[shape=(5, 7, 6), dims=(1,)] %0
          %3: f64[5,7,6] = multiply %2, %1
          %4: f64[5,6] = reduce_sum[axes=(1,)] %3
          return %4
        }"""
    assert "dot_general" not in rewritten(SUMMED, before)


@pytest.mark.parametrize(
    ("dtype", "columns", "contracts"),
    [
        ("float32", 2, True),
        ("float32", 3, False),
        ("float32", 7, False),
        ("float32", 8, True),
        ("float64", 4, True),
    ],
)
def test_odd_columns_of_32_bits_are_summed(dtype: str, columns: int, contracts: bool) -> None:
    specs = [tn.TensorSpec((50, columns), dtype), tn.TensorSpec((50,), dtype)]
    program = tn.make_program(lambda w, a: tn.sum(w * a[:, None], axis=0), *specs)
    assert ("dot_general" in str(program)) == contracts
