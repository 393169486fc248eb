"""The trees that a program takes and gives, in a file: structures without code.

A file names classes and holds nothing of them. A name is looked up when the program is first called
with trees, among the classes that the process has registered; nothing is imported.

| tree | JSON |
|---|---|
| an array | `"*"` |
| None | null |
| list, tuple | `{"list": [...]}`, `{"tuple": [...]}` |
| dict, OrderedDict | `{"dict": [[key, tree], ...]}`, `{"ordered_dict": ...}` |
| named tuple | `{"named_tuple": {"name": ..., "fields": [...], "children": [...]}}` |
| registered class | `{"class": {"name": ..., "static": ..., "children": [...]}}` |

The name of a class is `module:Class`, with the module `tenferro` for all classes of tenferro. What
an instance has beside its children, `static`, is a tree of values of payloads, `{"value": ...}`.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections import OrderedDict, namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from tenferro.errors import FileError, PytreeError
from tenferro.ir import kind_of
from tenferro.runtime import Form, meta_of_value
from tenferro.serialization.container import Json
from tenferro.serialization.schema import items, record, short, text
from tenferro.serialization.values import BlobReader, BlobWriter, from_json, to_json
from tenferro.transforms import (
    CallForm,
    flatten,
    instance_of,
    is_tree_of_jax,
    one_level,
    registered_classes,
    unflatten,
)

__all__ = ["read_form", "write_form"]

_KEYS = frozenset({"arguments", "result"})
_NAMED_TUPLE = frozenset({"name", "fields", "children"})
_CLASS = frozenset({"name", "static", "children"})
_NAME = re.compile(r"[^:]+:[^:]+")
_PLAIN = (bool, int, float, complex, str, bytes)


@dataclass(frozen=True, slots=True)
class Node:
    """A tree as a file describes it.

    Attributes:
        kind: what it is: the key of its JSON, or "leaf", "none" or "value".
        name: of a named tuple or a class.
        keys: those of a dict, or the fields of a named tuple; of a value, the value.
        static: what an instance of a class has beside its children.
        children: the trees in it.
    """

    kind: str
    name: str = ""
    keys: tuple[Any, ...] = ()
    static: Node | None = None
    children: tuple[Node, ...] = ()

    @property
    def leaves(self) -> int:
        """The number of arrays."""
        return 1 if self.kind == "leaf" else sum(child.leaves for child in self.children)


_LEAF, _NONE = Node("leaf"), Node("none")


# The form of a program that is read from a file.


@dataclass(frozen=True, eq=False)
class SavedForm:
    """The trees of a program from a file; their classes are looked up when they are needed."""

    arguments: Node
    results: Node

    is_flat = False
    types = None
    donated = ()

    @cached_property
    def _form(self) -> CallForm:
        trees = _tree(self.arguments), _tree(self.results)
        return CallForm(flatten(trees[0])[1], flatten(trees[1])[1])

    @property
    def in_tree(self) -> Any:
        """The structure of the arguments, and of those by name."""
        return self._form.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._form.out_tree

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The arrays of arguments; None if they have another structure.

        Raises:
            PytreeError: they are trees, or the only arguments, and a class is not registered.
        """
        try:
            return self._form.leaves(args, kwargs)
        except PytreeError:
            one_by_one = len(args) + len(kwargs) == self.arguments.leaves
            if one_by_one and all(map(meta_of_value, (*args, *kwargs.values()))):
                return None
            raise

    def mismatch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> PytreeError:
        """The error that says which structure arguments have, and which they should have."""
        return self._form.mismatch(args, kwargs)

    def result(self, outputs: Sequence[Any]) -> Any:
        """The tree of results."""
        return self._form.result(outputs)


def write_form(form: Form, blobs: BlobWriter) -> Json:
    """The structures as JSON.

    Raises:
        FileError: they have something that a file cannot hold, such as a function.
    """
    if not isinstance(form, SavedForm):
        form = SavedForm(_described(form.in_tree, "arguments"), _described(form.out_tree, "result"))
    return {"arguments": _json(form.arguments, blobs), "result": _json(form.results, blobs)}


