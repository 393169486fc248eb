"""Small steps of loops are compiled several at a time, where starting one takes time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import CPU
from tenferro.compiler.device import ScanUnrolling
from tenferro.ir import evaluate
from tenferro.ops.control_flow import Scan

COSTS = replace(CPU, write=1e-12, step=8e-6)


def scan(step: Any, length: int = 40, size: int = 8, unroll: int = 1) -> Scan:
    def loop(x: Any) -> Any:
        return tn.scan(lambda c, _: (step(c), None), x, None, length=length, unroll=unroll)[0]

    program = tn.make_program(loop, tn.TensorSpec((size, size))).exec_program
    (after,) = [each.op for each in ScanUnrolling(COSTS).run(program).instructions]
    assert isinstance(after, Scan)
    return after


@pytest.mark.parametrize(("length", "steps"), [(5, 5), (40, 20), (200, 25), (31, 31), (37, 32)])
def test_as_many_steps_are_one_as_there_are_instructions_for(length: int, steps: int) -> None:
    assert scan(lambda x: tn.sin(x) + x, length).unroll == steps


def test_steps_that_launch_kernels_of_their_own_or_are_large_stay_one_by_one() -> None:
    assert scan(lambda x: tn.tanh(x @ x)).unroll == 1
    assert scan(lambda x: x - tn.mean(x)).unroll == 1
    assert scan(tn.sin, size=4000).unroll == 1
    assert scan(lambda x: tn.sin(x) + x, unroll=3).unroll == 3


def test_all_instructions_count_and_long_ones_stay_one_by_one() -> None:
    assert scan(tn.sin).unroll == 40
    assert scan(lambda x: tn.transpose(tn.sin(x) + tn.transpose(x))).unroll < 20
    assert scan(tn.scipy.special.digamma).unroll == 1
    assert scan(lambda x: tn.scipy.special.gammainc(x, 2 * x)).unroll == 1


def test_a_device_without_such_a_cost_changes_no_loop() -> None:
    program = tn.make_program(lambda x: tn.fori_loop(0, 9, lambda _, x: tn.sin(x), x), np.ones(3))
    assert ScanUnrolling(CPU).run(program.exec_program) is program.exec_program


def test_the_results_keep_their_bits() -> None:
    def loop(x: Any) -> Any:
        return tn.scan(lambda c, y: (tn.sin(c) * y, c), tn.ones(3), x)

    program = tn.make_program(loop, tn.TensorSpec((37, 3))).exec_program
    x = np.random.default_rng(0).normal(size=(37, 3))
    after = ScanUnrolling(COSTS).run(program)
    assert after is not program
    for one, other in zip(evaluate(program, [x]), evaluate(after, [x]), strict=True):
        np.testing.assert_array_equal(one, other)
