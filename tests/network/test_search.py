"""The search for an order: its quality, and what it depends on."""

import math
from typing import Any

import opt_einsum
import pytest

from tenferro.compiler import CPU
from tenferro.errors import PathError
from tenferro.network import (
    ContractionOptimizerOptions,
    Subscripts,
)
from tenferro.network.contraction_tree import ContractionTree, pairs_of_path, tree_seconds
from tenferro.network.planner import options_of
from tenferro.network.search import find_tree
from tests.networks import instances, ring
from tests.sampling import some


@pytest.mark.parametrize("seed", range(5))
def test_the_exact_planner_is_no_worse_than_any_other(seed: int) -> None:
    network, sizes = ring(7, seed)
    best = find_tree(network, sizes, ContractionOptimizerOptions("flops", "exact"))
    inputs = [frozenset(term) for term in network.inputs]
    optimal = opt_einsum.paths.optimal(inputs, frozenset(), sizes)
    reference = ContractionTree(network, sizes, pairs_of_path(optimal, 7))
    assert best.flops <= 1.2 * reference.flops
    for method in ("greedy", "search"):
        found = find_tree(network, sizes, ContractionOptimizerOptions("flops", method))
        assert best.flops <= 1.05 * found.flops


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [12, 30, 80])
def test_a_search_is_no_worse_than_the_greedy_planner(count: int) -> None:
    network, sizes = ring(count)
    greedy = find_tree(network, sizes, ContractionOptimizerOptions("flops", "greedy"))
    found = find_tree(network, sizes, ContractionOptimizerOptions("flops", "search", trials=8))
    assert found.flops <= greedy.flops
    small = find_tree(network, sizes, ContractionOptimizerOptions("size", "search", trials=8))
    assert small.largest <= greedy.largest


@pytest.mark.exhaustive
def test_a_search_depends_on_its_seed_alone() -> None:
    network, sizes = ring(40)
    options = ContractionOptimizerOptions(method="search", trials=6, seed=3)
    assert find_tree(network, sizes, options).pairs == find_tree(network, sizes, options).pairs


def test_a_time_budget_stops_a_search() -> None:
    network, sizes = ring(30)
    seen: list[int] = []
    options = ContractionOptimizerOptions(
        method="search", trials=10**6, seconds=0.05, progress=lambda done, *_: seen.append(done)
    )
    find_tree(network, sizes, options)
    assert 0 < seen[-1] < 10**6


def test_a_search_of_a_small_network_tries_little_and_finds_as_much() -> None:
    network, sizes = ring(30)
    full = find_tree(network, sizes, ContractionOptimizerOptions(method="search"))
    tried: dict[float, int] = {}
    for effort in (0.0, 10.0, math.inf):
        seen: list[int] = []
        options = ContractionOptimizerOptions(
            effort=effort, progress=lambda done, *_, seen=seen: seen.append(done)
        )
        found = find_tree(network, sizes, options)
        assert found.pairs == find_tree(network, sizes, options).pairs
        assert tree_seconds(CPU, found) <= 1.3 * tree_seconds(CPU, full)
        tried[effort] = max(seen)
    assert tried[0.0] <= tried[10.0] < tried[math.inf] == ContractionOptimizerOptions().trials
    assert (
        find_tree(network, sizes, ContractionOptimizerOptions(effort=math.inf)).pairs == full.pairs
    )


def test_effort_is_part_of_the_plan_only_if_it_is_not_the_default() -> None:
    assert ContractionOptimizerOptions().identity == ContractionOptimizerOptions(effort=10).identity
    more = ContractionOptimizerOptions(effort=50)
    assert options_of(("auto", *more.identity)) == more
    assert ContractionOptimizerOptions(effort=10**400).effort == math.inf
    for wrong in (-1.0, math.nan, "much"):
        with pytest.raises(PathError, match="effort must be a number of at least 0"):
            ContractionOptimizerOptions(effort=wrong)  # type: ignore[arg-type]


def test_cotengra_plans_too() -> None:
    pytest.importorskip("cotengra")
    network, sizes = ring(20)
    options = ContractionOptimizerOptions("flops", "cotengra", trials=8)
    greedy = find_tree(network, sizes, ContractionOptimizerOptions("flops", "greedy"))
    assert find_tree(network, sizes, options).flops <= 2 * greedy.flops


INSTANCES = [one for one in instances() if len(one["shapes"]) > 3]
# How far above the given path's flops, as a power of ten, a default search may end.
FAR = {"gm_queen5_5_3.wcsp": 0.75}


@pytest.mark.exhaustive
@pytest.mark.skipif(not INSTANCES, reason="the instances are not beside the checkout")
@pytest.mark.parametrize("instance", some(INSTANCES, 3, lambda one: one["name"], start=2))
def test_a_search_is_about_as_good_as_the_paths_that_come_with_instances(
    instance: dict[str, Any],
) -> None:
    network = Subscripts.parse(instance["format_string"])
    shapes = [tuple(shape) for shape in instance["shapes"]]
    given = ContractionTree.of(network, shapes, instance["paths"]["opt_flops"]["path"])
    options = ContractionOptimizerOptions("flops", trials=6)
    found = find_tree(network, given.sizes, options)
    far = FAR.get(instance["name"], 0.05)
    assert math.log10(found.flops) <= math.log10(given.flops) + far


def test_progress_is_reported_and_is_not_part_of_the_plan() -> None:
    network, sizes = ring(12)
    seen: list[tuple[int, int]] = []

    def report(done: int, total: int, best: float) -> None:
        seen.append((done, total))

    options = ContractionOptimizerOptions(method="search", trials=5, progress=report)
    find_tree(network, sizes, options)
    assert seen == [(i, 5) for i in range(1, 6)]
    assert options == ContractionOptimizerOptions(method="search", trials=5)
