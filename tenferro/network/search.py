"""Find a tree: exactly, greedily, or by a search of many; the options of searches."""

from __future__ import annotations

import heapq
import math
import pkgutil
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, cast, get_args

import numpy as np
import opt_einsum

from tenferro.compiler import CPU, DeviceCosts
from tenferro.errors import PathError
from tenferro.network.contraction_tree import (
    ContractionTree,
    Merged,
    Pairs,
    entering_labels,
    pairs_of_path,
    tree_seconds,
)
from tenferro.network.reconfigure import (
    CANDIDATES,
    GREEDY,
    MOVE,
    REPLAN,
    TRAFFIC,
    Effort,
    annealed,
    exact_pairs,
    refined,
)
from tenferro.network.subscripts import Label, NestedEinsum, Subscripts

__all__ = [
    "Auto",
    "ContractionOptimizerOptions",
    "EinsumOptimize",
    "LeftToRight",
    "Nested",
    "Path",
    "Tree",
    "as_optimize",
    "find_tree",
]


Objective = Literal["time", "flops", "size"]
Method = Literal["auto", "greedy", "exact", "search", "cotengra"]
EFFORT = 10.0
"""How many times the predicted run time of a plan its search takes by default."""
NAMES = ("auto", "greedy", "search", "optimal", "dp", "exact", "cotengra")
"""The names that `optimize=` takes; further ones are those of opt_einsum's optimizers."""
Progress = Callable[[int, int, float], object]
"""Called with the number of trees tried, the total number of trees, and the best score so far."""


@dataclass(frozen=True, slots=True)
class ContractionOptimizerOptions:
    """The objective of an automatic plan and the effort of the search for it.

    Attributes:
        objective: the quantity to minimize: predicted run time, flops, or the size of the largest
            intermediate.
        method: `"exact"` is dynamic programming; `"greedy"` takes milliseconds; `"search"` combines
            tenferro's planners with opt_einsum's; `"cotengra"` needs the extra `paths`; `"auto"` is
            `"exact"` for small networks and for others a `"search"` that `effort` bounds.
        trials: largest number of candidate trees of a search. The result depends on the options
            alone.
        seconds: time after which a search stops; the result may then depend on the machine.
        seed: seed of all random choices.
        memory_limit: most bytes that intermediates may take at once; slicing keeps them below it.
        effort: bound of an `"auto"` search, as a multiple of the predicted run time of the plan. It
            may always take about 20 ms, or 1 ms for each operand. It is counted in steps, not by a
            clock.
        progress: function called after each trial; True shows a progress bar.
    """

    objective: Objective = "time"
    method: Method = "auto"
    trials: int = 16
    seconds: float | None = None
    seed: int = 0
    memory_limit: int | None = None
    effort: float = EFFORT
    progress: Progress | bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("objective", self.objective, get_args(Objective)),
            ("method", self.method, get_args(Method)),
        ):
            if value not in allowed:
                raise PathError(
                    f"einsum: {name} must be one of {', '.join(allowed)}, got {value!r}"
                )
        if self.trials < 1:
            raise PathError(f"einsum: trials must be at least 1, got {self.trials}")
        object.__setattr__(self, "effort", _as_effort(self.effort))

    @property
    def identity(self) -> tuple[object, ...]:
        """The options that the plan depends on."""
        seconds = None if self.seconds is None else float(self.seconds)
        effort = () if self.effort == EFFORT else (self.effort,)
        plain = (self.objective, self.method, self.trials, seconds, self.seed, self.memory_limit)
        return (*plain, *effort)


def _as_effort(value: object) -> float:
    if isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:  # an integer that is larger than every float
            number = math.inf
        if number >= 0:
            return number
    raise PathError(f"einsum: effort must be a number of at least 0, got {value!r}")


@dataclass(frozen=True, slots=True)
class Auto:
    """The best order that a search with these options finds."""

    options: ContractionOptimizerOptions = ContractionOptimizerOptions()


