"""Complex contractions written as real ones: the text, and the same results."""

import textwrap
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenferro as tn
from tenferro.compiler import CPU, DeviceCosts, optimize
from tenferro.ir import ExecBuilder, ExecProgram, renumber, verify
from tenferro.ops import ADD, CONJ, MUL, NEG, DotGeneral, ReduceSum, Reshape, Transpose
from tenferro.shape import COMPLEX64, COMPLEX128, make_meta
from tenferro_xla import XlaExecutor
from tenferro_xla.lowering import LoweringOptions, jax_function
from tenferro_xla.platforms import CPU_PLATFORM, RealContractions
from tests.programs import arguments, assert_same_results, read, run, short
from tests.tolerances import rounding

ALWAYS = replace(CPU, complex_multiply=1.0, kernel=0.0, compiling=0.0)
THREE = replace(ALWAYS, multiply=1e-3, edge=0.0)
NEVER = replace(CPU, multiply=1.0)


def for_cpu(program: ExecProgram, costs: DeviceCosts = CPU) -> ExecProgram:
    """The program as it is lowered for a CPU."""
    return optimize(program, passes=CPU_PLATFORM.passes(costs))


def as_real(text: str, costs: DeviceCosts = ALWAYS) -> str:
    """The text of a program after the pass, which must keep types and results."""
    program = read(text)
    verify(program)
    result = RealContractions(costs).run(program)
    verify(result, after="real_contractions")
    assert result.output_metas == program.output_metas
    assert_same_results(program, result, {})
    return short(renumber(result))


def test_the_result_of_one_contraction_stays_in_parts_for_the_next() -> None:
    text = as_real(
        """
        exec_program(%0: c128[9,4], %1: c128[4,3], %2: c128[2,3]) {
          %3: c128[9,3] = dot_general[(1,), (0,)] %0, %1
          %4: c128[9,2] = dot_general[(1,), (1,)] %3, %2
          return %4
        }"""
    )
    expected = """
        exec_program(%0: c128[9,4], %1: c128[4,3], %2: c128[2,3]) {
          %3: f64[9,4,2] = xla_split %0
          %4: f64[9,8] = reshape[shape=(9, 8)] %3
          %5: f64[8,6] = xla_factor[contract=0, free=1] %1
          %6: f64[9,6] = dot_general[(1,), (0,)] %4, %5
          %7: f64[9,3,2] = reshape[shape=(9, 3, 2)] %6
          %8: f64[9,6] = reshape[shape=(9, 6)] %7
          %9: f64[4,6] = xla_factor[contract=1, free=0] %2
          %10: f64[9,4] = dot_general[(1,), (1,)] %8, %9
          %11: f64[9,2,2] = reshape[shape=(9, 2, 2)] %10
          %12: c128[9,2] = xla_join %11
          return %12
        }"""
    assert text == textwrap.dedent(expected).strip()


def test_the_smaller_operand_becomes_the_factor_and_the_result_is_turned() -> None:
    text = as_real(
        """
        exec_program(%0: c128[2,4], %1: c128[90,4]) {
          %2: c128[2,90] = dot_general[(1,), (1,)] %0, %1
          return %2
        }"""
    )
    assert "xla_split %1" in text
    assert "xla_factor[contract=1, free=0] %0" in text
    assert "transpose[perm=(1, 0, 2)]" in text


def test_a_left_operand_with_its_contracted_axis_first_is_turned() -> None:
    text = as_real(
        """
        exec_program(%0: c64[4,90], %1: c64[4,2]) {
          %2: c64[90,2] = dot_general[(0,), (0,)] %0, %1
          return %2
        }"""
    )
    assert "f32[90,4,2] = transpose[perm=(1, 0, 2)]" in text


def test_large_products_are_three_real_ones() -> None:
    text = as_real(
        """
        exec_program(%0: c128[4,5], %1: c128[5,6]) {
          %2: c128[4,6] = dot_general[(1,), (0,)] %0, %1
          return %2
        }""",
        THREE,
    )
    assert text.count("f64[4,6] = dot_general[(1,), (0,)]") == 3
    assert "c128[4,6] = complex" in text


@pytest.mark.parametrize(
    ("operands", "dot", "shape"),
    [
        ("%0: c128[100,2], %1: c128[2,90]", "(1,), (0,)", "100,90"),
        ("%0: c128[3,80], %1: c128[90,3]", "(0,), (1,)", "80,90"),
        ("%0: c64[5,60,4], %1: c64[5,4,70]", "(2,), (1,), (0,), (0,)", "5,60,70"),
    ],
)
def test_large_products_of_few_terms_are_written_out(operands: str, dot: str, shape: str) -> None:
    dtype = operands[4 : operands.index("[")]
    head = f"exec_program({operands}) {{\n"
    text = f"{head} %2: {dtype}[{shape}] = dot_general[{dot}] %0, %1\n return %2\n}}"
    written = as_real(text, CPU)
    terms = written.count("multiply")
    assert "dot_general" not in written
    assert written.count("slice[") == 2 * terms
    assert written.count("add") == terms - 1


