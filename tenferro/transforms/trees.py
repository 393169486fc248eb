"""Pytrees: dicts, lists, tuples, named tuples, dataclasses and None, with arrays as leaves."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable
from typing import Any

import optree

NAMESPACE = "tenferro"
TreeDef = optree.PyTreeSpec

_lock = threading.Lock()
_registered: set[type] = set()


def flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree and its structure. None is an empty tree.

    >>> leaves, treedef = flatten({"b": 2.0, "a": [1.0, None]})
    >>> leaves
    [1.0, 2.0]
    """
    leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
    if _register_dataclasses(leaves):
        return flatten(tree)
    return leaves, treedef


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of that structure with the given leaves."""
    return optree.tree_unflatten(treedef, leaves)


def map_leaves(function: Callable[..., Any], tree: Any) -> Any:
    """The tree with `function` applied to each leaf."""
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [function(leaf) for leaf in leaves])


def leaf_names(tree: Any, root: str) -> list[str]:
    """A name for each leaf, as one would write it: `params['w']`."""
    flatten(tree)  # registers what must be
    accessors = optree.tree_accessors(tree, namespace=NAMESPACE)
    return [accessor.codify(root) for accessor in accessors]


def _register_dataclasses(leaves: list[Any]) -> bool:
    """Make trees of the dataclasses among the leaves; whether there was a new one."""
    new = {
        type(leaf)
        for leaf in leaves
        if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type)
    } - _registered
    with _lock:
        for kind in new - _registered:
            _register(kind)
            _registered.add(kind)
    return bool(new)


def _register(kind: Any) -> None:
    names = tuple(field.name for field in dataclasses.fields(kind) if field.init)

    def children_of(value: Any) -> tuple[list[Any], None, tuple[str, ...]]:
        return [getattr(value, name) for name in names], None, names

    def rebuild(_: Any, children: Iterable[Any]) -> Any:
        return kind(**dict(zip(names, children, strict=True)))

    optree.register_pytree_node(kind, children_of, rebuild, namespace=NAMESPACE)