@dataclass(frozen=True, slots=True)
class LeftToRight:
    """The operands contracted from left to right: the meaning of `optimize=False`."""


@dataclass(frozen=True, slots=True)
class Nested:
    """The order that parentheses in the subscripts give."""

    einsum: NestedEinsum


@dataclass(frozen=True, slots=True)
class Path:
    """Groups of positions in the shrinking list of operands, as `jax.numpy.einsum` takes them."""

    path: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree that was made earlier for operands of the same sizes."""

    tree: ContractionTree


EinsumOptimize = Auto | LeftToRight | Nested | Path | Tree


def as_optimize(value: Any) -> EinsumOptimize:
    """The strategy that `optimize=` means.

    None, True and `"auto"` mean an automatic plan; `"greedy"`, `"optimal"` and `"cotengra"` mean
    one by that method; False contracts from left to right; a list or an array of pairs is a path.

    Raises:
        PathError: the value is not a strategy.

    >>> as_optimize(False), as_optimize([(0, 1)])
    (LeftToRight(), Path(path=((0, 1),)))
    """
    match value:
        case Auto() | LeftToRight() | Nested() | Path() | Tree():
            return value
        case None | True:
            return Auto()
        case False:
            return LeftToRight()
        case str():
            return Auto(ContractionOptimizerOptions(method=_method(value)))
        case ContractionOptimizerOptions():
            return Auto(value)
        case NestedEinsum():
            return Nested(value)
        case ContractionTree():
            return Tree(value)
        case list() | tuple() | np.ndarray():
            return Path(_groups(value))
        case _:
            raise PathError(
                f"einsum: optimize={value!r} is not a strategy; pass True, False, a path, a "
                "NestedEinsum, a ContractionTree, ContractionOptimizerOptions, or a path, tree or "
                "optimizer of opt_einsum or cotengra"
            )


def _method(name: str) -> Method:
    if name not in NAMES:
        raise PathError(
            f"einsum: optimize={name!r} is not a method; the names are "
            f"{', '.join(map(repr, NAMES))}, and those of opt_einsum's optimizers, such as "
            "'branch-2' and 'random-greedy'"
        )
    return "exact" if name in ("optimal", "dp") else cast(Method, name)


def _groups(value: Sequence[Any] | np.ndarray) -> tuple[tuple[int, ...], ...]:
    match value:
        case (str(name), int() | float()) if name != "einsum_path":
            raise PathError(
                f"einsum: optimize={value!r} is NumPy's pair of a method and a number of elements; "
                f"pass optimize={name!r}, and memory_limit= in bytes if intermediates must fit"
            )
        case (str("einsum_path"), *groups):
            pass
        case _:
            groups = list(value)
    try:
        return tuple(tuple(int(position) for position in group) for group in groups)
    except (TypeError, ValueError):
        raise PathError(
            f"einsum: {value!r} is not a path; a path is a list of pairs of positions"
        ) from None


# A greedy planner: each step contracts the pair that reduces the memory in use the most.

Live = dict[int, frozenset[Label]]

CROWD = 48
"""Most values that a label brings as partners of another: the smallest of those that have it.

