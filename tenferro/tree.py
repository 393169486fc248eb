"""Trees of arrays: dicts, lists, tuples, named tuples and None, as in `jax.tree`.

Classes are trees if they are registered; see `tn.tree_util`. Dicts come in the order of their
sorted keys.

A path is a tuple of keys, as in JAX: a `DictKey`, a `SequenceKey`, a `GetAttrKey` for a named tuple
or a dataclass, or a `FlattenedIndexKey`. A key equals what it holds: `"a"`, `0`.

>>> tn.tree.map(lambda x: 2 * x, {"w": 1.0, "b": [2.0, None]})
{'b': [4.0, None], 'w': 2.0}
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import optree

from tenferro import transforms
from tenferro.errors import PytreeError, class_of
from tenferro.ir import PyTree
from tenferro.missing_names import attributes
from tenferro.transforms import NAMESPACE, Named, TreeDef, in_order, with_known_classes

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

IsLeaf = Callable[..., bool] | None
KeyPath = tuple[Any, ...]
_NOTHING = object()


# The keys of paths.


class KeyEntry:
    """A key of a path. It equals what it holds, and other keys of its class that hold the same."""

    __slots__ = ("_held",)
    _field: ClassVar[str] = "key"

    def __init__(self, key: Any) -> None:
        self._held = key

    @property
    def plain(self) -> Any:
        """What it holds: the key of a dict, the index, or the name."""
        return self._held

    def __eq__(self, other: object) -> bool:
        if isinstance(other, KeyEntry):
            return type(other) is type(self) and builtins.bool(self._held == other._held)
        return builtins.bool(self._held == other)

    def __hash__(self) -> int:
        return hash(self._held)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._field}={self._held!r})"


class DictKey(KeyEntry):
    """The key of an entry of a dict.

    >>> str(DictKey("a")), DictKey("a").key
    ("['a']", 'a')
    """

    __slots__ = ()
    __match_args__ = ("key",)

    @property
    def key(self) -> Any:
        """The key."""
        return self._held

    def __str__(self) -> str:
        return f"[{self._held!r}]"


class SequenceKey(KeyEntry):
    """The index of an entry of a list or tuple.

    >>> str(SequenceKey(2)), SequenceKey(2).idx
    ('[2]', 2)
    """

    __slots__ = ()
    __match_args__ = ("idx",)
    _field = "idx"

    def __init__(self, idx: int) -> None:
        super().__init__(idx)

    @property
    def idx(self) -> int:
        """The index."""
        return int(self._held)

    def __index__(self) -> int:
        return int(self._held)

    def __str__(self) -> str:
        return f"[{self._held!r}]"


class GetAttrKey(KeyEntry):
    """The name of a field of a named tuple, a dataclass, or another registered class.

    >>> str(GetAttrKey("x")), GetAttrKey("x").name
    ('.x', 'x')
    """

    __slots__ = ()
    __match_args__ = ("name",)
    _field = "name"

    def __init__(self, name: str) -> None:
        super().__init__(name)

    @property
    def name(self) -> str:
        """The name."""
        return str(self._held)

    def __str__(self) -> str:
        return f".{self._held}"


class FlattenedIndexKey(KeyEntry):
    """The number of a child of a registered class, which has no name.

    >>> str(FlattenedIndexKey(1)), FlattenedIndexKey(1).key
    ('[<flat index 1>]', 1)
    """

    __slots__ = ()
    __match_args__ = ("key",)

    @property
    def key(self) -> int:
        """The number."""
        return int(self._held)

    def __index__(self) -> int:
        return int(self._held)

    def __str__(self) -> str:
        return f"[<flat index {self._held}>]"


def _key_of(entry: optree.PyTreeEntry) -> Any:
    held = entry.entry
    if isinstance(held, Named):
        return _own_key(held.key)
    if isinstance(entry, optree.NamedTupleEntry):
        return GetAttrKey(entry.field)
    if isinstance(entry, optree.MappingEntry):
        return DictKey(held)
    if isinstance(entry, optree.SequenceEntry):
        return SequenceKey(held)
    if isinstance(held, str):
        return GetAttrKey(held)
    return FlattenedIndexKey(held)


def _own_key(key: Any) -> Any:
    """The key itself; for one of JAX the key of tenferro of the same name."""
    kind = type(key)
    is_of_jax = kind is getattr(sys.modules.get("jax.tree_util"), kind.__name__, None)
    own = _KEYS.get(kind.__name__) if is_of_jax else None
    return key if own is None else own(*[getattr(key, name) for name in own.__match_args__])


_KEYS = {kind.__name__: kind for kind in (DictKey, SequenceKey, GetAttrKey, FlattenedIndexKey)}


def _without_paths(tree: PyTree, is_leaf: IsLeaf, takes_path: bool) -> IsLeaf:
    """What says of a node alone whether it is a leaf, for one pass over a tree."""
    if is_leaf is None or not takes_path:
        return None if is_leaf is None else transforms.callable_leaf(is_leaf)
    decisions: list[bool] = []

    def visit(node: Any, path: KeyPath) -> None:
        stops = is_leaf(path, node)
        decisions.append(stops)
        if stops or node is None or optree.tree_is_leaf(node, namespace=NAMESPACE):
            return
        level = optree.tree_flatten_one_level(node, namespace=NAMESPACE)
        for accessor, child in zip(_steps(node), level.children, strict=True):
            visit(child, (*path, _key_of(accessor)))

    visit(tree, ())
    answers = iter(decisions)
    return lambda _: next(answers)


def _steps(node: Any) -> list[Any]:
    """The entry of a path to each child."""
    found = optree.tree_accessors(
        node, lambda each: each is not node, none_is_leaf=True, namespace=NAMESPACE
    )
    return [accessor[0] for accessor in found]


# The functions of `jax.tree`.


def flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[PyTree], TreeDef]:
    """The leaves of a tree, and its structure. None is an empty tree.

    >>> tn.tree.flatten((1, {"a": 2}))[0]
    [1, 2]
    """
    return transforms.flatten(tree, is_leaf)


def unflatten(treedef: TreeDef, leaves: Iterable[PyTree]) -> PyTree:
    """The tree with this structure and these leaves.

    Raises:
        PytreeError: `treedef` is not a structure, or there are not as many leaves.

    >>> leaves, treedef = tn.tree.flatten((1, {"a": 2}))
    >>> tn.tree.unflatten(treedef, [3, 4])
    (3, {'a': 4})
    """
    if not isinstance(treedef, TreeDef):
        raise PytreeError(
            f"tree.unflatten: takes a structure, then leaves, got {class_of(treedef)}; "
            "tn.tree.structure(tree) is the structure of a tree"
        )
    try:
        return optree.tree_unflatten(treedef, leaves)
    except (TypeError, ValueError) as error:
        raise PytreeError(f"tree.unflatten: {error}") from None


def leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[PyTree]:
    """The leaves of a tree.

    >>> tn.tree.leaves({"b": 2.0, "a": [1.0, None]})
    [1.0, 2.0]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeDef:
    """The structure of a tree.

    >>> tn.tree.structure((1, 2)) == tn.tree.structure((3, 4))
    True
    """
    return flatten(tree, is_leaf)[1]


