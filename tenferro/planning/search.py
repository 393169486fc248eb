"""Searching for a contraction order."""

from __future__ import annotations

import math
import pkgutil
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import opt_einsum

from tenferro.compiler import CPU, DeviceCosts
from tenferro.errors import PathError
from tenferro.planning.anneal import annealed
from tenferro.planning.cost import tree_seconds
from tenferro.planning.effort import CANDIDATES, GREEDY, MOVE, REPLAN, Effort
from tenferro.planning.greedy import greedy_pairs
from tenferro.planning.merging import Merged
from tenferro.planning.optimize import ContractionOptimizerOptions, Progress
from tenferro.planning.paths import Pairs, pairs_of_path
from tenferro.planning.refine import TRAFFIC, exact_pairs, refined
from tenferro.planning.subscripts import Label, Subscripts
from tenferro.planning.tree import ContractionTree

EXACT_OPERANDS = 8
"""Most operands for which the exact planner takes milliseconds."""

FINALISTS = 4
"""Number of candidates of a search that are annealed; half as many of the results are refined."""

MOVES = 300_000
"""Approximate number of moves of one annealing, which then takes a few seconds at most."""


FEWEST_SWEEPS = 25
"""Sweeps below which annealing does not pay."""


def find_tree(
    subscripts: Subscripts,
    sizes: Mapping[Label, int],
    options: ContractionOptimizerOptions,
    costs: DeviceCosts = CPU,
) -> ContractionTree:
    """The tree with the lowest score that the method of `options` finds.

    Raises:
        PathError: the method is not available here.
    """
    merged = Merged.of(subscripts)
    pairs = _pairs(merged.subscripts, sizes, options, costs)
    return ContractionTree(subscripts, sizes, merged.expand(pairs))


def _pairs(
    subscripts: Subscripts,
    sizes: Mapping[Label, int],
    options: ContractionOptimizerOptions,
    costs: DeviceCosts,
) -> Pairs:
    """The contractions of the tree with the lowest score, of operands with different labels."""
    count = len(subscripts.inputs)
    if count <= 2:
        return ((0, 1),) if count == 2 else ()
    search = _Search(subscripts, sizes, options, costs)
    method = options.method
    if method == "auto":
        method = "exact" if count <= EXACT_OPERANDS else "search"
    report = options.progress if callable(options.progress) else _report_nothing
    return _METHODS[method](search, report).pairs


