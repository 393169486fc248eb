"""Pytrees: dicts, lists, tuples, named tuples, registered classes and None, with arrays as leaves.

As in JAX, the leaves of a dict come in the order of its sorted keys, and so do the keys of the dict
that is made again: what a function gets does not depend on the calls before.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import methodcaller
from typing import Any, TypeVar

import numpy as np
import optree

from tenferro.errors import PytreeError, class_of
from tenferro.ir import PyTree
from tenferro.ops.functions import KINDS
from tenferro.runtime import ShownType

__all__ = [
    "NAMESPACE",
    "Named",
    "NamedEntry",
    "Rest",
    "TreeDef",
    "callable_leaf",
    "flatten",
    "in_order",
    "instance_of",
    "is_tree_of_jax",
    "leaf_names",
    "longer",
    "merged",
    "one_level",
    "prefix_leaves",
    "register_class",
    "registered_classes",
    "registering",
    "require_hashable",
    "shown",
    "unflatten",
    "with_known_classes",
]

NAMESPACE = "tenferro"
T = TypeVar("T")
TreeDef = optree.PyTreeSpec
_LEAF = optree.treespec_leaf(namespace=NAMESPACE)


def flatten(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None, *, in_any_order: bool = False
) -> tuple[list[PyTree], TreeDef]:
    """The leaves of a tree and its structure. None is an empty tree.

    A structure `in_any_order` costs less, and is good for comparisons only: dicts made of it have
    their keys in the order of this tree.

    Raises:
        PytreeError: the keys of a dict cannot be sorted, or `is_leaf` is not a function.

    >>> leaves, treedef = flatten({"b": 2.0, "a": [1.0, None]})
    >>> leaves, unflatten(treedef, leaves)
    ([1.0, 2.0], {'a': [1.0, None], 'b': 2.0})
    """
    leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
    while _adopted(leaves):
        leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
    if is_leaf is not None:
        leaves, treedef = optree.tree_flatten(tree, callable_leaf(is_leaf), namespace=NAMESPACE)
    if in_any_order or treedef.is_leaf():
        return leaves, treedef
    return leaves, treedef.transform(_in_order)


def callable_leaf(is_leaf: Callable[..., bool]) -> Callable[..., bool]:
    """The function that says what is a leaf.

    Raises:
        PytreeError: it is not a function.
    """
    if not callable(is_leaf):
        raise PytreeError(f"pytree: is_leaf must be a function, got {class_of(is_leaf)}")
    return is_leaf


def in_order(treedef: TreeDef) -> TreeDef:
    """The structure with the keys of dicts in order, as their leaves are.

    Raises:
        PytreeError: keys cannot be sorted.
    """
    return treedef if treedef.is_leaf() else treedef.transform(_in_order)


def _in_order(node: TreeDef) -> TreeDef:
    """A structure of one level."""
    kind = node.type
    if (kind is not dict and kind is not defaultdict) or node.num_children < 2:
        return node
    try:
        keys = sorted(node.entries())
    except TypeError as error:
        raise PytreeError(
            f"pytree: the keys {node.entries()} of a {kind.__name__} cannot be sorted: {error}; "
            "use keys of one type, or an OrderedDict"
        ) from None
    children = dict.fromkeys(keys, _LEAF)
    if kind is dict:
        return optree.treespec_dict(children, namespace=NAMESPACE)
    made: Any = optree.tree_unflatten(node, node.entries())
    return optree.treespec_defaultdict(made.default_factory, children, namespace=NAMESPACE)


def unflatten(treedef: TreeDef, leaves: Iterable[PyTree]) -> PyTree:
    """The tree with this structure and these leaves."""
    return optree.tree_unflatten(treedef, leaves)


def prefix_leaves(prefix: PyTree, tree: PyTree, mismatch: str) -> list[Any]:
    """For each leaf of a tree, the leaf of `prefix` above it. None is a leaf of `prefix`.

    Raises:
        PytreeError: `prefix` is not one of the tree; the text begins with `mismatch`.

    >>> prefix_leaves({"a": 1, "b": None}, {"a": [3.0, 4.0], "b": 5.0}, "the options do not fit")
    [1, 1, None]
    """
    leaves, treedef = flatten(tree)
    if optree.tree_is_leaf(prefix, none_is_leaf=True, namespace=NAMESPACE):
        return [prefix] * len(leaves)
    boxed = optree.tree_map(
        _Box, with_known_classes(prefix), none_is_leaf=True, namespace=NAMESPACE
    )
    places = unflatten(treedef, map(ShownType, leaves))
    try:
        boxes = optree.broadcast_prefix(boxed, places, namespace=NAMESPACE)
    except ValueError as error:
        raise PytreeError(f"{mismatch}: {error}") from None
    return [box.leaf for box in boxes]


def shown(treedef: TreeDef, leaves: Iterable[object]) -> str:
    """A tree with the texts of its leaves: `(f64[2], i64[])`."""
    return repr(unflatten(treedef, [_Text(leaf) for leaf in leaves]))


class _Text(str):
    """A text in the place of a leaf."""

    __slots__ = ()
    __repr__ = str.__str__


class _Box:
    """A leaf of a prefix; None alone would be an empty tree."""

    def __init__(self, leaf: PyTree) -> None:
        self.leaf = leaf


def merged(fixed: Mapping[int, T], others: Sequence[T]) -> tuple[T, ...]:
    """All arguments in order: those that are `fixed`, by position, and the others between them.

    >>> merged({1: "b"}, ["a", "c"])
    ('a', 'b', 'c')
    """
    rest = iter(others)
    count = len(fixed) + len(others)
    return tuple([fixed[i] if i in fixed else next(rest) for i in range(count)])


def leaf_names(tree: PyTree, root: str) -> list[str]:
    """A name for each leaf, as a Python expression: `params['w']`."""
    accessors = optree.tree_accessors(tree, namespace=NAMESPACE)
    return list(map(methodcaller("codify", root), accessors))


def registering(leaf: Any) -> str:
    """What errors say of a leaf that would be a tree if its class were registered; else nothing."""
    if not dataclasses.is_dataclass(leaf) or isinstance(leaf, type):
        return ""
    name = type(leaf).__name__
    return f"; make {name} a tree with tn.tree_util.register_dataclass({name})"


# Registered classes: what their instances consist of, and the names of their children.


class Rest:
    """What an instance of a registered class consists of in addition to its children.

    What is not hashable, such as a dict, could be changed. So a copy is compared, of the state in
    which it was.

    Raises:
        PytreeError: it cannot be compared; or it is not hashable, and cannot be copied.
    """

    __slots__ = ("_copy", "_hash", "owner", "value")

    def __init__(self, owner: str, value: Any) -> None:
        self.owner, self.value = owner, value
        self._hash: int | Exception = 0
        self._copy = value
        try:
            self._hash = hash(value)
        except TypeError:
            try:
                self._copy = copy.deepcopy(value)
                bool(self._copy == value)
            except Exception as error:
                self._hash = error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rest):
            return NotImplemented
        try:
            return self._copy is other._copy or bool(self._copy == other._copy)
        except Exception as error:
            raise self._refusal(error) from error

    def __hash__(self) -> int:
        if isinstance(self._hash, Exception):
            raise self._refusal(self._hash) from self._hash
        return self._hash

    def __repr__(self) -> str:
        return repr(self.value)

    def _refusal(self, error: Exception) -> PytreeError:
        return PytreeError(
            f"pytree: what a {self.owner} has beside its children is part of the structure, and "
            f"cannot be compared ({error}); it must be hashable, and == must give a bool: let "
            "arrays be children"
        )


def require_hashable(treedef: TreeDef) -> None:
    """Check what a structure has in addition to children, before it becomes the key of a cache.

    Raises:
        PytreeError: some of it is not hashable: it could be changed in the cache.
    """
    parts: list[Any] = [treedef.__getstate__()]
    while parts:
        part = parts.pop()
        if isinstance(part, Rest):
            hash(part)
        elif type(part) is tuple:
            parts += part


class Named:
    """A key that a class gives its child itself; see `tree_util.register_pytree_with_keys`."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key