def map(f: Callable[..., Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree of the results of `f` for each leaf, and those of further trees at its place.

    Raises:
        PytreeError: `f` is not a function, or the trees have different structures.

    >>> tn.tree.map(lambda x, y: x + y, [1, 2], [3, 4])
    [4, 6]
    """
    _require_function("map", f)
    own, treedef = flatten(tree, is_leaf)
    try:
        others = [treedef.flatten_up_to(each) for each in rest]
    except ValueError as error:
        raise PytreeError(f"tree.map: the trees have different structures: {error}") from None
    return optree.tree_unflatten(treedef, [f(*args) for args in zip(own, *others, strict=True)])


def all(tree: PyTree, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true.

    >>> tn.tree.all([True, {"a": 0}])
    False
    """
    return builtins.all(leaves(tree, is_leaf))


def reduce(
    function: Callable[[Any, Any], Any],
    tree: PyTree,
    initializer: Any = _NOTHING,
    is_leaf: IsLeaf = None,
) -> Any:
    """The leaves combined from the first to the last by a function of two.

    Raises:
        PytreeError: the tree has no leaves, and there is no initializer.

    >>> tn.tree.reduce(lambda x, y: x + y, {"a": 1, "b": [2, 3]})
    6
    """
    _require_function("reduce", function)
    found = leaves(tree, is_leaf)
    if initializer is not _NOTHING:
        return functools.reduce(function, found, initializer)
    if not found:
        raise PytreeError("tree.reduce: the tree has no leaves; pass an initializer")
    return functools.reduce(function, found)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: PyTree,
    *,
    identity: Any = _NOTHING,
    is_leaf: IsLeaf = None,
) -> Any:
    """The leaves combined by an associative function of two, neighbours first.

    Raises:
        PytreeError: the tree has no leaves, and there is no identity.

    >>> tn.tree.reduce_associative(lambda x, y: x + y, [1, (2, 3), [4, 5, 6]])
    21
    """
    _require_function("reduce_associative", operation)
    found = leaves(tree, is_leaf)
    if not found and identity is _NOTHING:
        raise PytreeError("tree.reduce_associative: the tree has no leaves; pass an identity")
    while len(found) > 1:
        pairs = [operation(*found[at : at + 2]) for at in range(0, len(found) - 1, 2)]
        found = pairs + found[2 * len(pairs) :]
    return found[0] if found else identity


def broadcast(prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The full tree with, as its leaves, those of the prefix that stand in their place.

    Raises:
        PytreeError: the first tree is not a prefix of the second.

    >>> tn.tree.broadcast((1, 2), (0, {"a": 0, "b": 0}))
    (1, {'a': 2, 'b': 2})
    """
    treedef = structure(full_tree, is_leaf)
    try:
        prefix = with_known_classes(prefix_tree)
        found = optree.broadcast_prefix(prefix, full_tree, is_leaf, namespace=NAMESPACE)
    except ValueError as error:
        raise PytreeError(f"tree.broadcast: {error}") from None
    return optree.tree_unflatten(treedef, found)


def static(**options: Any) -> Any:
    """A field of a dataclass that is part of the structure, for `tn.tree_util.register_dataclass`.

    `options` are those of `dataclasses.field`.

    >>> tn.tree.static(default="add").metadata["static"]
    True
    """
    return dataclasses.field(
        **{**options, "metadata": {**options.get("metadata", {}), "static": True}}
    )


def flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, PyTree]], TreeDef]:
    """The leaves of a tree with their paths, and its structure.

    `is_leaf` takes a node, or, if `is_leaf_takes_path`, the path and the node.

    >>> tn.tree.flatten_with_path({"a": [1.0]})[0]
    [((DictKey(key='a'), SequenceKey(idx=0)), 1.0)]
    """
    stops = _without_paths(with_known_classes(tree), is_leaf, is_leaf_takes_path)
    steps, found, treedef = optree.tree_flatten_with_accessor(tree, stops, namespace=NAMESPACE)
    paths = [tuple(builtins.map(_key_of, accessor)) for accessor in steps]
    return list(zip(paths, found, strict=True)), in_order(treedef)


def leaves_with_path(
    tree: PyTree, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, PyTree]]:
    """The leaves of a tree with their paths; options as of `flatten_with_path`.

    >>> tn.tree.leaves_with_path({"a": [1.0]})
    [((DictKey(key='a'), SequenceKey(idx=0)), 1.0)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: PyTree,
    *rest: PyTree,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
) -> PyTree:
    """As `map`; `f` takes the path of the leaf first. Options are those of `flatten_with_path`.

    >>> tn.tree.map_with_path(lambda path, x: (path[0].key, x), {"a": 1})
    {'a': ('a', 1)}
    """
    _require_function("map_with_path", f)
    paths = iter([path for path, _ in leaves_with_path(tree, is_leaf, is_leaf_takes_path)])
    stops = _without_paths(tree, is_leaf, is_leaf_takes_path)
    return map(lambda *values: f(next(paths), *values), tree, *rest, is_leaf=stops)


def transpose(
    outer_treedef: TreeDef, inner_treedef: TreeDef, pytree_to_transpose: PyTree
) -> PyTree:
    """A tree of trees with the inner structure outside.

    Raises:
        PytreeError: the tree does not have these structures.

    >>> pairs = {"a": (1, 2), "b": (3, 4)}
    >>> outer, inner = tn.tree.structure({"a": 0, "b": 0}), tn.tree.structure((0, 0))
    >>> tn.tree.transpose(outer, inner, pairs)
    ({'a': 1, 'b': 3}, {'a': 2, 'b': 4})
    """
    try:
        return optree.tree_transpose(outer_treedef, inner_treedef, pytree_to_transpose)
    except (AttributeError, TypeError, ValueError) as error:
        raise PytreeError(f"tree.transpose: {error}") from None


def _require_function(name: str, f: object) -> None:
    if not callable(f):
        raise PytreeError(f"tree.{name}: takes a function first, got {class_of(f)}")


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.tree", __all__)
