"""Elementwise ops before repetitions, and products in place of sums of what is repeated."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import BroadcastSinking, DeadCode, OptimizerOptions
from tests.programs import SIZES, assert_leaves_alone, assert_same_results, read, short
from tests.sampling import EXECUTORS

TWICE = "broadcast_in_dim[shape=(4, 2, 3), dims=(0, 2)]"


def assert_sinks(before: str, after: str) -> None:
    """The pass takes the one text to the other, without what is dead then."""
    program = read(before)
    result = DeadCode().run(BroadcastSinking().run(program))
    assert_same_results(program, result, SIZES)
    assert short(result) == textwrap.dedent(after).strip()
    assert BroadcastSinking().run(result) is result


def test_an_op_on_values_that_are_repeated_alike_is_computed_once_for_each() -> None:
    assert_sinks(
        before=f"""
        exec_program(%0: f64[4,3], %1: f64[4,3]) {{
          %2: f64[4,2,3] = {TWICE} %0
          %3: f64[8,3] = reshape[shape=(8, 3)] %2
          %4: f64[4,2,3] = {TWICE} %1
          %5: f64[8,3] = reshape[shape=(8, 3)] %4
          %6: f64[8,3] = multiply %3, %5
          return %6
        }}""",
        after=f"""
        exec_program(%0: f64[4,3], %1: f64[4,3]) {{
          %7: f64[4,3] = multiply %0, %1
          %8: f64[4,2,3] = {TWICE} %7
          %6: f64[8,3] = reshape[shape=(8, 3)] %8
          return %6
        }}""",
    )


def test_a_number_is_repeated_as_often_as_the_other_operand_was() -> None:
    assert_sinks(
        before="""
        exec_program(%0: f64[3], %1: f64[]) {
          %2: f64[n,3] = broadcast_in_dim[shape=(n, 3), dims=(1,)] %0
          %3: f64[n,3] = broadcast_in_dim[shape=(n, 3), dims=()] %1
          %4: f64[n,3] = add %2, %3
          return %4
        }""",
        after="""
        exec_program(%0: f64[3], %1: f64[]) {
          %5: f64[3] = broadcast_in_dim[shape=(3,), dims=()] %1
          %6: f64[3] = add %0, %5
          %4: f64[n,3] = broadcast_in_dim[shape=(n, 3), dims=(1,)] %6
          return %4
        }""",
    )


def test_a_sum_over_repeated_axes_is_a_product() -> None:
    assert_sinks(
        before=f"""
        exec_program(%0: f64[4,3]) {{
          %1: f64[4,2,3] = {TWICE} %0
          %2: f64[8,3] = reshape[shape=(8, 3)] %1
          %3: f64[8,3] = sine %2
          %4: f64[4,2,3] = reshape[shape=(4, 2, 3)] %3
          %5: f64[3] = reduce_sum[axes=(0, 1)] %4
          return %5
        }}""",
        after="""
        exec_program(%0: f64[4,3]) {
          %6: f64[4,3] = sine %0
          %8: f64[3] = reduce_sum[axes=(0,)] %6
          %9: f64[] = constant[value=2.0, dtype=f64]
          %10: f64[3] = broadcast_in_dim[shape=(3,), dims=()] %9
          %5: f64[3] = multiply %8, %10
          return %5
        }""",
    )


@pytest.mark.parametrize(
    ("inputs", "steps"),
    [
        (  # repeated in different ways
            "%0: f64[3], %1: f64[3]",
            """%2: f64[3,3] = broadcast_in_dim[shape=(3, 3), dims=(0,)] %0
            %3: f64[3,3] = broadcast_in_dim[shape=(3, 3), dims=(1,)] %1
            %4: f64[3,3] = add %2, %3""",
        ),
        (  # one is not repeated
            "%0: f64[3], %1: f64[2,3]",
            """%2: f64[2,3] = broadcast_in_dim[shape=(2, 3), dims=(1,)] %0
            %4: f64[2,3] = add %1, %2""",
        ),
        (  # a new axis of size 1 repeats nothing
            "%0: f64[3], %1: f64[3]",
            """%2: f64[1,3] = broadcast_in_dim[shape=(1, 3), dims=(1,)] %0
            %4: f64[1,3] = sine %2""",
        ),
        (  # how often is not known
            "%0: f64[3], %1: f64[n]",
            """%2: f64[n,3] = broadcast_in_dim[shape=(n, 3), dims=(1,)] %0
            %4: f64[3] = reduce_sum[axes=(0,)] %2""",
        ),
        (  # a sum of nothing is 0, also of NaN
            "%0: f64[3], %1: f64[3]",
            """%2: f64[0,3] = broadcast_in_dim[shape=(0, 3), dims=(1,)] %0
            %4: f64[3] = reduce_sum[axes=(0,)] %2""",
        ),
        (  # 4097 is not a number of 16 bits
            "%0: f16[3], %1: f16[3]",
            """%2: f16[4097,3] = broadcast_in_dim[shape=(4097, 3), dims=(1,)] %0
            %4: f16[3] = reduce_sum[axes=(0,)] %2""",
        ),
    ],
)
def test_other_programs_stay(inputs: str, steps: str) -> None:
    kind = steps.strip().splitlines()[-1].split("=")[0].strip()
    assert_leaves_alone(
        BroadcastSinking(), f"exec_program({inputs}) {{\n{steps}\nreturn {kind.split(':')[0]}\n}}"
    )


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_derivatives_through_repetitions_are_the_same_without_the_pass(
    dtype: str, executor: str
) -> None:
    def loss(x: Any) -> Any:
        wide = tn.tile(tn.repeat(x, 2, axis=0), (1, 3))
        return tn.sum(tn.real(wide * wide * tn.tile(tn.repeat(tn.cos(x), 2, axis=0), (1, 3))))

    def twice(x: Any, t: Any) -> Any:
        return tn.jvp(tn.grad(loss), (x,), (t,))[1]

    x = np.random.default_rng(0).normal(size=(2, 5, 4)).astype(dtype)
    for function, operands in ((loss, x[:1]), (tn.grad(loss), x[:1]), (twice, x)):
        plain = OptimizerOptions(broadcast_sinking=False)
        one = tn.jit(function, executor=executor)(*operands)
        other = tn.jit(function, executor=executor, options=plain)(*operands)
        tolerance = 100 * np.finfo(dtype).eps
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_infinity_and_nan_pass_through_a_product(executor: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0])
    found = tn.jit(lambda x: tn.sum(tn.broadcast_to(x, (7, 5)), axis=0), executor=executor)(x)
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan, 0.0, 0.0])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_complex_infinity_stays_what_its_sum_is(executor: str) -> None:
    x = np.array([complex(np.inf, 1), complex(1, -np.inf), 2 + 3j])

    def f(x: Any) -> Any:
        return tn.sum(tn.broadcast_to(x, (3, 3)), axis=0)

    found = tn.jit(f, executor=executor)(x).numpy()
    np.testing.assert_array_equal(found, np.sum(np.broadcast_to(x, (3, 3)), axis=0))