class NamedEntry(optree.PyTreeEntry):
    """An entry of a path whose key is `Named`: errors show the key as it prints."""

    __slots__ = ()

    def codify(self, node: str = "") -> str:
        """The path of `node`, and the key."""
        return f"{node}{self.entry.key}"


_register: Any = optree.register_pytree_node  # whose stubs ask for a `Collection`


def register_class(
    kind: Any,
    children_of: Callable[[Any], tuple[Iterable[Any], Any, Iterable[Any] | None]],
    made_again: Callable[[Any, Iterable[Any]], Any],
    entry_type: type[optree.PyTreeEntry] = optree.AutoEntry,
) -> bool:
    """Make the instances of a class trees; False if they are already.

    Args:
        kind: the class.
        children_of: the children of an instance, what else it consists of, and the keys of the
            children, or None.
        made_again: the instance, from what else it consists of and the children.
        entry_type: how errors show the keys.
    """
    owner = kind.__name__

    def flattened(value: Any) -> tuple[Iterable[Any], Rest, Iterable[Any] | None]:
        children, rest, keys = children_of(value)
        return children, Rest(owner, rest), keys

    try:
        _register(
            kind,
            flattened,
            lambda rest, children: made_again(rest.value, children),
            path_entry_type=entry_type,
            namespace=NAMESPACE,
        )
    except ValueError:
        return False
    return True


