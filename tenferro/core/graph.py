"""Fragments as one graph: resolve references, sort, flatten, draw.

A `GlobalValKey` is structural, so it contains its own definition. A resolver guarantees in addition
that one of the fragments of the view holds the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, cast

from tenferro.core.fragment import Fragment, block, line, name_of
from tenferro.core.keys import Derived, GlobalOpKey, GlobalValKey, Input, SingleOutputNode
from tenferro.core.primitive import Op
from tenferro.errors import GraphError, UnresolvedValueError, class_of

__all__ = [
    "FragmentResolver",
    "MaterializedGraph",
    "ResolvedView",
    "Resolver",
    "StructuralResolver",
    "ValDef",
    "materialize_merge",
    "require_values",
    "require_view",
    "resolve",
    "resolve_keys",
    "to_dot",
]


# A logical view over fragments, through which external references are traced without copies.

ValDef = Input | Derived
"""Definition of a value: an input, or output `slot` of `op.primitive` on `op.inputs`."""


class Resolver(Protocol):
    """Finds the definition of a value."""

    def resolve_val(self, key: GlobalValKey) -> ValDef | None:
        """The definition of `key`; None if no fragment defines it."""


class FragmentResolver(Generic[Op]):
    """A resolver for fragments and, through `parents`, all fragments that they refer to."""

    def __init__(self, roots: Iterable[Fragment[Op]]) -> None:
        self._owned: set[GlobalValKey] = set()
        pending = list(roots)
        visited: set[Fragment[Op]] = set()
        while pending:
            fragment = pending.pop()
            if fragment in visited:
                continue
            visited.add(fragment)
            self._owned.update(fragment.keys)
            pending.extend(fragment.parents)

    def resolve_val(self, key: GlobalValKey) -> ValDef | None:
        """The definition of `key` if one of the fragments owns it."""
        return cast(ValDef, key) if key in self._owned else None


class StructuralResolver:
    """A resolver in which every key is its own definition.

    It is for front ends that hand out keys without fragments; the keys keep all definitions alive.
    """

    def resolve_val(self, key: GlobalValKey) -> ValDef | None:
        """The key, which is its own definition."""
        return cast(ValDef, key)


@dataclass(frozen=True, slots=True)
class ResolvedView(Generic[Op]):
    """Fragments as one logical graph."""

    roots: tuple[Fragment[Op], ...]
    resolver: Resolver

    def __str__(self) -> str:
        if isinstance(self.resolver, StructuralResolver):
            return "view of every key"
        lines = [f"view of {len(self.roots)} fragments", *map(str, self.roots)]
        return "\n".join(lines)

    def resolve_val(self, key: GlobalValKey) -> ValDef:
        """The definition of `key`.

        Raises:
            UnresolvedValueError: no fragment of the view defines it.
        """
        definition = self.resolver.resolve_val(key)
        if definition is None:
            raise _unresolved(key)
        return definition

    def topo_order(
        self, outputs: Sequence[GlobalValKey], leaves: Iterable[GlobalValKey] = (), since: int = 0
    ) -> tuple[list[GlobalOpKey], list[Input]]:
        """The ops that `outputs` need, each after its inputs, and the graph inputs as they are met.

        The walk keeps its own stack. It does not look behind `leaves`, nor at values with a serial
        before `since`, whose inputs have still smaller serials.

        Raises:
            UnresolvedValueError: a value on the way is defined in no fragment of the view.
        """
        ops: list[GlobalOpKey] = []
        inputs: list[Input] = []
        by_keys = type(self.resolver) is StructuralResolver  # each key is its own definition
        resolve_val = self.resolver.resolve_val
        visited: set[GlobalValKey | GlobalOpKey] = set(leaves)
        stack: list[Any] = list(reversed(outputs))
        while stack:
            top = stack.pop()
            if top is None:
                ops.append(stack.pop())  # all its inputs have been visited
                continue
            if top in visited or top.serial < since:
                continue
            visited.add(top)
            definition = top if by_keys else resolve_val(top)
            if definition is None:
                raise _unresolved(top)
            if isinstance(definition, Input):
                inputs.append(definition)
                continue
            op: Any = definition
            if type(definition) is not SingleOutputNode:  # one of several outputs of an op
                op = definition.op
                if op in visited:
                    continue
                visited.add(op)
            if visited.issuperset(op.inputs):
                ops.append(op)
            else:
                stack += (op, None, *op.inputs[::-1])
        return ops, inputs


def _unresolved(key: GlobalValKey) -> UnresolvedValueError:
    return UnresolvedValueError(
        f"resolve: {key!r} is defined in no fragment of this view; add its fragment"
    )


def resolve(roots: Iterable[Fragment[Op]]) -> ResolvedView[Op]:
    """A view over `roots` and everything their parents hold, through which transforms trace.

    Raises:
        GraphError: `roots` is not a list of fragments.
    """
    fragments = tuple(roots) if isinstance(roots, Iterable) else ()
    if not isinstance(roots, Iterable) or not all(isinstance(f, Fragment) for f in fragments):
        shown = class_of(roots)
        raise GraphError(f"resolve: takes a list of fragments, got {shown}; write resolve([f])")
    return ResolvedView(fragments, FragmentResolver(fragments))


def resolve_keys() -> ResolvedView[Op]:
    """A view in which every key is its own definition, for front ends that hold only keys."""
    return ResolvedView((), StructuralResolver())


def require_view(name: str, view: object) -> None:
    """Raise GraphError for what is not a view, such as a fragment."""
    if not isinstance(view, ResolvedView):
        raise GraphError(f"{name}: takes a view, got {class_of(view)}; write resolve([fragment])")


def require_values(name: str, field: str, values: object, keys: bool = False) -> None:
    """Raise GraphError for what is not a list of values; if `keys`, or of keys of inputs."""
    if not isinstance(values, list | tuple):
        kind = class_of(values)
        raise GraphError(f"{name}: {field} must be a list of values, got {kind}")
    for value in values:
        if not isinstance(value, GlobalValKey) and not (keys and _is_hashable(value)):
            kind = class_of(value)
            hint = "; write its .key" if _has_key(value) else ""
            raise GraphError(f"{name}: {field} must be a list of values, got {kind} in it{hint}")


def _is_hashable(value: object) -> bool:
    """Whether it may be the key of an input; what has a key is itself not one."""
    return isinstance(value, Hashable) and not _has_key(value)


def _has_key(value: object) -> bool:
    """Whether it holds a value, as a traced tensor does."""
    return isinstance(getattr(value, "key", None), GlobalValKey)


# The one physical step: flatten a view into a concrete graph.


@dataclass(frozen=True, slots=True)
class MaterializedGraph:
    """Everything reachable from the outputs, each value and op once, in one topological order.

    The op keys hold primitive, inputs and mode; a value is named by its key.
    """

    ops: tuple[GlobalOpKey, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[GlobalValKey, ...]

    @property
    def vals(self) -> tuple[GlobalValKey, ...]:
        """All values: the inputs, then the outputs of each op."""
        return (*self.inputs, *(key for op in self.ops for key in op.outputs))

    def __str__(self) -> str:
        number = {key: index for index, key in enumerate(self.vals)}
        header = ", ".join(f"%{number[key]} = {name_of(key)}" for key in self.inputs)
        lines = [
            line(
                [number[key] for key in op.outputs],
                op.primitive,
                [f"%{number[key]}" for key in op.inputs],
                op.mode,
                op.site,
            )
            for op in self.ops
        ]
        return block(f"graph({header})", lines, [number[key] for key in self.outputs])


def materialize_merge(
    view: ResolvedView[Op], outputs: Sequence[GlobalValKey], inputs: Sequence[Input] = ()
) -> MaterializedGraph:
    """Collect what `outputs` need, unify nodes with the same key, and fix one topological order.

    `inputs` come first in the graph's inputs, in their order and whether or not they are reached;
    further inputs follow in the order they are met.

    Raises:
        GraphError: `view` is not a view, or outputs are not a list of values.
        UnresolvedValueError: a reachable value is defined in no fragment of the view.
    """
    require_view("materialize_merge", view)
    require_values("materialize_merge", "outputs", outputs)
    ops, met = view.topo_order(outputs)
    declared = tuple(dict.fromkeys(inputs))
    known = set(declared)
    return MaterializedGraph(
        tuple(ops), (*declared, *(key for key in met if key not in known)), tuple(outputs)
    )


# Graphs in Graphviz' DOT language.


def to_dot(graph: MaterializedGraph, label: Callable[[Any], str] = str) -> str:
    """The graph in DOT; `label` names an op.

    Boxes are inputs, ellipses ops, and doubled borders mark outputs.

    Raises:
        GraphError: it is not a materialized graph.
    """
    if not isinstance(graph, MaterializedGraph):
        raise GraphError(
            f"to_dot: takes a materialized graph, got {class_of(graph)}; "
            "write to_dot(materialize_merge(resolve([fragment]), outputs))"
        )
    nodes: tuple[GlobalValKey | GlobalOpKey, ...] = (*graph.inputs, *graph.ops)
    node = {drawn: f"v{number}" for number, drawn in enumerate(nodes)}
    outputs = set(graph.outputs)
    lines = ["digraph tenferro {", "  rankdir=TB;"]
    for key in graph.inputs:
        border = _border(key in outputs)
        lines.append(f"  {node[key]} [shape=box, label={_quote(name_of(key))}{border}];")
    for op in graph.ops:
        border = _border(not outputs.isdisjoint(op.outputs))
        lines.append(f"  {node[op]} [shape=ellipse, label={_quote(label(op.primitive))}{border}];")
        for operand in op.inputs:
            source = operand.op if isinstance(operand, Derived) else operand
            slot = (
                f" [label={operand.slot}]" if isinstance(operand, Derived) and operand.slot else ""
            )
            lines.append(f"  {node[source]} -> {node[op]}{slot};")
    return "\n".join([*lines, "}"])


def _border(is_output: bool) -> str:
    return ", peripheries=2" if is_output else ""


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
