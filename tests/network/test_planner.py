"""A planner keeps what it has planned."""

from tenferro.network import (
    PLANNER,
    ContractionOptimizerOptions,
    Planner,
)
from tests.networks import ring


def test_a_planner_keeps_its_trees() -> None:
    planner = Planner()
    network, _ = ring(12)
    shapes = [tuple(3 for _ in term) for term in network.inputs]
    plan = ("auto", *ContractionOptimizerOptions(trials=2).identity)
    first = planner.tree(network, shapes, plan)
    assert planner.tree(network, shapes, plan).pairs == first.pairs
    assert (planner.stats().hits, planner.stats().misses) == (1, 1)
    planner.clear()
    assert planner.stats().entries == 0
    assert PLANNER.capacity.entries > 0