Where many values share a label, scoring every pair of them would take quadratic time.
"""


def greedy_pairs(
    subscripts: Subscripts,
    sizes: Mapping[Label, int],
    alpha: float = 1.0,
    temperature: float = 0.0,
    seed: int = 0,
) -> Pairs:
    """Contractions chosen one at a time by `size(result) - alpha * (size(left) + size(right))`.

    Only pairs with a common label are considered while such pairs exist; the remaining values are
    then multiplied, smallest first. A label that all operands have does not count as common: it
    says nothing about the order. A `temperature` above 0 adds Gumbel noise to the logarithm of
    the score; `seed` seeds the generator of the noise.
    """
    return _Greedy(subscripts, sizes, alpha, temperature, seed).run()


class _Greedy:
    def __init__(
        self,
        subscripts: Subscripts,
        sizes: Mapping[Label, int],
        alpha: float,
        temperature: float,
        seed: int,
    ) -> None:
        self.live: Live = {
            number: frozenset(labels) for number, labels in enumerate(entering_labels(subscripts))
        }
        self.output = frozenset(subscripts.output)
        self.log = {label: math.log2(max(size, 1)) for label, size in sizes.items()}
        self.owners: dict[Label, set[int]] = {}
        for number, labels in self.live.items():
            for label in labels:
                self.owners.setdefault(label, set()).add(number)
        count = len(self.live)
        shared = {label for label, owners in self.owners.items() if len(owners) == count > 2}
        if shared:
            self.live = {number: labels - shared for number, labels in self.live.items()}
        self.sizes = {number: self.size(labels) for number, labels in self.live.items()}
        self.crowds = {
            label: sorted((self.sizes[number], number) for number in owners)
            for label, owners in self.owners.items()
            if len(owners) > CROWD and label not in shared
        }
        self.alpha = alpha
        self.temperature = temperature
        self.random = random.Random(seed)
        self.heap: list[tuple[float, int, int]] = []
        self.pairs: list[tuple[int, int]] = []
        self.next = len(self.live)

    def run(self) -> Pairs:
        while len(self.live) > 1:
            pair = self.best()
            if pair is not None:
                self.contract(*pair)
                continue
            for number in list(self.live):
                self.consider(number, above=number)
            if not self.heap:  # no two values have a common label
                break
        self.multiply_rest()
        return tuple(self.pairs)

    def best(self) -> tuple[int, int] | None:
        while self.heap:
            _, a, b = heapq.heappop(self.heap)
            if a in self.live and b in self.live:
                return a, b
        return None

    def consider(self, number: int, above: int = -1) -> None:
        """Score the pairs of a value with those that share a label with it."""
        neighbours: set[int] = set()
        for label in self.live[number]:
            crowd = self.crowds.get(label)
            if crowd is not None:
                neighbours.update(self.smallest(crowd))
            else:
                neighbours.update(owner for owner in self.owners[label] if owner > above)
        neighbours.discard(number)
        for neighbour in sorted(neighbours):
            heapq.heappush(self.heap, (self.score(number, neighbour), number, neighbour))

    def smallest(self, crowd: list[tuple[float, int]]) -> list[int]:
        """The smallest values of a heap that have not been contracted."""
        found: list[tuple[float, int]] = []
        while crowd and len(found) <= CROWD:
            entry = heapq.heappop(crowd)
            if entry[1] in self.live:
                found.append(entry)
        for entry in found:
            heapq.heappush(crowd, entry)
        return [number for _, number in found]

    def score(self, a: int, b: int) -> float:
        result_size = self.size(self.result(a, b))
        gain = result_size - self.alpha * (self.sizes[a] + self.sizes[b])
        if not self.temperature:
            return gain
        noise = -math.log(-math.log(self.random.random() or 0.5))
        return math.copysign(math.log1p(abs(gain)), gain) - self.temperature * noise

    def result(self, a: int, b: int) -> frozenset[Label]:
        labels = self.live[a] | self.live[b]
        pair = {a, b}
        return frozenset(
            label for label in labels if label in self.output or not self.owners[label] <= pair
        )

    def size(self, labels: frozenset[Label]) -> float:
        return float(2.0 ** min(sum(self.log[label] for label in labels), 1000.0))

    def contract(self, a: int, b: int) -> None:
        labels = self.result(a, b)
        for number in (a, b):
            for label in self.live.pop(number):
                self.owners[label].discard(number)
        number, self.next = self.next, self.next + 1
        self.live[number] = labels
        self.sizes[number] = self.size(labels)
        for label in labels:
            self.owners[label].add(number)
            if label in self.crowds:
                heapq.heappush(self.crowds[label], (self.sizes[number], number))
        self.pairs.append((a, b))
        self.consider(number)

    def multiply_rest(self) -> None:
        """Outer products of the values that share no label, the two smallest first."""
        rest = [(self.sizes[number], number) for number in self.live]
        heapq.heapify(rest)
        while len(rest) > 1:
            _, a = heapq.heappop(rest)
            _, b = heapq.heappop(rest)
            self.contract(min(a, b), max(a, b))
            number = self.next - 1
            heapq.heappush(rest, (self.sizes[number], number))


# Searching for a contraction order.

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
    count = len(merged.subscripts.inputs)
    pairs: Pairs = ((0, 1),) if count == 2 else ()
    if count > 2:
        method = options.method
        if method == "auto":
            method = "exact" if count <= EXACT_OPERANDS else "search"
        search = _Search(merged.subscripts, sizes, options, costs)
        pairs = _METHODS[method](search).pairs
    return ContractionTree(subscripts, sizes, merged.expand(pairs))


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

    def best(self, candidates: Iterator[Pairs], total: int) -> ContractionTree:
        """The tree with the lowest score after improving the best few candidates."""
        start = time.monotonic()
        seconds = self.options.seconds
        is_bounded = self.options.method == "auto"  # what users ask for by name has no bound
        factor = self.options.effort if is_bounded else math.inf
        effort = Effort(factor, len(self.subscripts.inputs))
        scored: list[tuple[float, int, ContractionTree]] = []
        run = math.inf
        for number, pairs in enumerate(candidates, start=1):
            tree = self.tree(pairs)
            scored.append((self.score(tree), number, tree))
            best_score, _, best = min(scored)
            if callable(self.options.progress):
                self.options.progress(number, total, best_score)
            effort.spend(GREEDY)
            run = self.run(best) if best is tree else run
            is_over = seconds is not None and time.monotonic() - start > seconds
            if is_over or effort.part_spent(run) > CANDIDATES:
                break
        finalists = [tree for _, _, tree in sorted(scored)[:FINALISTS]]
        improved: list[ContractionTree] = []
        for number, tree in enumerate(finalists):
            best = min([finalists[0], *improved], key=self.run)
            sweeps = self.sweeps(effort, best)
            if sweeps and (seconds is None or time.monotonic() - start < seconds):
                improved.append(
                    self.tree(annealed(tree, self.options.seed + number, TRAFFIC, sweeps))
                )
                effort.spend(sweeps * MOVE)
        ranked = sorted([*improved, *finalists], key=self.score)
        replans = effort.left(self.run(ranked[0]), REPLAN)
        chosen = ranked[: FINALISTS // 2 if replans is None else min(replans, FINALISTS // 2)]
        return min(
            (refined(tree, self.score) for tree in chosen), key=self.score, default=ranked[0]
        )

    def run(self, tree: ContractionTree) -> float:
        """The predicted run time, also for other objectives."""
        return tree_seconds(self.costs, tree)

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


def _greedy(search: _Search) -> ContractionTree:
    return search.tree(greedy_pairs(search.subscripts, search.sizes))


def _exact(search: _Search) -> ContractionTree:
    if len(search.subscripts.inputs) <= EXACT_OPERANDS:
        return search.tree(exact_pairs(search.subscripts, search.sizes))
    minimize = "size" if search.options.objective == "size" else "flops"
    planner = opt_einsum.DynamicProgramming(minimize=minimize)
    return search.tree(_by_opt_einsum(search, planner))


def _searched(search: _Search) -> ContractionTree:
    return search.best(_candidates(search), search.options.trials)


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


def _by_cotengra(search: _Search) -> ContractionTree:
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
    return search.best(iter([_by_opt_einsum(search, planner)]), 1)


_METHODS: dict[str, Callable[[_Search], ContractionTree]] = {
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
    return pairs_of_path(planner(inputs, output, sizes, None), len(inputs))