def read_form(value: Json, blobs: BlobReader, inputs: int, outputs: int) -> SavedForm:
    """The structures of a program of so many inputs and outputs."""
    fields = record(value, _KEYS, "the trees of a program")
    form = SavedForm(_node(fields["arguments"], blobs), _node(fields["result"], blobs))
    args, *named = form.arguments.children
    if (
        form.arguments.kind != "tuple"
        or args.kind != "tuple"
        or [n.kind for n in named] != ["dict"]
    ):
        raise FileError("file: arguments must be a pair of a tuple and a dict")
    if form.arguments.leaves > inputs or form.results.leaves != outputs:
        raise FileError("file: the trees do not have as many leaves as the program has values")
    return form


# Trees as nodes, and back.


class _Leaf:
    """In the place of an array."""


_HERE = _Leaf()


def _described(treedef: Any, what: str) -> Node:
    return _of(unflatten(treedef, [_HERE] * treedef.num_leaves), f"the structure of the {what}")


def _of(tree: Any, where: str, static: bool = False) -> Node:
    """The node of a tree; of a tree of values, if it is `static`."""
    kind = type(tree)
    if tree is None or tree is _HERE:
        return _NONE if tree is None else _LEAF

    def below(children: Any) -> tuple[Node, ...]:
        return tuple([_of(child, where, static) for child in children])

    if kind is list or kind is tuple:
        return Node(kind.__name__, children=below(tree))
    if kind is dict or kind is OrderedDict:
        name = "dict" if kind is dict else "ordered_dict"
        return Node(name, keys=tuple(tree), children=below(tree.values()))
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return Node("named_tuple", _name_of(kind), kind._fields, children=below(tree))
    if static and _is_value(tree):
        return Node("value", keys=(tree,))
    level = one_level(tree)
    if level is None:
        raise FileError(
            f"file: {where} has a {kind.__name__} ({short(tree)}), which a file does not hold; "
            "save dataclasses.replace(program, form=None), which takes its inputs one by one"
        )
    children, rest = level
    return Node("class", _name_of(kind), (), _of(rest, where, static=True), below(children))


def _is_value(value: object) -> bool:
    try:
        kind = kind_of(value)
    except TypeError:
        return False
    return kind.type not in _PLAIN or type(value) is kind.type


def _tree(node: Node) -> Any:
    """A tree of this structure.

    Raises:
        PytreeError: a class is not registered.
    """
    children = [_tree(child) for child in node.children]
    match node.kind:
        case "leaf":
            return _HERE
        case "none":
            return None
        case "value":
            return node.keys[0]
        case "list":
            return children
        case "tuple":
            return tuple(children)
        case "dict":
            return dict(zip(node.keys, children, strict=True))
        case "ordered_dict":
            return OrderedDict(zip(node.keys, children, strict=True))
        case "named_tuple":
            return _named_tuple(node.name, node.keys)(*children)
        case _:
            return instance_of(_class(node.name), _tree(node.static or _NONE), children)


# Names of classes.


def _name_of(kind: type) -> str:
    module = kind.__module__
    return f"{'tenferro' if module.startswith('tenferro.') else module}:{kind.__qualname__}"


def _class(name: str) -> type:
    """The registered class of this name.

    Raises:
        PytreeError: there is none.
    """
    known = [kind for kind in registered_classes() if _name_of(kind) == name]
    found = known[-1] if known else _imported(name)
    if found is not None and (known or is_tree_of_jax(found)):
        return found
    module, _, qualname = name.partition(":")
    raise PytreeError(
        f"call: the program takes or gives trees of the class {qualname} of {module}, and none of "
        "this name is registered; import the module that registers it (tn.tree_util, or "
        "jax.tree_util), or pass the inputs one by one"
    )


def _imported(name: str) -> Any:
    """The class of this name, if its module has been imported; no code is run to find it."""
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None


def _named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    """The named tuple of this name and these fields; where there is none, one is made."""
    found = _imported(name)
    if found is not None and issubclass(found, tuple) and getattr(found, "_fields", ()) == fields:
        return found
    return _stand_in(name, fields)


