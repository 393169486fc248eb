"""`jax.tree_util`: classes that are trees, and the functions of `tn.tree` under their older names.

Named tuples are trees without registration; dataclasses and other classes are leaves until they are
registered.

>>> @tn.tree_util.register_pytree_node_class
... class Pair:
...     def __init__(self, first, second):
...         self.first, self.second = first, second
...     def tree_flatten(self):
...         return (self.first, self.second), None
...     @classmethod
...     def tree_unflatten(cls, aux, children):
...         return cls(*children)
>>> tn.grad(lambda pair: pair.first * pair.second)(Pair(2.0, 3.0)).first
Tensor(3.)
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import optree

from tenferro import tree
from tenferro.errors import PytreeError, class_of
from tenferro.ir import PyTree
from tenferro.missing_names import attributes
from tenferro.transforms import (
    NAMESPACE,
    Named,
    NamedEntry,
    Rest,
    TreeDef,
    is_tree_of_jax,
    register_class,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

C = TypeVar("C", bound=type)
PyTreeDef = TreeDef
tree_all, tree_broadcast, tree_flatten = tree.all, tree.broadcast, tree.flatten
tree_flatten_with_path, tree_leaves_with_path = tree.flatten_with_path, tree.leaves_with_path
tree_leaves, tree_map, tree_map_with_path = tree.leaves, tree.map, tree.map_with_path
tree_reduce, tree_reduce_associative = tree.reduce, tree.reduce_associative
tree_structure, tree_transpose, tree_unflatten = tree.structure, tree.transpose, tree.unflatten

DictKey, FlattenedIndexKey, GetAttrKey = tree.DictKey, tree.FlattenedIndexKey, tree.GetAttrKey
KeyEntry, KeyPath, SequenceKey = tree.KeyEntry, tree.KeyPath, tree.SequenceKey

MISSING: dict[str, str] = {
    "default_registry": "there is one registry: register_pytree_node adds to it",
}
"""Names of `jax.tree_util`, and what to do instead."""


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make the instances of a class trees.

    Args:
        nodetype: the class.
        flatten_func: the children of an instance, and what else it consists of, which is part of
            the structure and must be hashable.
        unflatten_func: the instance, from that and the children.
        flatten_with_keys_func: as of `register_pytree_with_keys`, if paths have keys.

    Raises:
        PytreeError: it is not a class, or its instances are trees already.

    >>> class Ball:
    ...     def __init__(self, radius):
    ...         self.radius = radius
    >>> register_pytree_node(Ball, lambda b: ((b.radius,), None), lambda _, given: Ball(*given))
    >>> tn.tree.leaves([Ball(1.0), Ball(2.0)])
    [1.0, 2.0]
    """

    if flatten_with_keys_func is not None:
        register_pytree_with_keys(nodetype, flatten_with_keys_func, unflatten_func)
        return

    def flattened(value: Any) -> tuple[tuple[Any, ...], Hashable, None]:
        made: Any = flatten_func(value)
        is_pair = isinstance(made, tuple | list) and len(made) == 2
        if not is_pair or not isinstance(made[0], Iterable):
            raise PytreeError(
                f"register_pytree_node: the function that flattens a {nodetype.__name__} must "
                "return a pair, its children in a tuple and what else it consists of, but returned "
                f"{made!r}"
            )
        return tuple(made[0]), made[1], None

    _register(
        "register_pytree_node",
        nodetype,
        flattened,
        lambda aux, children: unflatten_func(aux, tuple(children)),
    )


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """As `register_pytree_node`, with keys for the paths to the children.

    Args:
        nodetype: the class.
        flatten_with_keys: pairs of a key and a child, and what else an instance consists of. Keys
            such as `GetAttrKey("x")` have texts.
        unflatten_func: the instance, from that and the children.
        flatten_func: not used: the children are those of the pairs.

    Raises:
        PytreeError: it is not a class, or its instances are trees already.

    >>> class Pair:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> register_pytree_with_keys(
    ...     Pair, lambda p: (((GetAttrKey("x"), p.x),), None), lambda _, children: Pair(*children)
    ... )
    >>> [keystr(path) for path, _ in tn.tree.leaves_with_path([Pair(1.0)])]
    ['[0].x']
    """

    def flattened(value: Any) -> tuple[tuple[Any, ...], Any, tuple[Any, ...]]:
        pairs, aux = flatten_with_keys(value)
        pairs = tuple(pairs)
        keys = tuple([Named(key) for key, _ in pairs])
        return tuple([child for _, child in pairs]), aux, keys

    _register(
        "register_pytree_with_keys",
        nodetype,
        flattened,
        lambda aux, children: unflatten_func(aux, tuple(children)),
        NamedEntry,
    )


