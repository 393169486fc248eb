"""The planner: what `optimize=` takes, also from opt_einsum and cotengra, becomes a tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never, runtime_checkable

import opt_einsum
from opt_einsum.contract import PathInfo

from tenferro.compiler import CPU, DeviceCosts
from tenferro.config import config
from tenferro.core import BoundedCache, CacheOwner, Capacity
from tenferro.errors import MemoryLimitError, PathError
from tenferro.ir import Dim
from tenferro.network.contraction_tree import (
    ContractionTree,
    Pairs,
    concrete_sizes,
    entering_labels,
    left_to_right,
    pairs_of_path,
)
from tenferro.network.search import (
    NAMES,
    Auto,
    ContractionOptimizerOptions,
    EinsumOptimize,
    LeftToRight,
    Nested,
    Path,
    Tree,
    find_tree,
)
from tenferro.network.subscripts import Label, Labels, Subscripts, build_size_dict

__all__ = [
    "PLANNER",
    "FixedOrder",
    "Planner",
    "Specification",
    "check_memory",
    "options_of",
    "order_of",
    "specification",
]


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
    """Makes trees from specifications, and caches what searches and other libraries find.

    All calls of `einsum` share the planner `network.PLANNER`.

    Attributes:
        plans: the cache of the plans that `einsum` makes of trees.
    """

    def __init__(self, capacity: Capacity | None = None) -> None:
        self._cache: BoundedCache[Any, Any] = BoundedCache(
            Capacity(config.cache_entries) if capacity is None else capacity
        )
        self.plans: BoundedCache[Any, Any] = BoundedCache(Capacity(config.cache_entries))

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


# Contraction orders and planners of opt_einsum and cotengra, as `optimize=` takes them.


@dataclass(frozen=True, slots=True)
class FixedOrder:
    """A fixed order.

    Attributes:
        path: groups of positions in the shrinking list of operands.
        slices: labels to loop over.
    """

    path: tuple[tuple[int, ...], ...]
    slices: Labels = ()


@runtime_checkable
class _CotengraTree(Protocol):
    """What is read of cotengra's ContractionTree."""

    inputs: Sequence[Iterable[str]]
    output: Iterable[str]
    size_dict: dict[str, int]
    sliced_inds: dict[str, Any]

    def get_path(self) -> Iterable[Sequence[int]]:
        """Groups of positions in the shrinking list of operands."""
        ...


@runtime_checkable
class _Searching(Protocol):
    """An optimizer of cotengra, which also returns trees: unlike paths they have slices."""

    def search(self, inputs: Any, output: Any, size_dict: Any) -> _CotengraTree:
        """The best tree that was found."""
        ...


def order_of(value: Any, subscripts: Subscripts, shapes: Shapes) -> FixedOrder | None:
    """The order that another library's object means for a network; None for other values.

    The value is a `PathInfo` of opt_einsum, a tree of cotengra (with its slices), an optimizer
    of either: an object that is called with labels and sizes, or the name of one of opt_einsum's,
    such as `"branch-2"`.

    Raises:
        PathError: the order is for another network, or an optimizer is to plan for symbolic sizes.

    >>> network = Subscripts.parse("ij,jk,kl->il")
    >>> order_of(opt_einsum.paths.greedy, network, [(2, 9), (9, 9), (9, 2)])
    FixedOrder(path=((0, 1), (0, 1)), slices=())
    """
    if isinstance(value, str):
        named = None if value in NAMES else _named(value)
        return None if named is None else _asked(named, subscripts, shapes)
    if isinstance(value, PathInfo):
        return _of_path_info(value, subscripts)
    if isinstance(value, type):
        return None
    if isinstance(value, _CotengraTree):
        return _of_tree(value, subscripts, shapes)
    return _asked(value, subscripts, shapes) if callable(value) else None


def _of_path_info(info: PathInfo, subscripts: Subscripts) -> FixedOrder:
    network = Subscripts.parse(f"{info.input_subscripts}->{info.output_subscript}")
    if network.canonical() != subscripts.canonical():
        raise PathError(f"einsum: the PathInfo is for {network}, not for {subscripts}")
    return FixedOrder(_tuples(info.path))


