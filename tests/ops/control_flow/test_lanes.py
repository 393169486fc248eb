"""Lanes share rounds out, and are added in one tree."""

import operator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenferro.ops.control_flow import TreeSum, lane_bounds, lane_count


@given(st.integers(0, 10**9), st.integers(1, 200))
def test_lanes_cover_all_rounds_once_and_evenly(total: int, workers: int) -> None:
    lanes = lane_count(total, workers)
    bounds = [lane_bounds(lane, lanes, total) for lane in range(lanes)]
    assert lanes >= workers
    assert lanes & (lanes - 1) == 0
    assert bounds[0][0] == 0
    assert bounds[-1][1] == total
    assert all(before[1] == after[0] for before, after in pairwise(bounds))
    sizes = [stop - first for first, stop in bounds]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(0, 10**9), st.integers(1, 64))
def test_the_count_depends_on_the_rounds_alone(total: int, workers: int) -> None:
    lanes = lane_count(total)
    assert lanes <= 16 or total >= 8 * lanes
    assert lanes >= min(total, 16)
    assert lane_count(total, min(workers, lanes)) == lanes


def test_with_a_lane_for_each_round_more_lanes_change_no_sum() -> None:
    def added(total: int, lanes: int) -> str:
        tree = TreeSum(lambda a, b: f"({a}+{b})" if a and b else a or b)
        for lane in range(lanes):
            first, stop = lane_bounds(lane, lanes, total)
            assert stop - first <= 1
            tree.push(f"{first:x}" if stop > first else "")
        return tree.result()

    for total in range(1, 17):
        lanes = lane_count(total)
        assert len({added(total, lane_count(total, more)) for more in (lanes, 16, 32, 64)}) == 1


def test_aligned_runs_may_be_added_apart() -> None:
    def added(values: list[str]) -> str:
        tree = TreeSum(lambda a, b: f"({a}{b})")
        for value in values:
            tree.push(value)
        return tree.result()

    leaves = [f"{i:x}" for i in range(16)]
    for workers in (1, 2, 4, 8):
        share = 16 // workers
        runs = [added(leaves[i : i + share]) for i in range(0, 16, share)]
        assert added(runs) == added(leaves)


@given(st.lists(st.integers(), min_size=1, max_size=40))
def test_every_leaf_counts_once(values: list[int]) -> None:
    tree = TreeSum(operator.add)
    for value in values:
        tree.push(value)
    assert tree.result() == sum(values)


def test_no_leaf_is_an_error() -> None:
    with pytest.raises(IndexError, match="no leaf"):
        TreeSum(operator.add).result()
