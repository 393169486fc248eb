"""Pytrees: dicts, lists, tuples, named tuples, dataclasses and None, with arrays as leaves."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable
from typing import Any

import optree

from tenferro.typing import PyTree

NAMESPACE = "tenferro"
TreeDef = optree.PyTreeSpec

_lock = threading.Lock()
_known: set[type] = set()
"""Types of leaves that were checked, and registered if they are dataclasses."""


def flatten(tree: PyTree) -> tuple[list[PyTree], TreeDef]:
    """The leaves of a tree and its structure. None is an empty tree.

    >>> leaves, treedef = flatten({"b": 2.0, "a": [1.0, None]})
    >>> leaves
    [1.0, 2.0]
    """
    leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
    if _register_dataclasses(leaves):
        return flatten(tree)
    return leaves, treedef


def unflatten(treedef: TreeDef, leaves: Iterable[PyTree]) -> PyTree:
    """The tree with this structure and these leaves."""
    return optree.tree_unflatten(treedef, leaves)


def spread(
    prefix: PyTree, tree: PyTree, shown: Callable[[Any], object] = lambda leaf: "leaf"
) -> list[PyTree]:
    """For each leaf of a tree, the leaf of `prefix` above it. None is a leaf of `prefix`.

    Raises:
        ValueError: `prefix` is not one of the tree; the text has what `shown` makes of leaves.

    >>> spread({"a": 1, "b": None}, {"a": [3.0, 4.0], "b": 5.0})
    [1, 1, None]
    """
    leaves, treedef = flatten(tree)
    flatten(prefix)  # registers dataclasses
    boxed = optree.tree_map(_Box, prefix, none_is_leaf=True, namespace=NAMESPACE)
    places = unflatten(treedef, [shown(leaf) for leaf in leaves])
    return [box.leaf for box in optree.broadcast_prefix(boxed, places, namespace=NAMESPACE)]


class _Box:
    """A leaf of a prefix; None alone would be an empty tree."""

    def __init__(self, leaf: PyTree) -> None:
        self.leaf = leaf


def leaf_names(tree: PyTree, root: str) -> list[str]:
    """A name for each leaf, as a Python expression: `params['w']`."""
    flatten(tree)  # registers dataclasses
    accessors = optree.tree_accessors(tree, namespace=NAMESPACE)
    return [accessor.codify(root) for accessor in accessors]


def _register_dataclasses(leaves: list[Any]) -> bool:
    """Register the dataclasses among the leaves as trees; returns whether one was new."""
    if _known.issuperset(map(type, leaves)):
        return False
    new = {type(leaf) for leaf in leaves} - _known
    with _lock:
        new_trees = [kind for kind in new - _known if dataclasses.is_dataclass(kind)]
        for kind in new_trees:
            _register(kind)
        _known.update(new)
    return bool(new_trees)


def _register(kind: Any) -> None:
    names = tuple(field.name for field in dataclasses.fields(kind) if field.init)

    def children_of(value: Any) -> tuple[list[Any], None, tuple[str, ...]]:
        return [getattr(value, name) for name in names], None, names

    def rebuild(_: Any, children: Iterable[Any]) -> Any:
        return kind(**dict(zip(names, children, strict=True)))

    optree.register_pytree_node(kind, children_of, rebuild, namespace=NAMESPACE)
