"""Graphs in Graphviz' DOT language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.computegraph.dump import name_of
from tenferro.computegraph.keys import Derived, GlobalValKey
from tenferro.computegraph.materialize import MaterializedGraph


def to_dot(graph: MaterializedGraph, label: Callable[[Any], str] = str) -> str:
    """The graph in DOT: boxes are inputs, ellipses ops, doubled borders outputs; `label` names an op."""
    node: dict[GlobalValKey, str] = {key: f"v{number}" for number, key in enumerate(graph.inputs)}
    for number, op in enumerate(graph.ops, len(graph.inputs)):
        for output in op.outputs:
            node[output] = f"v{number}"
    outputs = set(graph.outputs)
    lines = ["digraph tenferro {", "  rankdir=TB;"]
    for key in graph.inputs:
        lines.append(
            f"  {node[key]} [shape=box, label={_quote(name_of(key))}{_border(key in outputs)}];"
        )
    for op in graph.ops:
        name = node[op.output(0)]
        border = _border(any(key in outputs for key in op.outputs))
        lines.append(f"  {name} [shape=ellipse, label={_quote(label(op.primitive))}{border}];")
        for operand in op.inputs:
            slot = (
                f" [label={operand.slot}]" if isinstance(operand, Derived) and operand.slot else ""
            )
            lines.append(f"  {node[operand]} -> {name}{slot};")
    return "\n".join([*lines, "}"])


def _border(is_output: bool) -> str:
    return ", peripheries=2" if is_output else ""


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
