"""Sums that XLA's library computes wrongly: of several paddings, and of repeated values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro_xla.platforms import CPU_PLATFORM, SeparatePaddings, SingleSums, sums, sums_repeated
from tests.programs import assert_rewrites, assert_same_results

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


CALLS = 40
"""Of one executable: a wrong sum of repeated values is right in some calls."""


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    "summed",
    [
        lambda x: tn.sum(tn.sin(tn.tile(x, (16, 1))) ** 2, axis=0),
        lambda x: tn.sum(tn.repeat(x, 16, axis=0)),
        lambda x: tn.sum(tn.pad(tn.broadcast_to(x, (16, *x.shape)), ((0, 0), (1, 1), (0, 0)))),
        lambda x: tn.sum(tn.roll(tn.broadcast_to(x, (16, *x.shape)), 1, axis=1)),
        lambda x: tn.sum(tn.concatenate([tn.broadcast_to(x, (16, *x.shape))] * 2, axis=1)),
        lambda x: tn.sum(tn.concatenate([tn.tile(x, (16, 1)), tn.tile(x + 1, (8, 1))])),
        lambda x: tn.sum(tn.tile(x, (16, 1)).T + 1, axis=1),
        lambda x: tn.sum(tn.broadcast_to(x[:, :, None], (3, *x.shape, 3)), axis=(0, 1)),
        lambda x: tn.linalg.norm(tn.tile(x, (16, 1))),
    ],
)
def test_sums_of_repeated_values(summed: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).uniform(1, 2, size=(300, 300))
    on_xla, expected = tn.jit(summed), tn.jit(summed, executor="numpy")(x)
    device = tn.asarray(x)
    for _ in range(CALLS):
        np.testing.assert_allclose(on_xla(device), expected, rtol=1e-9)


def test_numbers_that_are_no_numbers_stay() -> None:
    x = np.random.default_rng(0).normal(size=(300, 300))
    x[3, 5], x[7, 9], x[11, 9], x[:, 0] = np.nan, np.inf, -np.inf, -0.0

    def summed(x: Any) -> Any:
        return tn.sum(tn.tile(x, (16, 1)), axis=0)

    np.testing.assert_allclose(tn.jit(summed)(x), tn.jit(summed, executor="numpy")(x), rtol=1e-9)


def test_one_of_the_repeated_elements_is_summed() -> None:
    assert_rewrites(
        SingleSums(),
        before="""
            exec_program(%0: f64[50,50]) {
              %1: f64[3,50,50] = broadcast_in_dim[shape=(3, 50, 50), dims=(1, 2)] %0!
              %2: f64[150,50] = reshape[shape=(150, 50)] %1!
              %3: f64[50,150] = transpose[perm=(1, 0)] %2!
              %4: f64[50] = reduce_sum[axes=(1,)] %3!
              return %4
            }""",
        after="""
            exec_program(%0: f64[50,50]) {
              %1: f64[3,50,50] = broadcast_in_dim[shape=(3, 50, 50), dims=(1, 2)] %0
              %2: f64[150,50] = reshape[shape=(150, 50)] %1
              %3: f64[50,150] = transpose[perm=(1, 0)] %2
              %5: f64[50,3,50] = reshape[shape=(50, 3, 50)] %3
              %6: f64[50,1,50] = slice[starts=(0, 0, 0), limits=(50, 1, 50), strides=(1, 1, 1)] %5
              %7: f64[50] = reduce_sum[axes=(1, 2)] %6
              %8: f64[] = constant[value=3.0, dtype=f64]
              %9: f64[50] = broadcast_in_dim[shape=(50,), dims=()] %8
              %4: f64[50] = multiply %7, %9
              return %4
            }""",
    )


SUM = """
exec_program(%0: {dtype}[{n}], %1: {dtype}[{n}], %2: {dtype}[3]) {{
  %3: {dtype}[3,{n}] = broadcast_in_dim[shape=(3, {n}), dims=(1,)] %0
  %4: {dtype}[3,{n}] = broadcast_in_dim[shape=(3, {n}), dims=(0,)] %2
  %5: {dtype}[3,{n}] = broadcast_in_dim[shape=(3, {n}), dims=(1,)] %1
  %6: {dtype}[3,{n}] = {value}
  %7: {dtype}[{left}] = reduce_sum[axes={axes}] %6
  return %7
}}"""


@pytest.mark.parametrize(
    ("changes", "value", "axes"),
    [
        (True, "multiply %3, %5", "(0, 1)"),
        (False, "multiply %3, %4", "(0, 1)"),  # nothing is repeated by both
        (False, "multiply %3, %5", "(1,)"),  # repeated along the axis that is left
        (True, "multiply %4, %4", "(1,)"),
        (True, "multiply %4, %4", "(0, 1)"),
        (False, "pad[low=(1, 0), high=(-1, 0), interior=(0, 0)] %3, %8", "(0, 1)"),
        (True, "pad[low=(0, 1), high=(0, -1), interior=(0, 0)] %3, %8", "(0, 1)"),
        (True, "reverse[axes=(0, 1)] %3", "(0, 1)"),
    ],
)
def test_a_sum_changes_where_its_operand_is_repeated(changes: bool, value: str, axes: str) -> None:
    text = SUM.format(
        dtype="f64", n=2000, left="" if "0" in axes else "3", value=value, axes=axes
    ).replace("{\n  %3", "{\n  %8: f64[] = constant[value=0.0, dtype=f64]\n  %3")
    program = parse(text)
    result = SingleSums().run(program)
    assert ("slice" in str(result)) == changes
    assert_same_results(program, result, {})
    assert SingleSums().run(result) is result
    assert not sums_repeated(result)


@pytest.mark.parametrize(
    ("dtype", "n", "changes", "own"),
    [("f64", 100, False, False), ("i64", 2000, False, False), ("f16", 5000, False, True)],
)
def test_few_numbers_integers_and_short_formats_stay(
    dtype: str, n: int, changes: bool, own: bool
) -> None:
    program = parse(SUM.format(dtype=dtype, n=n, left="3", value="multiply %4, %4", axes="(1,)"))
    assert (SingleSums().run(program) is program) == (not changes)
    names = [option.name for option in CPU_PLATFORM.options_for(program)]
    assert ("xla_cpu_experimental_ynn_fusion_type" in names) == own


def test_parts_that_are_repeated_along_the_axis_of_a_concatenation_are_summed_apart() -> None:
    program = parse("""
        exec_program(%0: f64[90], %1: f64[4,90]) {
          %2: f64[60,90] = broadcast_in_dim[shape=(60, 90), dims=(1,)] %0
          %3: f64[64,90] = concatenate[axis=0] %2, %1
          %4: f64[90] = reduce_sum[axes=(0,)] %3
          return %4
        }""")
    result = SingleSums().run(program)
    assert [type(step.op).__name__ for step in result.instructions].count("ReduceSum") == 2
    assert_same_results(program, result, {})


def test_sums_that_are_made_single_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only norms are, and sums of more numbers than their dtype has integers in a row."""
    walks: list[object] = []

    class Walk(sums._Sums):
        def __init__(self, program: Any) -> None:
            walks.append(program)
            super().__init__(program)

    monkeypatch.setattr(sums, "_Sums", Walk)
    for dtype, count in (("f64", 0), ("f32", 0), ("f16", 1)):
        walks.clear()
        program = parse(
            SUM.format(dtype=dtype, n=5000, left="", value="multiply %3, %5", axes="(0, 1)")
        )
        result = SingleSums().run(program)
        assert len(walks) == 1
        assert result is not program
        assert not sums_repeated(result)
        assert len(walks) == 1 + count


def test_a_sum_of_functions_of_one_number_is_single_too() -> None:
    program = parse("""
        exec_program(%0: f64[]) {
          %1: f64[300,300] = broadcast_in_dim[shape=(300, 300), dims=()] %0
          %2: f64[300,300] = sine %1
          %3: f64[] = reduce_sum[axes=(0, 1)] %2
          return %3
        }""")
    result = SingleSums().run(program)
    assert "slice" in str(result)
    assert_same_results(program, result, {})
    assert not sums_repeated(result)
