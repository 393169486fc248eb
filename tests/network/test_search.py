"""Planning: quality, determinism, progress, and plans as values."""

import math
from typing import Any

import numpy as np
import opt_einsum
import pytest

import tenferro as tn
from tenferro.errors import PathError
from tenferro.network import (
    PLANNER,
    ContractionOptimizerOptions,
    EinsumPlan,
    Planner,
    Subscripts,
)
from tenferro.planning import (
    ContractionTree,
    concrete_sizes,
    find_tree,
    left_to_right,
    pairs_of_path,
)
from tenferro.planning.anneal import annealed
from tenferro.planning.greedy import greedy_pairs
from tests.network.networks import instances


def ring(count: int, seed: int = 0) -> tuple[Subscripts, dict[int, int]]:
    """A random network on a ring with chords, its edges of sizes 2 to 5."""
    generator = np.random.default_rng(seed)
    edges = [(i, (i + 1) % count) for i in range(count)]
    edges += [tuple(generator.choice(count, 2, replace=False)) for _ in range(count // 2)]
    terms: list[list[int]] = [[] for _ in range(count)]
    for label, (a, b) in enumerate(edges):
        terms[a].append(label)
        terms[b].append(label)
    sizes = {label: int(generator.integers(2, 6)) for label in range(len(edges))}
    return Subscripts(tuple(map(tuple, terms)), ()), sizes


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


@pytest.mark.parametrize("count", [12, 30, 80])
def test_a_search_is_no_worse_than_the_greedy_planner(count: int) -> None:
    network, sizes = ring(count)
    greedy = find_tree(network, sizes, ContractionOptimizerOptions("flops", "greedy"))
    found = find_tree(network, sizes, ContractionOptimizerOptions("flops", "search", trials=8))
    assert found.flops <= greedy.flops
    small = find_tree(network, sizes, ContractionOptimizerOptions("size", "search", trials=8))
    assert small.largest <= greedy.largest


def test_a_search_depends_on_its_seed_alone() -> None:
    network, sizes = ring(40)
    options = ContractionOptimizerOptions(method="search", trials=6, seed=3)
    assert find_tree(network, sizes, options).pairs == find_tree(network, sizes, options).pairs


def test_progress_is_reported_and_is_not_part_of_the_plan() -> None:
    network, sizes = ring(12)
    seen: list[tuple[int, int]] = []

    def report(done: int, total: int, best: float) -> None:
        seen.append((done, total))

    options = ContractionOptimizerOptions(method="search", trials=5, progress=report)
    find_tree(network, sizes, options)
    assert seen == [(i, 5) for i in range(1, 6)]
    assert options == ContractionOptimizerOptions(method="search", trials=5)


def test_a_bar_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    network, sizes = ring(12)
    find_tree(network, sizes, ContractionOptimizerOptions("flops", "search", 3, progress=True))
    assert capsys.readouterr().out == ""


def test_a_time_budget_stops_a_search() -> None:
    network, sizes = ring(30)
    seen: list[int] = []
    options = ContractionOptimizerOptions(
        method="search", trials=10**6, seconds=0.05, progress=lambda done, *_: seen.append(done)
    )
    find_tree(network, sizes, options)
    assert 0 < seen[-1] < 10**6


def test_disconnected_parts_and_scalars_are_multiplied_last() -> None:
    network = Subscripts.parse("ij,jk,ab,bc,,z->ikacz")
    sizes = {label: 3 for term in network.inputs for label in term}
    assert len(greedy_pairs(network, sizes)) == 5


def test_cotengra_plans_too() -> None:
    pytest.importorskip("cotengra")
    network, sizes = ring(20)
    options = ContractionOptimizerOptions("flops", "cotengra", trials=8)
    greedy = find_tree(network, sizes, ContractionOptimizerOptions("flops", "greedy"))
    assert find_tree(network, sizes, options).flops <= 2 * greedy.flops


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


def test_a_plan_prints_saves_and_loads() -> None:
    specs = [tn.TensorSpec((8, 8), "complex128")] * 3
    plan = tn.einsum_plan("ij,jk,kl->il", *specs)
    assert plan.flops == 4 * 2 * 2 * 8**3
    assert plan.peak_bytes == 2 * 64 * 16
    assert "1x8x8x8" in str(plan)
    loaded = EinsumPlan.from_json(plan.to_json())
    assert str(loaded) == str(plan)
    assert loaded.path == plan.path


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "x", "version": 1}', "null"])
def test_text_that_is_not_a_plan_is_refused(text: str) -> None:
    with pytest.raises(PathError, match="einsum plan"):
        EinsumPlan.from_json(text)


def test_annealing_finds_the_best_order_of_a_chain() -> None:
    generator = np.random.default_rng(0)
    sizes = {label: int(size) for label, size in enumerate(generator.integers(2, 60, 13))}
    chain = Subscripts(tuple((k, k + 1) for k in range(12)), (0, 12))
    start = ContractionTree(chain, sizes, left_to_right(12))
    found = ContractionTree(chain, sizes, annealed(start, 0, 0.0, 300))
    best = opt_einsum.DynamicProgramming(minimize="flops")
    inputs = [frozenset(term) for term in chain.inputs]
    optimal = pairs_of_path(best(inputs, frozenset(chain.output), sizes, None), 12)
    assert found.flops == ContractionTree(chain, sizes, optimal).flops < start.flops
    assert annealed(start, 5, 16.0, 50) == annealed(start, 5, 16.0, 50)


INSTANCES = [one for one in instances() if len(one["shapes"]) > 3]
# How far above the given path's flops, as a power of ten, a default search may end.
FAR = {"gm_queen5_5_3.wcsp": 0.75}


@pytest.mark.skipif(not INSTANCES, reason="the instances are not beside the checkout")
@pytest.mark.parametrize("instance", INSTANCES, ids=[one["name"] for one in INSTANCES])
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


def test_sizes_of_a_tree_come_from_shapes() -> None:
    assert concrete_sizes(Subscripts.parse("ab->"), [(2, 3)]) == {97: 2, 98: 3}
