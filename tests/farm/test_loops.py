"""Programs whose loops a farm runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.farm.executor import FarmLoop, with_farm_loops
from tenferro.farm.job import iteration_work
from tenferro.ir import ExecProgram
from tenferro.ops.extension import Extension

RING = "abx,bcx,cdx,dax->"
SPECS = [tn.TensorSpec((16, 16, 5), "float64")] * 4
EACH = range(4)


def ring(*arrays: Any) -> Any:
    plan = tn.einsum_plan(RING, *SPECS, optimize=False, slices="x")
    return tn.log(tn.einsum(RING, *arrays, optimize=plan) ** 2)


def loops(function: Any) -> list[FarmLoop]:
    program: ExecProgram = tn.make_program(function, *SPECS).exec_program
    ops = with_farm_loops(program).ops_of(Extension)
    return [op.op for op in ops if isinstance(op.op, FarmLoop)]


@pytest.fixture(scope="module")
def value() -> FarmLoop:
    (loop,) = loops(ring)
    return loop


def test_value_and_gradient_are_one_loop_that_shares_the_work(value: FarmLoop) -> None:
    (both,) = loops(tn.value_and_grad(ring, argnums=tuple(EACH)))
    assert iteration_work(both.part) < 3.5 * iteration_work(value.part)


def test_a_loop_means_all_of_its_rounds(value: FarmLoop) -> None:
    arrays = list(np.random.default_rng(0).normal(size=(4, 16, 16, 5)))
    (found,) = Extension(value).evaluate([*arrays, np.asarray(5)])
    np.testing.assert_allclose(found, np.einsum(RING, *arrays), rtol=1e-11)


def test_a_program_without_loops_stays() -> None:
    program = tn.make_program(tn.sin, SPECS[0]).exec_program
    assert with_farm_loops(program) is program