def register_pytree_with_keys_class(cls: C) -> C:
    """As `register_pytree_with_keys`, of a class with `tree_flatten_with_keys`; a decorator.

    Raises:
        PytreeError: the class does not have this method and `tree_unflatten`, or its instances are
            trees already.
    """
    for name in ("tree_flatten_with_keys", "tree_unflatten"):
        if not hasattr(cls, name):
            raise PytreeError(f"register_pytree_with_keys_class: {cls!r} has no method {name}")
    made: Any = cls
    register_pytree_with_keys(
        cls, lambda value: value.tree_flatten_with_keys(), made.tree_unflatten
    )
    return cls


def is_tree_node(typ: type) -> bool:
    """Whether instances of a class are trees and no leaves.

    >>> is_tree_node(dict), is_tree_node(float)
    (True, False)
    """
    if typ is type(None) or (issubclass(typ, tuple) and hasattr(typ, "_fields")):
        return True
    registry: Any = optree.register_pytree_node  # whose stubs do not know the attribute
    return typ in registry.get(namespace=NAMESPACE) or is_tree_of_jax(typ)


def flatten_one_level(tree: PyTree) -> tuple[list[PyTree], Any]:
    """The children of a tree, and what else it consists of.

    Raises:
        PytreeError: it is a leaf.

    >>> flatten_one_level({"a": 1, "b": (2, 3)})
    ([1, (2, 3)], ['a', 'b'])
    """
    pairs, rest = flatten_one_level_with_keys(tree)
    return [child for _, child in pairs], rest


def flatten_one_level_with_keys(tree: PyTree) -> tuple[list[tuple[Any, PyTree]], Any]:
    """As `flatten_one_level`, with the key of each child.

    >>> flatten_one_level_with_keys([1.0])
    ([(SequenceKey(idx=0), 1.0)], None)
    """
    if treedef_is_leaf(tree_structure(tree)):
        raise PytreeError(f"flatten_one_level: {class_of(tree)} is a leaf")
    level = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
    rest = level.metadata.value if isinstance(level.metadata, Rest) else level.metadata
    pairs = tree_flatten_with_path(tree, lambda each: each is not tree)[0] if tree else []
    return [(path[0], child) for path, child in pairs], rest


def register_pytree_node_class(cls: C) -> C:
    """Make the instances of a class with `tree_flatten` and `tree_unflatten` trees; a decorator.

    Raises:
        PytreeError: the class does not have these methods, or its instances are trees already.
    """
    for name in ("tree_flatten", "tree_unflatten"):
        if not hasattr(cls, name):
            raise PytreeError(f"register_pytree_node_class: {cls!r} has no method {name}")
    made: Any = cls
    register_pytree_node(cls, lambda value: value.tree_flatten(), made.tree_unflatten)
    return cls


