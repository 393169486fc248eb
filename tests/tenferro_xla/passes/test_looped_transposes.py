"""Transposes of several axes, computed in loops over elements."""

import numpy as np
import pytest

import tenferro as tn
from tenferro_xla import XlaExecutor
from tenferro_xla.passes import LoopedTransposes
from tests.programs import assert_same_results, read, short


def turned(sizes: str, perm: str, result: str, dtype: str = "f64") -> str:
    return f"""
        exec_program(%0: {dtype}[{sizes}]) {{
          %1: {dtype}[{result}] = transpose[perm=({perm})] %0
          return %1
        }}"""


@pytest.mark.parametrize("dtype", ["f64", "c64"])
def test_a_transpose_that_divides_by_large_sizes_is_computed_in_a_loop(dtype: str) -> None:
    program = read(turned("30,45,60", "1, 0, 2", "45,30,60", dtype))
    result = LoopedTransposes().run(program)
    assert_same_results(program, result, {})
    assert f"%1: {dtype}[45,30,60] = xla_looped %2" in short(result)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (turned("300,300", "1, 0", "300,300"), "two axes"),
        (turned("32,64,64", "1, 0, 2", "64,32,64"), "powers of two"),
        (turned("300,20,3,3", "0, 1, 3, 2", "300,20,3,3"), "small sizes"),
        (turned("3,4,5", "1, 0, 2", "4,3,5"), "few numbers"),
        (turned("30,45,60", "1, 0, 2", "45,30,60", "i64"), "integers"),
    ],
)
def test_others_are_left_to_xla(text: str, why: str) -> None:
    program = read(text)
    assert LoopedTransposes().run(program) is program, why


def test_axes_that_stay_together_count_as_one() -> None:
    program = read(turned("45,30,8,9", "2, 3, 0, 1", "8,9,45,30"))
    assert LoopedTransposes().run(program) is program


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_every_number_is_the_same_bit_by_bit(dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=(30, 45, 60)).astype(dtype)
    x[0, 0, :7] = [np.nan, np.inf, -np.inf, -0.0, 0.0, np.finfo(dtype).tiny, np.finfo(dtype).max]
    run = tn.jit(lambda x: tn.transpose(x, (1, 0, 2)), executor=XlaExecutor("cpu"))
    plain = tn.jit(
        lambda x: tn.transpose(x, (1, 0, 2)), executor=XlaExecutor("cpu", contraction_costs=None)
    )
    assert run(x).numpy().tobytes() == plain(x).numpy().tobytes() == x.transpose(1, 0, 2).tobytes()
