"""From a strategy to a tree: plan specifications, and the planner that makes trees of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from tenferro.compiler import CPU, DeviceCosts
from tenferro.computegraph import BoundedCache, CacheOwner, Capacity
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
"""A strategy as a payload value: `("auto", …)`, or `("pairs", …)` for a fixed order."""

Shapes = Sequence[tuple[Dim, ...]]


def specification(
    strategy: EinsumOptimize, subscripts: Subscripts, shapes: Shapes
) -> Specification:
    """The strategy as a payload value: a fixed order becomes pairs, callbacks are left out.

    Raises:
        PathError: the order does not fit the operands, or is a tree while shapes are symbolic.
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
                    f"einsum: the nested order is for {einsum.subscripts}, not for {subscripts}"
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
            "einsum: a ContractionTree holds for known sizes only, but an operand has symbolic "
            "sizes; pass the path of the tree instead"
        )
    sizes = concrete_sizes(subscripts, shapes)  # type: ignore[arg-type]  # integers, as checked
    same = tree.subscripts.canonical() == subscripts.canonical()
    if not same or [tree.sizes[label] for label in _order(tree.subscripts)] != [
        sizes[label] for label in _order(subscripts)
    ]:
        raise PathError(
            f"einsum: the tree is for another network or other sizes than {subscripts}; make one "
            "with ContractionTree.of for these operands"
        )
    return tree.pairs


def _order(subscripts: Subscripts) -> list[int]:
    return list(dict.fromkeys(label for term in subscripts.inputs for label in term))


class Planner(CacheOwner):
    """Makes trees from specifications, and caches the trees that searches find.

    All calls of `einsum` share the planner `network.PLANNER`.
    """

    def __init__(self, capacity: Capacity | None = None) -> None:
        self._cache: BoundedCache[Any, Pairs] = BoundedCache(
            Capacity(config.cache_entries) if capacity is None else capacity
        )

    def tree(
        self,
        subscripts: Subscripts,
        shapes: Sequence[tuple[int, ...]],
        plan: Specification,
        options: ContractionOptimizerOptions | None = None,
        costs: DeviceCosts = CPU,
    ) -> ContractionTree:
        """The tree for operands of these shapes on a device of these costs; searched once for each.

        `options` are the options that the specification was made of, with their progress callback;
        if None, they are read from the specification.
        """
        sizes = concrete_sizes(subscripts, shapes)
        if plan[0] == "pairs":
            return ContractionTree(subscripts, sizes, plan[1])
        canonical = subscripts.canonical()
        if options is None:
            options = options_of(plan)
        key = (canonical, tuple(tuple(shape) for shape in shapes), plan, costs)
        pairs = self._cache.get_or_make(
            key, lambda: find_tree(subscripts, sizes, options, costs).pairs
        )
        return ContractionTree(subscripts, sizes, pairs)


PLANNER = Planner()
"""The planner of all calls of `einsum`."""


def options_of(plan: Specification) -> ContractionOptimizerOptions:
    """The options that a specification was made of."""
    return ContractionOptimizerOptions(*plan[1:])


def check_memory(tree: ContractionTree, itemsize: int, limit: int | None) -> None:
    """Raise MemoryLimitError if the intermediates of `tree` need more than `limit` bytes."""
    needed = tree.peak * itemsize
    if limit is not None and needed > limit:
        raise MemoryLimitError(
            f"einsum: intermediates need {needed} bytes at once, but {limit} are allowed; the "
            f"largest has {tree.largest} elements",
            needed,
            limit,
        )