def register_dataclass(
    nodetype: C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> C:
    """Make the instances of a dataclass trees. An instance is made again without its `__init__`.

    Args:
        nodetype: the dataclass.
        data_fields: the fields that are children; by default those that are parameters of the
            `__init__` that `dataclass` writes, and not `tn.tree.static`.
        meta_fields: the fields that are part of the structure, which must be hashable. Those with
            `init=False` that no list names are among them.
        drop_fields: fields that are neither; in an instance that is made again they have their
            default.

    Raises:
        PytreeError: a field is named twice or not at all, or instances are trees already.

    >>> @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = tn.tree.static(default="dense")
    >>> tn.tree.leaves(register_dataclass(Layer)(1.0))
    [1.0]
    """
    name = "register_dataclass"
    if not (isinstance(nodetype, type) and dataclasses.is_dataclass(nodetype)):
        raise PytreeError(f"{name}: takes a dataclass, got {nodetype!r}")
    fields = {field.name: field for field in dataclasses.fields(nodetype)}
    if data_fields is None or meta_fields is None:
        static = [each for each, field in fields.items() if field.metadata.get("static")]
        static += [each for each, field in fields.items() if not field.init]
        meta_fields = static if meta_fields is None else meta_fields
        data_fields = [each for each in fields if each not in (*meta_fields, *drop_fields)]
    data, meta = tuple(data_fields), tuple(dict.fromkeys(meta_fields))
    named = (*data, *meta, *drop_fields)
    rest = [each for each, field in fields.items() if not field.init and each not in named]
    if sorted((*named, *rest)) != sorted(fields):
        raise PytreeError(
            f"{name}: {nodetype.__name__} has fields {sorted(fields)}, but data_fields are "
            f"{list(data)} and meta_fields {list(meta)}; name each field once"
        )
    meta = (*meta, *rest)
    dropped = [fields[each] for each in drop_fields]

    def children_of(value: Any) -> tuple[list[Any], Hashable, tuple[str, ...]]:
        known = tuple(getattr(value, each) for each in meta)
        return [getattr(value, each) for each in data], known, data

    def rebuild(known: Any, children: Iterable[Any]) -> Any:
        made = object.__new__(nodetype)  # children need not be arrays, which __init__ may expect
        for each, value in zip((*data, *meta), (*children, *known), strict=True):
            object.__setattr__(made, each, value)
        for field in dropped:
            if field.default is not dataclasses.MISSING:
                object.__setattr__(made, field.name, field.default)
            elif field.default_factory is not dataclasses.MISSING:
                object.__setattr__(made, field.name, field.default_factory())
        return made

    _register(name, nodetype, children_of, rebuild)
    return nodetype


def register_static(cls: C) -> C:
    """Make the instances of a class part of the structure, without children; a decorator.

    They must be hashable and comparable.

    >>> @register_static
    ... class Mode(str):
    ...     pass
    >>> tn.tree.leaves([Mode("fast"), 1.0])
    [1.0]
    """
    _register("register_static", cls, lambda value: ((), value, None), lambda value, _: value)
    return cls


def _register(
    name: str, cls: Any, children_of: Any, rebuild: Any, entry_type: Any = optree.AutoEntry
) -> None:
    if not isinstance(cls, type):
        raise PytreeError(f"{name}: takes a class first, got {cls!r}")
    if not register_class(cls, children_of, rebuild, entry_type):
        raise PytreeError(
            f"{name}: instances of {cls.__name__} are trees already; register a class once"
        )


class Partial(functools.partial[Any]):
    """A function with some arguments, which are children of a tree; the function is structure.

    >>> add = Partial(lambda x, y: x + y, 1.0)
    >>> tn.jit(lambda f, y: f(y), executor="numpy")(add, 2.0)
    Tensor(3.)
    """


def _partial(function: Any, children: Iterable[Any]) -> Partial:
    args, keywords = children
    return Partial(function, *args, **keywords)


register_pytree_node(
    Partial, lambda partial: ((partial.args, partial.keywords), partial.func), _partial
)


def keystr(keys: tuple[Any, ...], *, simple: bool = False, separator: str = "") -> str:
    """A path as text.

    Args:
        keys: the path, as `tn.tree.leaves_with_path` gives it.
        simple: whether keys stand without brackets.
        separator: stands between them.

    >>> ((path, _),) = tn.tree.leaves_with_path({"a": [1.0]})
    >>> keystr(path), keystr(path, simple=True, separator="/")
    ("['a'][0]", 'a/0')
    """

    def text(key: Any) -> str:
        if not isinstance(key, KeyEntry):
            return str(key) if simple or hasattr(key, "key") else f"[{key!r}]"
        return str(key.plain) if simple else str(key)

    return separator.join(map(text, keys))


def all_leaves(iterable: Iterable[PyTree], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all of the values are leaves.

    >>> all_leaves([1.0, 2.0]), all_leaves([1.0, (2.0,)])
    (True, False)
    """
    return all(treedef_is_leaf(tree_structure(each, is_leaf)) for each in iterable)


def treedef_is_leaf(treedef: TreeDef) -> bool:
    """Whether a structure is that of a leaf.

    >>> treedef_is_leaf(tree_structure(1.0))
    True
    """
    return _structure("treedef_is_leaf", treedef).is_leaf()


def treedef_children(treedef: TreeDef) -> list[TreeDef]:
    """The structures of the children.

    >>> [treedef_is_leaf(each) for each in treedef_children(tree_structure((1.0, [2.0])))]
    [True, False]
    """
    return _structure("treedef_children", treedef).children()


def _structure(name: str, treedef: object) -> TreeDef:
    if not isinstance(treedef, TreeDef):
        raise PytreeError(f"{name}: takes a structure of a tree, got {class_of(treedef)}")
    return treedef


def treedef_tuple(treedefs: Iterable[TreeDef]) -> TreeDef:
    """The structure of a tuple of trees.

    >>> treedef_tuple([tree_structure(1.0)]) == tree_structure((1.0,))
    True
    """
    return optree.treespec_tuple(treedefs, namespace=NAMESPACE)


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.tree_util", __all__, MISSING)
