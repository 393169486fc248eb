"""Long chains: every stage walks with a stack of its own, at the default recursion limit."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import OptimizerOptions
from tenferro.core import (
    differentiate,
    interned_count,
    resolve_keys,
    transpose,
)
from tenferro.ir import verify
from tenferro.ops import shape_context


@pytest.mark.exhaustive
@pytest.mark.parametrize("length", [20_000, pytest.param(100_000, marks=pytest.mark.large)])
def test_a_long_chain_of_ops_goes_through_every_stage_and_is_freed(length: int) -> None:
    gc.collect()
    before = interned_count()
    _run_through_every_stage(length)
    gc.collect()
    assert interned_count() == before


def _run_through_every_stage(length: int) -> None:
    ctx = shape_context()
    x = tn.TracedTensor.input((2,), "float64", name="x")
    y = x
    for _ in range(length // 2):
        y = tn.sin(y)
        y = y + x
    linear = differentiate(resolve_keys(), [y.key], [x.key], ctx=ctx)
    reverse = transpose(linear, ctx=ctx)
    assert len(str(linear).splitlines()) >= length
    outputs = [y.key, *filter(None, reverse.output_keys)]
    inputs = [x.key, *filter(None, reverse.input_keys)]
    compiler = tn.GraphCompiler(capacity=0, options=OptimizerOptions(reroll=False))
    program = compiler.compile_keys(outputs, inputs).exec_program
    verify(program)
    assert len(str(program).splitlines()) == len(program.instructions) + 3
    assert len(program.digest) == 64
    inputs = {"x": np.array([0.1, 0.2]), "ct": np.ones(2)}
    value, gradient = tn.GraphExecutor(tn.NumpyBackend()).compile_exec(program)(*inputs.values())
    expected, slope = _by_hand(inputs["x"], length)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9)


def _by_hand(x: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """y ← sin(y) + x from y = x, with its derivative."""
    y, slope = x, np.ones_like(x)
    for _ in range(length // 2):
        y, slope = np.sin(y) + x, np.cos(y) * slope + 1
    return y, slope