def registered_classes() -> list[type]:
    """The classes whose instances are trees, in the order in which they were registered."""
    return list(_register.get(namespace=NAMESPACE))


def one_level(tree: Any) -> tuple[list[Any], Any] | None:
    """The children of an instance of a registered class, and what else it consists of."""
    if optree.tree_is_leaf(with_known_classes(tree), namespace=NAMESPACE):
        return None
    level = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
    rest: Any = level.metadata
    return (list(level.children), rest.value) if isinstance(rest, Rest) else None


def instance_of(kind: type, rest: Any, children: Iterable[Any]) -> Any:
    """The instance of a registered class with these children, and what else it consists of."""
    if is_tree_of_jax(kind):
        _adopt(kind)
    return _register.get(kind, namespace=NAMESPACE).unflatten_func(
        Rest(kind.__name__, rest), tuple(children)
    )


# Classes that are registered with JAX, such as the modules of Equinox.


def with_known_classes(tree: T) -> T:
    """The tree, after the classes of its nodes that JAX has registered are registered here.

    JAX is asked only if the process has imported it. `flatten` does this by itself.
    """
    flatten(tree, in_any_order=True)
    return tree


_NO_TREES = {float, int, bool, complex, np.ndarray}


def _adopted(leaves: Iterable[Any]) -> bool:
    """Whether one of the leaves is a tree now, as its class is registered with JAX."""
    for leaf in leaves:
        kind = type(leaf)
        if kind in KINDS or kind in _NO_TREES:
            continue
        if is_tree_of_jax(kind) and _adopt(kind):
            return True
    return False


def is_tree_of_jax(kind: type) -> bool:
    """Whether instances of a class are trees for JAX, if the process has imported it."""
    is_node = getattr(sys.modules.get("jax.tree_util"), "is_tree_node", None)
    return is_node is not None and bool(is_node(kind))


def _adopt(kind: Any) -> bool:
    """Register a class by what JAX makes of it; False if it is registered already."""
    jax: Any = sys.modules["jax.tree_util"]
    leaf = jax.tree_structure(0)

    def children_of(value: Any) -> tuple[list[Any], Any, list[Named]]:
        pairs, rest = jax.flatten_one_level_with_keys(value)
        pairs = list(pairs)
        return [child for _, child in pairs], rest, [Named(key) for key, _ in pairs]

    def made_again(rest: Any, children: Iterable[Any]) -> Any:
        children = list(children)
        node = (kind, rest), [leaf] * len(children)
        one_level = jax.PyTreeDef.from_node_data_and_children(jax.default_registry, *node)
        return one_level.unflatten(children)

    return register_class(kind, children_of, made_again, NamedEntry)


# Structures with further leaves, such as values that are computed for their effects.


class _Longer:
    """A tree and further leaves; what is made again is the tree alone."""

    def __init__(self, tree: PyTree, further: Sequence[PyTree]) -> None:
        self.tree, self.further = tree, further


register_class(
    _Longer,
    lambda longer: ((longer.tree, *longer.further), None, None),
    lambda _, children: next(iter(children)),
)


def longer(treedef: TreeDef, count: int) -> TreeDef:
    """The structure that takes so many further leaves, and makes the same trees.

    >>> unflatten(longer(flatten((1, 2))[1], 1), [3, 4, 5])
    (3, 4)
    """
    tree: Any = _Longer(unflatten(treedef, [0] * treedef.num_leaves), [0] * count)
    return in_order(optree.tree_structure(tree, namespace=NAMESPACE))
