"""LaneSum on XLA adds in the same order."""

import pytest

from tests.ops.control_flow.test_lane_sum import check_lanes


@pytest.mark.parametrize("lanes", [1, 2, 8, 32])
def test_rounds_are_added_in_lanes_and_lanes_in_their_tree(lanes: int) -> None:
    check_lanes(lanes, "xla")