def _of_tree(tree: _CotengraTree, subscripts: Subscripts, shapes: Shapes) -> FixedOrder:
    path = _tuples(tree.get_path())
    if len(tree.inputs) != len(subscripts.inputs):
        raise PathError(
            f"einsum: the tree of cotengra contracts {len(tree.inputs)} operands, not the "
            f"{len(subscripts.inputs)} of {subscripts}"
        )
    if not tree.sliced_inds:
        return FixedOrder(path)
    labels = _labels_by_name(tree, subscripts)
    sizes = build_size_dict(subscripts, shapes)
    for name, info in tree.sliced_inds.items():
        if name not in labels or sizes[labels[name]] != tree.size_dict[name]:
            raise PathError(
                f"einsum: the tree of cotengra slices {name!r} of size {tree.size_dict[name]}, "
                f"which {subscripts} of these shapes does not have"
            )
        if getattr(info, "project", None) is not None:
            raise PathError(
                f"einsum: the tree of cotengra takes one value of {name!r} only; index the "
                "operands there, and plan for what is left"
            )
    return FixedOrder(path, _useful(subscripts, (labels[name] for name in tree.sliced_inds)))


def _useful(subscripts: Subscripts, slices: Iterable[Label]) -> Labels:
    """The labels without those that are summed over in an operand before it is contracted."""
    entering = {label for term in entering_labels(subscripts) for label in term}
    return tuple(label for label in slices if label in entering)


def _named(name: str) -> Any:
    """The function that opt_einsum, or a package that adds to it, calls by this name, or None."""
    try:
        return opt_einsum.paths.get_path_fn(name)
    except KeyError:
        return None


def _labels_by_name(tree: _CotengraTree, subscripts: Subscripts) -> dict[str, Label]:
    """The labels of the tree's names: by position, or by their letters where a term is a set."""
    labels: dict[str, Label] = {}
    for names, term in zip(tree.inputs, subscripts.inputs, strict=True):
        ordered = list(names) if isinstance(names, Sequence) else [chr(label) for label in term]
        if len(ordered) != len(term) or set(ordered) != set(names):
            raise PathError(
                f"einsum: the tree of cotengra has a tensor with the labels {sorted(names)}, which "
                f"{subscripts} does not have"
            )
        labels |= dict(zip(ordered, term, strict=True))
    return labels


def _asked(optimizer: Any, subscripts: Subscripts, shapes: Shapes) -> FixedOrder:
    known = [tuple(size for size in shape if isinstance(size, int)) for shape in shapes]
    if any(len(sizes) != len(shape) for sizes, shape in zip(known, shapes, strict=True)):
        raise PathError(
            f"einsum: the optimizer {type(optimizer).__name__} needs known sizes, but an operand "
            "has symbolic sizes; pass a path, or optimize=True, which plans when sizes are known"
        )
    if not isinstance(optimizer, Hashable):
        return _search(optimizer, subscripts, known)
    key = ("order", optimizer, subscripts, tuple(known))
    order: FixedOrder = PLANNER._cache.get_or_make(
        key, lambda: _search(optimizer, subscripts, known)
    )
    return order


def _search(optimizer: Any, subscripts: Subscripts, shapes: Shapes) -> FixedOrder:
    names = {
        label: opt_einsum.get_symbol(number)
        for number, label in enumerate(dict.fromkeys(sum(subscripts.inputs, ())))
    }
    inputs = [[names[label] for label in dict.fromkeys(term)] for term in subscripts.inputs]
    output = [names[label] for label in subscripts.output]
    sizes = {
        names[label]: max(int(size), 1)
        for label, size in build_size_dict(subscripts, shapes).items()
    }
    count = len(subscripts.inputs)
    if count == 1 or (count == 2 and not isinstance(optimizer, _Searching)):
        return FixedOrder((tuple(range(count)),))  # there is one order, and optimizers expect more
    if isinstance(optimizer, _Searching):
        tree = optimizer.search(inputs, output, sizes)
        by_name = {name: label for label, name in names.items()}
        slices = _useful(subscripts, (by_name[each] for each in tree.sliced_inds))
        return FixedOrder(_tuples(tree.get_path()), slices)
    path = optimizer([frozenset(term) for term in inputs], frozenset(output), sizes, None)
    return FixedOrder(_tuples(path))


def _tuples(path: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(int(position) for position in group) for group in path)
    except (TypeError, ValueError):
        raise PathError(
            f"einsum: the optimizer returned {path!r}, which is not a list of groups of positions"
        ) from None
