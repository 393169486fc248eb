"""Rolled loops on XLA: the same values, and the report names them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.compiler import OptimizerOptions
from tenferro_xla import XlaExecutor

STEPS = 60


def energy(a: Any, y: Any) -> Any:
    for _ in range(STEPS):
        y = y + 0.1 * tn.tanh(a @ y) * tn.cos(y)
    return tn.sum(y * y)


def test_the_gradient_of_a_python_loop_is_two_loops() -> None:
    rng = np.random.default_rng(3)
    matrix, vector = rng.normal(size=(4, 4)), rng.normal(size=4)
    executor = XlaExecutor()
    gradient = tn.jit(tn.grad(energy, argnums=(0, 1)), executor=executor)
    unrolled = tn.jit(
        tn.grad(energy, argnums=(0, 1)),
        executor="numpy",
        options=OptimizerOptions(reroll=False),
    )
    for one, other in zip(gradient(matrix, vector), unrolled(matrix, vector), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-12)
    found = re.findall(
        r"\n    rolled: (\d+) rounds of \d+ instructions at test_reroll.py:\d+",
        str(executor.explain()),
    )
    assert len(found) == 2
    assert all(int(rounds) > STEPS - 4 for rounds in found)
