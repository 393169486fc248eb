"""Transposes in front of a contraction that XLA must not undo."""

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro_xla import XlaExecutor
from tenferro_xla.platforms import TransposeBarriers
from tests.programs import assert_same_results, read, short

TURNED = """
    exec_program(%0: f64[4,9], %1: f64[4,3]) {
      %2: f64[9,4] = transpose[perm=(1, 0)] %0
      %3: f64[9,3] = dot_general[(1,), (0,)] %2, %1
      return %3
    }"""


def test_a_left_operand_that_was_turned_is_kept() -> None:
    program = read(TURNED)
    result = TransposeBarriers().run(program)
    assert_same_results(program, result, {})
    assert "%4: f64[9,4] = xla_kept %2" in short(result)
    assert "%3: f64[9,3] = dot_general[(1,), (0,)] %4, %1" in short(result)


@pytest.mark.parametrize(("contract", "kept"), [("(0,)", True), ("(1,)", False)])
def test_the_transpose_of_a_result_is_kept_if_the_exchanged_product_is_slow(
    contract: str, kept: bool
) -> None:
    program = read(
        f"""
        exec_program(%0: f64[3,5], %1: f64[5,5]) {{
          %2: f64[3,5] = dot_general[(1,), {contract}] %0, %1
          %3: f64[5,3] = transpose[perm=(1, 0)] %2
          return %3
        }}"""
    )
    result = TransposeBarriers().run(program)
    assert_same_results(program, result, {})
    assert ("%4: f64[3,5] = xla_kept %2" in short(result)) == kept


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "kept"),
    [
        (500, 9, 600, True),
        (500, 63, 600, True),
        (500, 64, 600, False),
        (500, 9, 35, False),
        (40, 9, 600, False),
    ],
)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_the_transpose_of_a_result_is_kept_if_the_exchanged_product_reads_a_long_right_side(
    batch: tuple[int, ...], rows: int, columns: int, terms: int, kept: bool
) -> None:
    lead, axis = "".join(f"{size}," for size in batch), len(batch)
    axes = f"lhs_contract=({axis + 1},), rhs_contract=({axis + 1},)"
    axes += ", lhs_batch=(0,), rhs_batch=(0,)" if batch else ""
    perm = (*range(axis), axis + 1, axis)
    program = parse(
        f"""
        exec_program(%0: f64[{lead}{rows},{terms}], %1: f64[{lead}{columns},{terms}]) {{
          %2: f64[{lead}{rows},{columns}] = dot_general[{axes}] %0, %1
          %3: f64[{lead}{columns},{rows}] = transpose[perm={perm}] %2
          return %3
        }}"""
    )
    result = TransposeBarriers().run(program)
    assert_same_results(program, result, {})
    assert ("xla_kept" in short(result)) == kept


def test_xla_does_not_exchange_the_sides_of_the_gradient_of_a_product() -> None:
    x = np.ones((640, 640))
    program = tn.make_program(tn.grad(lambda a, b: tn.sum(tn.sin(a @ b)), argnums=(0, 1)), x, x)
    text = XlaExecutor("cpu").lower(program).compile().as_text()
    assert "lhs_contracting_dims={0}" not in text


@pytest.mark.parametrize(
    "operands",
    [
        "dot_general[(0,), (0,)] %1, %2",
        "dot_general[(0,), (1,)] %1, %2",
        "dot_general[(1,), (1,)] %0, %2",
    ],
)
def test_other_transposes_are_left_to_xla(operands: str) -> None:
    sizes = {"(0,), (0,)": "5,5", "(0,), (1,)": "5,5", "(1,), (1,)": "5,5"}
    shape = sizes[operands.split("[")[1].split("]")[0]]
    program = read(
        f"""
        exec_program(%0: f64[5,5], %1: f64[5,5]) {{
          %2: f64[5,5] = transpose[perm=(1, 0)] %0
          %3: f64[{shape}] = {operands}
          return %3
        }}"""
    )
    assert TransposeBarriers().run(program) is program


@pytest.mark.parametrize("dtype", ["c128", "f32"])
def test_complex_products_and_those_of_32_bits_take_the_same_time_either_way(dtype: str) -> None:
    program = read(TURNED.replace("f64", dtype))
    assert TransposeBarriers().run(program) is program


def test_xla_contracts_the_turned_operand() -> None:
    program = tn.make_program(lambda x: tn.matmul(tn.matmul(x.T, x), x), np.ones((640, 640)))
    lowered = XlaExecutor("cpu").lower(program)
    assert "xla_kept" in str(lowered.exec_program)
    text = lowered.compile().as_text()
    assert "lhs_contracting_dims={0}" not in text
