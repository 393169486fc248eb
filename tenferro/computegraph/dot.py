"""Graphs in Graphviz' DOT language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.computegraph.dump import name_of
from tenferro.computegraph.keys import Derived, GlobalOpKey, GlobalValKey
from tenferro.computegraph.materialize import MaterializedGraph
from tenferro.errors import GraphError


def to_dot(graph: MaterializedGraph, label: Callable[[Any], str] = str) -> str:
    """The graph in DOT; `label` names an op.

    Boxes are inputs, ellipses ops, and doubled borders mark outputs.

    Raises:
        GraphError: it is not a materialized graph.
    """
    if not isinstance(graph, MaterializedGraph):
        raise GraphError(
            f"to_dot: takes a materialized graph, got a {type(graph).__name__}; "
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
