"""LaneSum on XLA adds in the same order."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from tenferro.ir import ExecProgram, make_meta, program_of_op
from tenferro_xla.lowering import ExtensionLowerings, LoweringOptions, jax_function
from tenferro_xla.placement import OneDevice
from tenferro_xla.platforms import CPU_PLATFORM, CUDA_PLATFORM
from tenferro_xla.target import target_for
from tests.ops.control_flow.test_lane_sum import SUM, X, by_lanes, check_lanes

HOST = OneDevice(jax.devices("cpu")[0])


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 32])
def test_rounds_are_added_in_lanes_and_lanes_in_their_tree(lanes: int) -> None:
    check_lanes(lanes, "xla")


def program(lanes: int) -> ExecProgram:
    return program_of_op(replace(SUM, lanes=lanes), [make_meta(X.dtype, X.shape)])


def traced(lanes: int, options: LoweringOptions) -> str:
    with jax.enable_x64(True):
        return str(jax.make_jaxpr(jax_function(program(lanes), options))(X))


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_lanes_of_one_length_are_loops_of_a_constant_number_of_iterations(lanes: int) -> None:
    """Which XLA on a GPU starts without asking the device after each."""
    text = traced(lanes, LoweringOptions())
    assert "scan[" in text
    assert "while[" not in text
    assert text == traced(lanes, LoweringOptions(awaits_loops=True))


@pytest.mark.parametrize("lanes", [8, 32])
def test_of_lanes_that_differ_the_longer_ones_have_one_iteration_behind_the_loop(
    lanes: int,
) -> None:
    options = LoweringOptions(awaits_loops=True)
    assert "while[" in traced(lanes, LoweringOptions())
    text = traced(lanes, options)
    assert "cond[" in text
    assert "while[" not in text
    with jax.enable_x64(True):
        total, squares = jax.jit(jax_function(program(lanes), options))(X)
    assert np.asarray(total) == by_lanes(replace(SUM, lanes=lanes))
    np.testing.assert_array_equal(squares, X * X)


def test_the_target_says_whether_the_device_awaits_loops() -> None:
    waits = {
        each.name: target_for(HOST, each, ExtensionLowerings()).lowering.awaits_loops
        for each in (CPU_PLATFORM, replace(CUDA_PLATFORM, rewrites=False))
    }
    assert waits == {"cpu": False, "cuda": True}
