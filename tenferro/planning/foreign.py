"""Contraction orders and planners of opt_einsum and cotengra, as `optimize=` takes them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import opt_einsum
from opt_einsum.contract import PathInfo

from tenferro.computegraph import BoundedCache, Capacity
from tenferro.config import config
from tenferro.errors import PathError
from tenferro.planning.sizes import build_size_dict
from tenferro.planning.subscripts import Label, Labels, Subscripts
from tenferro.shape import Dim

Shapes = Sequence[tuple[Dim, ...]]


@dataclass(frozen=True, slots=True)
class Order:
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


ORDERS: BoundedCache[Any, Order] = BoundedCache(Capacity(config.cache_entries))
"""The orders that optimizers found, each asked once for a network and its shapes."""


def order_of(value: Any, subscripts: Subscripts, shapes: Shapes) -> Order | None:
    """The order that another library's object means for a network; None for other values.

    The value is a `PathInfo` of opt_einsum, a tree of cotengra (with its slices), or an optimizer
    of either: an object that is called with labels and sizes.

    Raises:
        PathError: the order is for another network, or an optimizer is to plan for symbolic sizes.

    >>> network = Subscripts.parse("ij,jk,kl->il")
    >>> order_of(opt_einsum.paths.greedy, network, [(2, 9), (9, 9), (9, 2)])
    Order(path=((0, 1), (0, 1)), slices=())
    """
    if isinstance(value, PathInfo):
        return _of_path_info(value, subscripts)
    if isinstance(value, type):
        return None
    if isinstance(value, _CotengraTree):
        return _of_tree(value, subscripts, shapes)
    return _asked(value, subscripts, shapes) if callable(value) else None


def _of_path_info(info: PathInfo, subscripts: Subscripts) -> Order:
    network = Subscripts.parse(f"{info.input_subscripts}->{info.output_subscript}")
    if network.canonical() != subscripts.canonical():
        raise PathError(f"einsum: the PathInfo is for {network}, not for {subscripts}")
    return Order(_tuples(info.path))


def _of_tree(tree: _CotengraTree, subscripts: Subscripts, shapes: Shapes) -> Order:
    path = _tuples(tree.get_path())
    if len(tree.inputs) != len(subscripts.inputs):
        raise PathError(
            f"einsum: the tree of cotengra contracts {len(tree.inputs)} operands, not the "
            f"{len(subscripts.inputs)} of {subscripts}"
        )
    if not tree.sliced_inds:
        return Order(path)
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
    return Order(path, tuple(labels[name] for name in tree.sliced_inds))


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


def _asked(optimizer: Any, subscripts: Subscripts, shapes: Shapes) -> Order:
    known = [tuple(size for size in shape if isinstance(size, int)) for shape in shapes]
    if any(len(sizes) != len(shape) for sizes, shape in zip(known, shapes, strict=True)):
        raise PathError(
            f"einsum: the optimizer {type(optimizer).__name__} needs known sizes, but an operand "
            "has symbolic sizes; pass a path, or optimize=True, which plans when sizes are known"
        )
    if not isinstance(optimizer, Hashable):
        return _search(optimizer, subscripts, known)
    key = (optimizer, subscripts, tuple(known))
    return ORDERS.get_or_make(key, lambda: _search(optimizer, subscripts, known))


def _search(optimizer: Any, subscripts: Subscripts, shapes: Shapes) -> Order:
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
    if isinstance(optimizer, _Searching):
        tree = optimizer.search(inputs, output, sizes)
        by_name = {name: label for label, name in names.items()}
        return Order(_tuples(tree.get_path()), tuple(by_name[each] for each in tree.sliced_inds))
    path = optimizer([frozenset(term) for term in inputs], frozenset(output), sizes, None)
    return Order(_tuples(path))


def _tuples(path: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(int(position) for position in group) for group in path)
    except (TypeError, ValueError):
        raise PathError(
            f"einsum: the optimizer returned {path!r}, which is not a list of groups of positions"
        ) from None
