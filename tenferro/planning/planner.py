"""From a strategy to contractions: what a plan specification means for given shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from tenferro.computegraph import BoundedCache, CacheStats, Capacity
from tenferro.config import config
from tenferro.errors import MemoryLimitError, PathError
from tenferro.planning.optimize import (
    Auto,
    ContractionOptimizerOptions,
    EinsumOptimize,
    LeftToRight,
    Nested,
    Path,
    Tree,
)
from tenferro.planning.paths import Pairs, left_to_right, pairs_of_path
from tenferro.planning.search import find_tree
from tenferro.planning.subscripts import Subscripts
from tenferro.planning.tree import ContractionTree, concrete_sizes
from tenferro.shape import Dim

Specification = tuple[Any, ...]
"""A strategy as a payload value: `("auto", …)`, or `("pairs", …)` where the order is fixed."""

Shapes = Sequence[tuple[Dim, ...]]


def specification(
    strategy: EinsumOptimize, subscripts: Subscripts, shapes: Shapes
) -> Specification:
    """The strategy without what only this process knows, fixed orders as pairs.

    Raises:
        PathError: the order is not one of these operands; a tree is given for symbolic shapes.
    """
    count = len(subscripts.inputs)
    match strategy:
        case Auto(options):
            return ("auto", *options.identity)
        case LeftToRight():
            return ("pairs", left_to_right(count))
        case Nested(einsum):
            if einsum.subscripts.canonical() != subscripts.canonical():
                raise PathError(
                    f"einsum: the nested order is that of {einsum.subscripts}, not of {subscripts}"
                )
            return ("pairs", pairs_of_path(einsum.path, count))
        case Path(path):
            return ("pairs", pairs_of_path(path, count))
        case Tree(tree):
            return ("pairs", _pairs_of_tree(tree, subscripts, shapes))
        case _:
            assert_never(strategy)


def _pairs_of_tree(tree: ContractionTree, subscripts: Subscripts, shapes: Shapes) -> Pairs:
    if any(not isinstance(size, int) for shape in shapes for size in shape):
        raise PathError(
            "einsum: a ContractionTree is made for known sizes, but an operand has symbolic ones; "
            "pass its path instead"
        )
    sizes = concrete_sizes(subscripts, shapes)  # type: ignore[arg-type]  # integers, as checked
    same = tree.subscripts.canonical() == subscripts.canonical()
    if not same or [tree.sizes[label] for label in _order(tree.subscripts)] != [
        sizes[label] for label in _order(subscripts)
    ]:
        raise PathError(f"einsum: the tree is for another network or other sizes than {subscripts}")
    return tree.pairs


def _order(subscripts: Subscripts) -> list[int]:
    return list(dict.fromkeys(label for term in subscripts.inputs for label in term))


class Planner:
    """Turns specifications into trees, and keeps the trees of searches.

    One is shared by all calls of `einsum` that have no owner of their own, `network.PLANNER`.
    """

    def __init__(self, capacity: Capacity | None = None) -> None:
        self._trees: BoundedCache[Any, Pairs] = BoundedCache(
            Capacity(config.cache_entries) if capacity is None else capacity
        )

    def tree(
        self,
        subscripts: Subscripts,
        shapes: Sequence[tuple[int, ...]],
        plan: Specification,
        options: ContractionOptimizerOptions | None = None,
    ) -> ContractionTree:
        """The tree for operands of these shapes; searched once for each of them and plan.

        `options`, if given, are those that the specification came from, with their progress.
        """
        sizes = concrete_sizes(subscripts, shapes)
        if plan[0] == "pairs":
            return ContractionTree(subscripts, sizes, plan[1])
        canonical = subscripts.canonical()
        if options is None:
            options = options_of(plan)
        key = (canonical, tuple(tuple(shape) for shape in shapes), plan)
        pairs = self._trees.get_or_make(key, lambda: find_tree(subscripts, sizes, options).pairs)
        return ContractionTree(subscripts, sizes, pairs)

    def stats(self) -> CacheStats:
        """Trees held, and how often one was reused."""
        return self._trees.stats()

    def clear(self) -> None:
        """Drop the trees."""
        self._trees.clear()

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache; assigning smaller ones evicts at once."""
        return self._trees.capacity

    @capacity.setter
    def capacity(self, capacity: Capacity) -> None:
        self._trees.capacity = capacity


PLANNER = Planner()
"""Plans the calls of `einsum`."""


def options_of(plan: Specification) -> ContractionOptimizerOptions:
    """The options that a specification was made of."""
    _, objective, method, trials, seconds, seed, memory_limit = plan
    return ContractionOptimizerOptions(objective, method, trials, seconds, seed, memory_limit)


def check_memory(tree: ContractionTree, itemsize: int, limit: int | None) -> None:
    """Refuse a tree whose intermediates need more than `limit` bytes.

    Raises:
        MemoryLimitError: with the predicted peak.
    """
    needed = tree.peak * itemsize
    if limit is not None and needed > limit:
        raise MemoryLimitError(
            f"einsum: intermediates need {needed} bytes at once, but {limit} are allowed; the "
            f"largest has {tree.largest} elements",
            needed,
            limit,
        )
