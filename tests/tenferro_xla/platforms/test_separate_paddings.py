"""Sums of what several paddings make of arrays, which XLA's library computes wrongly."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro_xla.platforms import SeparatePaddings
from tests.programs import assert_same_results

PADDED = """
exec_program(%0: f64[4,3], %1: f64[]) {{
  %2: f64[6,3] = pad[low=(1, 0), high=(1, 0), interior=(0, 0)] %0, %1
  %3: f64[6,3] = pad[low=(2, 0), high=(0, 0), interior=(0, 0)] %0, %1
  %4: f64[6,3] = {both}
  %5: f64[3,6] = transpose[perm=(1, 0)] %4
  %6: f64[3] = reduce_sum[axes=(1,)] %5
  return %6
}}"""


@pytest.mark.parametrize("shape", [(6, 7), (300, 300)])
def test_the_gradient_of_a_stencil_of_repeated_rows(shape: tuple[int, int]) -> None:
    def loss(x: Any) -> Any:
        y = tn.repeat(x, 2, axis=0)
        around = y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:]
        return tn.sum((around - 4 * y[1:-1, 1:-1]) ** 2)

    x = np.random.default_rng(0).normal(size=shape)
    found = tn.jit(tn.grad(loss))(x)
    np.testing.assert_allclose(found, tn.jit(tn.grad(loss), executor="numpy")(x), atol=1e-9)


@pytest.mark.parametrize(("both", "count"), [("add %2, %3", 1), ("negate %2", 0)])
def test_several_paddings_are_apart_from_the_sum(both: str, count: int) -> None:
    program = parse(PADDED.format(both=both))
    result = SeparatePaddings().run(program)
    assert str(result).count("xla_fused") == count
    assert_same_results(program, result, {})
    assert SeparatePaddings().run(result) is result