def test_products_whose_operands_are_as_large_are_not_written_out() -> None:
    text = """
        exec_program(%0: c128[10000,2], %1: c128[2,2]) {
          %2: c128[10000,2] = dot_general[(1,), (0,)] %0, %1
          return %2
        }"""
    assert "dot_general" in as_real(text, CPU)


def test_what_is_linear_is_done_on_parts() -> None:
    text = as_real(
        """
        exec_program(%0: c128[9,4], %1: c128[4,6]) {
          %2: c128[9,6] = dot_general[(1,), (0,)] %0, %1
          %3: c128[6,9] = transpose[perm=(1, 0)] %2
          %4: c128[6,3,3] = reshape[shape=(6, 3, 3)] %3
          %5: c128[6,3] = reduce_sum[axes=(1,)] %4
          %6: c128[6,3] = negate %5
          %7: c128[2,6,3] = broadcast_in_dim[shape=(2, 6, 3), dims=(1, 2)] %6
          return %7
        }"""
    )
    assert text.count("xla_join") == 1
    assert "f64[2,6,3,2] = broadcast_in_dim[shape=(2, 6, 3, 2), dims=(1, 2, 3)]" in text


@pytest.mark.parametrize(
    "dot",
    [
        "%0: f64[9,4], %1: f64[4,3]) { %2: f64[9,3] = dot_general[(1,), (0,)] %0, %1",
        "%0: c128[9,2,2], %1: c128[2,2]) { %2: c128[9] = dot_general[(1, 2), (0, 1)] %0, %1",
        "%0: c128[9], %1: c128[3]) { %2: c128[9,3] = dot_general[(), ()] %0, %1",
        "%0: c128[9,1], %1: c128[1,3]) { %2: c128[9,3] = dot_general[(1,), (0,)] %0, %1",
        "%0: c128[0,4], %1: c128[4,3]) { %2: c128[0,3] = dot_general[(1,), (0,)] %0, %1",
    ],
)
def test_other_contractions_are_left_alone(dot: str) -> None:
    text = f"exec_program({dot}\n return %2\n}}".replace("{ ", "{\n")
    costs = CPU if "[0," in dot else ALWAYS
    assert as_real(text, costs) == short(read(text))


def test_costs_decide() -> None:
    text = """
        exec_program(%0: c128[9,4], %1: c128[4,3]) {
          %2: c128[9,3] = dot_general[(1,), (0,)] %0, %1
          return %2
        }"""
    assert as_real(text, NEVER) == textwrap.dedent(text).strip()


@pytest.mark.parametrize("shape", [(100, 100), (1000, 1000), (4, 30, 30)])
def test_the_product_of_an_input_and_a_vector_stays_complex(shape: tuple[int, ...]) -> None:
    program = product_by_a_vector(shape)
    assert RealContractions(CPU).run(program) is program


def test_many_small_products_by_vectors_are_sums_over_products_of_elements() -> None:
    result = RealContractions(CPU).run(product_by_a_vector((1000, 8, 8)))
    assert not result.has_op(DotGeneral)
    assert result.has_op(ReduceSum)


def product_by_a_vector(shape: tuple[int, ...]) -> ExecProgram:
    """Matrices of the last two axes, and for each a vector along its last."""
    batch = tuple(range(len(shape) - 2))
    last = len(shape) - 1
    builder = ExecBuilder()
    matrices = builder.input(make_meta(COMPLEX128, shape))
    vectors = builder.input(make_meta(COMPLEX128, (*shape[:-2], shape[-1])))
    dot = DotGeneral((last,), (last - 1,), batch, batch)
    return builder.build(builder.add(dot, [matrices, vectors]))


def test_a_kernel_has_to_gain_what_compiling_it_takes() -> None:
    small = "%3: c128[102,21] = dot_general[(1,), (0,)] %0, %1"
    large = "%4: c128[900,900] = dot_general[(1,), (0,)] %2, %2"
    head = "exec_program(%0: c128[102,141], %1: c128[141,21], %2: c128[900,900]) {\n"
    alone = RealContractions(CPU).run(read(f"{head} {small}\n return %3\n}}"))
    both = RealContractions(CPU).run(read(f"{head} {small}\n {large}\n return %3, %4\n}}"))
    assert [step.dtype.kind for step in alone.steps_of(DotGeneral)] == ["f"]
    assert [step.dtype.kind for step in both.steps_of(DotGeneral)] == ["c", "f", "f", "f"]


