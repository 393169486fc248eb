"""Indices of many operations that XLA must not compute again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import OptimizerOptions, parse
from tenferro.ir import parse_exec
from tenferro_xla import XlaExecutor
from tenferro_xla.platforms import OPS, MaterializedIndices

STEPS = "\n".join(f"%{i}: i64[2000] = negate %{i - 1}" for i in range(3, 11))
PLACES = "offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1"
READ = f"""
exec_program(%0: f64[50], %1: f64[60], %2: i64[2000]) {{
  {STEPS}
  %11: f64[2000] = gather[{PLACES}, slice_sizes=(1,)] %0, %10
  %12: f64[2000] = gather[{PLACES}, slice_sizes=(1,)] %1, %10
  %13: f64[2000] = multiply %11, %12
  return %13
}}"""


def test_indices_of_many_operations_with_two_readers_are_stored() -> None:
    result = MaterializedIndices().run(parse(READ))
    lines = [line.strip() for line in str(result).splitlines()]
    (stored,) = [line for line in lines if "xla_stored" in line]
    assert lines[lines.index(stored) - 1].split(" = ")[1] == "negate %9"
    slot = stored.split(":")[0]
    assert sum(line.endswith(slot) for line in lines) == 2
    assert MaterializedIndices().run(result) is result
    assert str(parse_exec(str(result), OPS)) == str(result)


def test_short_indices_those_of_few_operations_and_of_one_reader_are_left_to_xla() -> None:
    for text in (
        READ.replace("2000", "1000"),
        READ.replace("%3: i64[2000] = negate %2", "%3: i64[2000] = reverse[axes=(0,)] %2"),
        READ.replace(f"gather[{PLACES}, slice_sizes=(1,)] %1, %10", "sine %11"),
    ):
        program = parse(text)
        assert MaterializedIndices().run(program) is program


def interpolated(x: Any, knots: Any, values: Any) -> Any:
    places = tn.clip(tn.searchsorted(knots, x) - 1, 0, knots.shape[0] - 2)
    slopes = (values[places + 1] - values[places]) / (knots[places + 1] - knots[places])
    return tn.sum((values[places] + slopes * (x - knots[places])) ** 2)


@pytest.mark.exhaustive
def test_a_gradient_through_a_search_is_the_same_with_stored_indices_and_without() -> None:
    rng = np.random.default_rng(0)
    x, knots, values = rng.normal(size=3000), np.sort(rng.normal(size=40)), rng.normal(size=40)
    gradient = tn.grad(interpolated, argnums=(0, 1, 2))
    plain = OptimizerOptions(materialized_indices=False)
    runs = [
        tn.jit(gradient, executor=XlaExecutor()),
        tn.jit(gradient, executor=XlaExecutor(), options=plain),
        tn.jit(gradient, executor=tn.GraphExecutor(tn.NumpyBackend())),
    ]
    expected, *others = [run(x, knots, values) for run in runs]
    for other in others:
        for one, two in zip(expected, other, strict=True):
            np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-9, atol=1e-9)