@dataclass(frozen=True, slots=True)
class _Search:
    subscripts: Subscripts
    sizes: Mapping[Label, int]
    options: ContractionOptimizerOptions
    costs: DeviceCosts

    def tree(self, pairs: Pairs) -> ContractionTree:
        return ContractionTree(self.subscripts, self.sizes, pairs)

    def score(self, tree: ContractionTree) -> float:
        match self.options.objective:
            case "flops":
                return float(tree.flops)
            case "size":
                return float(tree.largest) + 1e-9 * float(tree.flops)
            case "time":
                return tree_seconds(self.costs, tree)

    def best(self, candidates: Iterator[Pairs], report: Progress, total: int) -> ContractionTree:
        """The tree with the lowest score after improving the best few candidates."""
        start = time.monotonic()
        seconds = self.options.seconds
        effort = Effort(self.factor, len(self.subscripts.inputs))
        scored: list[tuple[float, int, ContractionTree]] = []
        run = math.inf
        for number, pairs in enumerate(candidates, start=1):
            tree = self.tree(pairs)
            scored.append((self.score(tree), number, tree))
            best_score, _, best = min(scored)
            report(number, total, best_score)
            effort.spend(GREEDY)
            run = self.run(best) if best is tree else run
            late = seconds is not None and time.monotonic() - start > seconds
            if late or effort.part_spent(run) > CANDIDATES:
                break
        finalists = [tree for _, _, tree in sorted(scored)[:FINALISTS]]
        improved: list[ContractionTree] = []
        for number, tree in enumerate(finalists):
            best = min([finalists[0], *improved], key=self.run)
            sweeps = self.sweeps(effort, best)
            if sweeps and (seconds is None or time.monotonic() - start < seconds):
                improved.append(self.tree(annealed(tree, self.seed(number), TRAFFIC, sweeps)))
                effort.spend(sweeps * MOVE)
        ranked = sorted([*improved, *finalists], key=self.score)
        replans = effort.left(self.run(ranked[0]), REPLAN)
        chosen = ranked[: FINALISTS // 2 if replans is None else min(replans, FINALISTS // 2)]
        return min(
            (refined(tree, self.score) for tree in chosen), key=self.score, default=ranked[0]
        )

    @property
    def factor(self) -> float:
        """The bound of the search; the one that users ask for by name has none."""
        return self.options.effort if self.options.method == "auto" else math.inf

    def run(self, tree: ContractionTree) -> float:
        """The predicted run time, also for other objectives."""
        return tree_seconds(self.costs, tree)

    def seed(self, number: int) -> int:
        """The seed for annealing a finalist."""
        return self.options.seed + number

    def sweeps(self, effort: Effort, best: ContractionTree) -> int:
        """How many sweeps anneal the next finalist; 0 if too few are left to help.

        A long annealing of one tree helps more than short ones of several. It minimizes flops and
        traffic for every objective.
        """
        most = max(100, min(3000, MOVES // len(best.pairs)))
        left = effort.left(self.run(best), MOVE)
        if left is None:
            return most
        return min(most, left) if left >= FEWEST_SWEEPS else 0


def _greedy(search: _Search, report: Progress) -> ContractionTree:
    return search.tree(greedy_pairs(search.subscripts, search.sizes))


def _exact(search: _Search, report: Progress) -> ContractionTree:
    if len(search.subscripts.inputs) <= EXACT_OPERANDS:
        return search.tree(exact_pairs(search.subscripts, search.sizes))
    minimize = "size" if search.options.objective == "size" else "flops"
    planner = opt_einsum.DynamicProgramming(minimize=minimize)
    return search.tree(_by_opt_einsum(search, planner))


def _searched(search: _Search, report: Progress) -> ContractionTree:
    trials = search.options.trials
    return search.best(_candidates(search), report, trials)


def _candidates(search: _Search) -> Iterator[Pairs]:
    """Greedy trees, first without noise, then with noise."""
    subscripts, sizes, options = search.subscripts, search.sizes, search.options
    yield greedy_pairs(subscripts, sizes)
    if options.trials > 1:
        yield _by_opt_einsum(search, opt_einsum.paths.greedy)
    generator = random.Random(options.seed)
    for trial in range(2, options.trials):
        alpha = generator.uniform(0.2, 1.6)
        temperature = 10.0 ** generator.uniform(-2.0, 0.5)
        yield greedy_pairs(subscripts, sizes, alpha, temperature, options.seed + trial)


def _by_cotengra(search: _Search, report: Progress) -> ContractionTree:
    try:
        hyper_optimizer: Any = pkgutil.resolve_name("cotengra:HyperOptimizer")
    except ImportError:
        raise PathError(
            "einsum: method 'cotengra' needs the package cotengra; install tenferro[paths]"
        ) from None
    options = search.options
    planner = hyper_optimizer(
        methods=["greedy"],
        minimize="size" if options.objective == "size" else "flops",
        max_repeats=options.trials,
        max_time=options.seconds,
        parallel=False,
        optlib="random",
        seed=options.seed,
        progbar=False,
    )
    pairs = _by_opt_einsum(search, planner)
    return search.best(iter([pairs]), report, 1)


_METHODS: dict[str, Callable[[_Search, Progress], ContractionTree]] = {
    "greedy": _greedy,
    "exact": _exact,
    "search": _searched,
    "cotengra": _by_cotengra,
}


def _by_opt_einsum(search: _Search, planner: Callable[..., Any]) -> Pairs:
    """The pairs of a planner that has opt_einsum's interface."""
    inputs = [frozenset(labels) for labels in search.subscripts.inputs]
    output = frozenset(search.subscripts.output)
    sizes = {label: max(size, 1) for label, size in search.sizes.items()}
    path = planner(inputs, output, sizes, None)
    return pairs_of_path(path, len(inputs))


def _report_nothing(done: int, total: int, best: float) -> None:
    """No progress is asked for."""