def test_what_gains_little_of_a_program_has_to_gain_it_in_few_runs() -> None:
    small = "%2: c128[96,96] = dot_general[(1,), (0,)] %0, %0"
    large = "%3: c128[300,300] = dot_general[(1,), (0,)] %1, %1"
    head = "exec_program(%0: c128[96,96], %1: c128[300,300]) {\n"
    alone = RealContractions(CPU).run(read(f"{head} {small}\n return %2\n}}"))
    both = RealContractions(CPU).run(read(f"{head} {small}\n {large}\n return %2, %3\n}}"))
    assert {step.dtype.kind for step in alone.steps_of(DotGeneral)} == {"f"}
    assert [step.dtype.kind for step in both.steps_of(DotGeneral)] == ["c", "f", "f", "f"]


def test_a_program_without_complex_contractions_is_returned_itself() -> None:
    program = read("exec_program(%0: c64[3]) {\n %1: c64[3] = add %0, %0\n return %1\n}")
    assert RealContractions(ALWAYS).run(program) is program


def test_an_executor_without_costs_leaves_complex_contractions_alone() -> None:
    a = np.ones((200, 200)) * (1 + 2j)
    program = tn.make_program(tn.matmul, a, a)
    written = XlaExecutor("cpu").lower(program).stablehlo()
    as_is = XlaExecutor("cpu", contraction_costs=None).lower(program).stablehlo()
    assert "complex" in as_is.split("dot_general")[1].splitlines()[0]
    assert "complex" not in written.split("dot_general")[1].splitlines()[0]


@st.composite
def programs(draw: st.DrawFn) -> ExecProgram:
    """Batched matrix products and what stands between them."""
    dtype = draw(st.sampled_from([COMPLEX64, COMPLEX128]))
    builder = ExecBuilder()
    values = [builder.input(make_meta(dtype, (2, 3, 3))) for _ in range(2)]
    pick = st.integers(0, 99).map(lambda i: values[i % len(values)])
    for _ in range(draw(st.integers(1, 8))):
        x, y = draw(pick), draw(pick)
        kind = draw(st.integers(0, 9))
        op: Any
        if kind < 5:
            op = DotGeneral((draw(st.sampled_from([1, 2])),), (kind % 2 + 1,), (0,), (0,))
            values += builder.add(op, [x, y])
        elif kind < 7:
            values += builder.add(draw(st.sampled_from([ADD, MUL])), [x, y])
        elif kind == 7:
            op = draw(st.sampled_from([CONJ, NEG, Transpose((0, 2, 1))]))
            values += builder.add(op, [x])
        else:
            vector = builder.add(ReduceSum((draw(st.sampled_from([1, 2])),)), [x])[0]
            product = builder.add(DotGeneral((2,), (1,), (0,), (0,)), [y, vector])[0]
            flat = builder.add(Reshape((2, 1, 3)), [product])
            values += builder.add(DotGeneral((1,), (1,), (0,), (0,)), [*flat, *flat])
    return builder.build(values[2:][-3:])


@given(programs(), st.sampled_from([ALWAYS, THREE, CPU]))
def test_random_programs_keep_types_and_results(program: ExecProgram, costs: DeviceCosts) -> None:
    verify(program)
    result = for_cpu(program, costs)
    verify(result, after="for_cpu")
    assert result.input_metas == program.input_metas
    assert result.output_metas == program.output_metas
    assert_same_results(program, result, {})


def test_the_text_means_the_same_on_xla() -> None:
    program = read(
        """
        exec_program(%0: c128[5,3,4], %1: c128[5,6,4], %2: c128[5,2,3]) {
          %3: c128[5,3,6] = dot_general[(2,), (2,), (0,), (0,)] %0, %1
          %4: c128[5,2,6] = dot_general[(2,), (1,), (0,), (0,)] %2, %3
          %5: c128[5,2,6] = multiply %4, %4
          %6: c128[5,6] = reduce_sum[axes=(1,)] %5
          %7: c128[5,3] = dot_general[(2,), (1,), (0,), (0,)] %3, %6
          return %4, %7
        }"""
    )
    inputs = arguments(program)
    expected = run(program, inputs)
    for costs in (ALWAYS, THREE):
        with jax.enable_x64(True):
            found = jax_function(for_cpu(program, costs), LoweringOptions())(*inputs)
        for one, other in zip(found, expected, strict=True):
            tolerance = rounding(other.dtype)
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=100 * tolerance)
