"""Branches and loops that a condition ends mean on XLA what they mean on NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tenferro_xla as txla
from tenferro.compiler import parse
from tenferro.ir import ExecProgram, evaluate, program_of_op
from tenferro.ops.control_flow import Switch, While
from tenferro.shape import TensorMeta

EXECUTOR = txla.XlaExecutor()
BRANCHES = [
    parse(f"exec_program(%0: f64[2], %1: c64[]) {{\n {line}\n return {result}, %1\n}}")
    for line, result in (
        ("%2: f64[2] = sine %0", "%2"),
        ("%2: f64[2] = constant[value=[1.0, 2.0], dtype=f64]", "%2"),
        ("%2: f64[2] = cosine %0", "%0"),
    )
]
GROWING = parse("""
exec_program(%0: i64[], %1: f64[], %2: f64[2], %3: f64[2]) {
  %4: i64[], %5: f64[2] = while[cond_consts=1, body_consts=1] %1, %2, %0, %3 {
    cond(%0: f64[], %1: i64[], %2: f64[2]) {
      %3: f64[] = reduce_sum[axes=(0,)] %2
      %4: bool[] = compare[direction='LT'] %3, %0
      return %4
    }
    body(%0: f64[2], %1: i64[], %2: f64[2]) {
      %3: i64[] = constant[value=1, dtype=i64]
      %4: i64[] = add %1, %3
      %5: f64[2] = switch %1, %2, %0 {
        branches[0](%0: f64[2], %1: f64[2]) {
          %2: f64[2] = add %0, %1
          return %2
        }
        branches[1](%0: f64[2], %1: f64[2]) {
          %2: f64[2] = multiply %1, %1
          %3: f64[2] = add %0, %2
          return %3
        }
      }
      return %4, %5
    }
  }
  return %4, %5
}""")


def assert_same(program: ExecProgram, arrays: list[np.ndarray[Any, Any]], run: Any) -> None:
    expected = evaluate(program, arrays)
    for result, wanted in zip(run(*map(EXECUTOR.put, arrays)), expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(EXECUTOR.get(result), wanted, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_a_switch_holds_its_index_within(dtype: str) -> None:
    operands = [np.array([0.5, -1.0]), np.asarray(2 + 1j, "complex64")]
    metas = [TensorMeta.of(dtype, ()), *BRANCHES[0].input_metas]
    program = program_of_op(Switch(tuple(BRANCHES)), metas)
    run = EXECUTOR.compile_exec(program)
    for index in (0, 1, 2, 3, 255) if dtype == "uint8" else (-1, 1, 2, 2**32, 2**62, -(2**62)):
        assert_same(program, [np.asarray(index, dtype), *operands], run)


@pytest.mark.parametrize("max_steps", [None, 0, 3])
def test_a_while_ends_with_its_condition_or_after_its_steps(max_steps: int | None) -> None:
    (loop,) = GROWING.ops_of(While)
    program = GROWING.with_ops(lambda op: replace(loop, max_steps=max_steps))
    run = EXECUTOR.compile_exec(program)
    for limit in (0.0, 3.0, 50.0):
        arrays = [np.asarray(0), np.asarray(limit), np.array([0.5, 1.5]), np.array([0.25, 0.0])]
        assert_same(program, arrays, run)
