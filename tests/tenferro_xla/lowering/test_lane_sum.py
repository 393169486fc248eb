"""LaneSum on XLA adds in the same order."""

from dataclasses import replace

import jax
import pytest

from tenferro.ir import make_meta, program_of_op
from tenferro_xla.lowering import LoweringOptions, jax_function
from tests.ops.control_flow.test_lane_sum import SUM, X, check_lanes


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 32])
def test_rounds_are_added_in_lanes_and_lanes_in_their_tree(lanes: int) -> None:
    check_lanes(lanes, "xla")


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_lanes_of_one_length_are_loops_of_a_constant_number_of_iterations(lanes: int) -> None:
    """Which XLA on a GPU starts without asking the device after each."""
    program = program_of_op(replace(SUM, lanes=lanes), [make_meta(X.dtype, X.shape)])
    with jax.enable_x64(True):
        text = str(jax.make_jaxpr(jax_function(program, LoweringOptions()))(X))
    assert "scan[" in text
    assert "while[" not in text