@cache
def _stand_in(name: str, fields: tuple[str, ...]) -> type:
    module, _, qualname = name.partition(":")
    return namedtuple(qualname.rpartition(".")[2], fields, module=module)


# Nodes as JSON, and back.


def _json(node: Node, blobs: BlobWriter) -> Json:
    children = [_json(child, blobs) for child in node.children]
    held: Json = children
    match node.kind:
        case "leaf":
            return "*"
        case "none":
            return None
        case "value":
            held = to_json(node.keys[0], blobs)
        case "dict" | "ordered_dict":
            keys = [to_json(key, blobs) for key in node.keys]
            held = [list(pair) for pair in zip(keys, children, strict=True)]
        case "named_tuple":
            held = {"name": node.name, "fields": list(node.keys), "children": children}
        case "class":
            static = _json(node.static or _NONE, blobs)
            held = {"name": node.name, "static": static, "children": children}
        case _:
            pass
    return {node.kind: held}


def _node(value: Json, blobs: BlobReader, static: bool = False) -> Node:
    """The node that was written as `value`."""
    if value is None:
        return _NONE
    if value == "*" and not static:
        return _LEAF
    kind, held = (
        next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else ("", 0)
    )
    if kind == "value" and static:
        return Node(kind, keys=(from_json(held, blobs),))
    if kind not in _READERS:
        raise FileError(f"file: {short(value)} is not a tree")
    return _READERS[kind](kind, held, blobs, static)


def _children(value: Json, blobs: BlobReader, static: bool) -> tuple[Node, ...]:
    return tuple([_node(each, blobs, static) for each in items(value, "children")])


def _sequence(kind: str, held: Json, blobs: BlobReader, static: bool) -> Node:
    return Node(kind, children=_children(held, blobs, static))


def _mapping(kind: str, held: Json, blobs: BlobReader, static: bool) -> Node:
    pairs = [items(pair, "an entry of a dict") for pair in items(held, "a dict")]
    if any(len(pair) != 2 for pair in pairs):
        raise FileError("file: an entry of a dict must be a key and a tree")
    keys: tuple[Any, ...] = tuple([from_json(key, blobs) for key, _ in pairs])
    try:
        is_set = len(set(keys)) == len(keys)
        in_order = kind != "dict" or static or len(keys) < 2 or sorted(keys) == list(keys)
    except TypeError:
        is_set = in_order = False
    if not is_set or not in_order:
        raise FileError("file: the keys of a dict must differ, and be in order")
    return Node(kind, keys=keys, children=_children([child for _, child in pairs], blobs, static))


def _fields(kind: str, held: Json, blobs: BlobReader, static: bool) -> Node:
    parts = record(held, _NAMED_TUPLE, "a named tuple")
    fields = tuple([text(each, "a field") for each in items(parts["fields"], "fields")])
    children = _children(parts["children"], blobs, static)
    if len(children) != len(fields) or len(set(fields)) != len(fields):
        raise FileError("file: a named tuple must have a child for each field")
    if any(field[:1] in ("", "_") or not _is_name(field) for field in fields):
        raise FileError("file: the fields of a named tuple must be names")
    return Node(kind, _read_name(parts["name"]), fields, None, children)


def _instance(kind: str, held: Json, blobs: BlobReader, static: bool) -> Node:
    parts = record(held, _CLASS, "an instance of a class")
    rest = _node(parts["static"], blobs, static=True)
    return Node(
        kind, _read_name(parts["name"]), (), rest, _children(parts["children"], blobs, static)
    )


_READERS = {
    "list": _sequence,
    "tuple": _sequence,
    "dict": _mapping,
    "ordered_dict": _mapping,
    "named_tuple": _fields,
    "class": _instance,
}


def _read_name(value: Json) -> str:
    name = text(value, "the name of a class")
    if not _NAME.fullmatch(name) or not _is_name(re.split("[:.]", name)[-1]):
        raise FileError(f"file: {short(name)} is not the name of a class")
    return name


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
