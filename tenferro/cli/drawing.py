"""The graph of a program as an SVG drawing: operands above the ops that read them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from tenferro.exec_ir import ExecProgram

MOST = 150
"""Instructions of the largest program that is drawn."""

_WIDTH, _HEIGHT = 132, 46
_BOX = 112, 26


@dataclass(frozen=True, slots=True)
class _Node:
    """An input, an instruction, or an output."""

    kind: str
    label: str
    hint: str
    slots: tuple[int, ...]
    operands: tuple[int, ...]


def drawing(program: ExecProgram, anchor: str) -> str | None:
    """The drawing; None for a program that is too large to be drawn.

    Args:
        program: what is drawn; programs inside ops are not.
        anchor: the beginning of the ids of its values, which nodes link to.
    """
    if len(program.instructions) > MOST:
        return None
    nodes = _nodes(program)
    rows = _rows(nodes)
    maker = {slot: number for number, node in enumerate(nodes) for slot in node.slots}
    width = max(len(row) for row in rows) * _WIDTH
    middle = {
        number: ((place + 0.5) * width / len(row), (layer + 0.5) * _HEIGHT)
        for layer, row in enumerate(rows)
        for place, number in enumerate(row)
    }
    edges = [
        _edge(middle[maker[slot]], middle[number])
        for number, node in enumerate(nodes)
        for slot in dict.fromkeys(node.operands)
        if slot in maker
    ]
    boxes = [_box(node, middle[number], anchor) for number, node in enumerate(nodes)]
    style = f"min-width: {min(width, 900)}px; max-width: {width}px"
    size = f'viewBox="0 0 {width} {len(rows) * _HEIGHT}" style="{style}"'
    return f'<svg {size} role="img">{"".join(edges)}{"".join(boxes)}</svg>'


def _nodes(program: ExecProgram) -> list[_Node]:
    metas = program.slot_metas()
    nodes = [
        _Node("input", f"%{slot}", str(metas[slot]), (slot,), ()) for slot in program.input_slots
    ]
    for step in program.instructions:
        types = ", ".join(str(metas[slot]) for slot in step.output_slots)
        hint = f"{types} = {step.op}"
        nodes.append(_Node("op", step.op.name, hint, step.output_slots, step.input_slots))
    nodes += [
        _Node("output", f"result {number}", str(metas[slot]), (), (slot,))
        for number, slot in enumerate(program.output_slots)
    ]
    return nodes


def _rows(nodes: list[_Node]) -> list[list[int]]:
    """Numbers of nodes by their longest way from an input; in each row near their operands."""
    depths = _depths(nodes)
    rows: list[list[int]] = [[] for _ in range(1 + max(depths))]
    for number, depth in enumerate(depths):
        rows[depth].append(number)
    place: dict[int, float] = {}
    for row in rows:
        wanted = {
            number: [place[slot] for slot in nodes[number].operands if slot in place]
            for number in row
        }
        row.sort(key=lambda number: sum(wanted[number]) / max(len(wanted[number]), 1))
        for position, number in enumerate(row):
            place.update(dict.fromkeys(nodes[number].slots, (position + 0.5) / len(row)))
    return rows


def _depths(nodes: list[_Node]) -> list[int]:
    """One more than the deepest operand; an op without operands stands above its first reader."""
    depth: dict[int, int] = {}
    depths: list[int] = []
    for node in nodes:
        depths.append(1 + max((depth[slot] for slot in node.operands), default=-1))
        depth.update(dict.fromkeys(node.slots, depths[-1]))
    for number, node in enumerate(nodes):
        if node.kind == "op" and not node.operands:
            readers = [
                depths[reader]
                for reader, other in enumerate(nodes)
                if not set(node.slots).isdisjoint(other.operands)
            ]
            depths[number] = max(min(readers, default=1) - 1, 0)
    return depths


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    y1, y2 = y1 + _BOX[1] / 2, y2 - _BOX[1] / 2
    bend = (y2 - y1) / 2
    curve = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f}"
    return f'<path d="{curve} {x2:.0f} {y2:.0f}"/>'


def _box(node: _Node, middle: tuple[float, float], anchor: str) -> str:
    x, y = middle
    slots = node.slots or node.operands
    name = f"{anchor}-{slots[0]}"
    text = node.label if len(node.label) <= 16 else node.label[:15] + "…"
    rect = f'<rect x="{x - _BOX[0] / 2:.0f}" y="{y - _BOX[1] / 2:.0f}" rx="5"'
    return (
        f'<a href="#{name}" class="{node.kind}" data-value="{name}">'
        f"<title>{escape(node.hint)}</title>"
        f'{rect} width="{_BOX[0]}" height="{_BOX[1]}"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{escape(text)}</text></a>'
    )
