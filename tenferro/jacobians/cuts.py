"""Cuts of a linear part: sets of values through which all tangents go from inputs to outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from tenferro.autodiff import active_operands
from tenferro.computegraph import GlobalOpKey, GlobalValKey
from tenferro.derivatives import Linear

Key = GlobalValKey
Size = Callable[[Key], int | None]
"""The number of elements of a value; None if it cannot be in a cut."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Ops, inputs and outputs that have no value in common with those of other branches."""

    nodes: list[GlobalOpKey] = field(default_factory=list)
    inputs: list[Key] = field(default_factory=list)
    outputs: list[Key] = field(default_factory=list)


def narrow_cut(linear: Linear, size: Size, inside: bool = False) -> list[Key] | None:
    """The narrowest cut that is found; None if it is the inputs or the outputs.

    Each independent branch is cut on its own, some perhaps at their inputs or outputs; if `inside`,
    between its ops wherever there is a place.

    Cuts are found by a walk over the ops, between one and the next: once in the order of the
    program, and once with each op as early as its operands allow.
    """
    parts = branches(linear)
    cuts = [_narrowest(part, size, inside) for part in parts]
    found = [key for cut in cuts if cut is not None for key in cut]
    ends = [
        {key for part in parts for key in part.inputs},
        {key for part in parts for key in part.outputs},
    ]
    return None if None in cuts or set(found) in ends else found


def branches(linear: Linear) -> list[Branch]:
    """The independent branches of the live ops, inputs and outputs."""
    nodes = linear.live_nodes()
    outputs = dict.fromkeys(key for key in linear.output_keys if key is not None)
    leader: dict[Key, Key] = {}

    def leader_of(key: Key) -> Key:
        while leader.setdefault(key, key) is not key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for node in nodes:
        joined: list[Key] = [*active_operands(node), *node.outputs]
        for key in joined:
            leader[leader_of(key)] = leader_of(joined[0])
    live = {*outputs, *(key for node in nodes for key in active_operands(node))}
    found: dict[Key, Branch] = {}
    for node in nodes:
        found.setdefault(leader_of(node.outputs[0]), Branch()).nodes.append(node)
    for key in linear.input_keys:
        if key in live:
            found.setdefault(leader_of(key), Branch()).inputs.append(key)
    for key in outputs:
        found.setdefault(leader_of(key), Branch()).outputs.append(key)
    return list(found.values())


def _narrowest(part: Branch, size: Size, inside: bool) -> list[Key] | None:
    """The narrowest cut of a branch; if `inside`, one between its ops if there is one.

    None if there is no cut.
    """
    found: dict[bool, tuple[int, list[Key]]] = {}
    for order in (part.nodes, _as_early_as_possible(part)):
        for place, (values, width) in enumerate(_frontiers(part, order, size)):
            is_inner = 0 < place < len(order)
            if width is not None and (is_inner not in found or width < found[is_inner][0]):
                found[is_inner] = width, list(values)
    if inside and True in found:
        return found[True][1]
    return min(found.values(), key=lambda each: each[0])[1] if found else None


def _as_early_as_possible(part: Branch) -> list[GlobalOpKey]:
    """The ops of a branch, those with few ops before them first."""
    depth: dict[Key, int] = {}
    steps: dict[GlobalOpKey, int] = {}
    for node in part.nodes:
        steps[node] = 1 + max(depth.get(key, 0) for key in active_operands(node))
        depth.update(dict.fromkeys(node.outputs, steps[node]))
    return sorted(part.nodes, key=steps.__getitem__)


def _frontiers(
    part: Branch, order: Sequence[GlobalOpKey], size: Size
) -> Iterator[tuple[Collection[Key], int | None]]:
    """The inputs, the cuts after each op, the last of which are the outputs.

    For each the values, the same collection each time, and the number of their elements; None if
    one of them cannot be in a cut.
    """
    readers = Counter(key for node in order for key in set(active_operands(node)))
    readers.update(part.outputs)
    frontier: dict[Key, None] = {}
    width, uncut = 0, 0

    def turn(key: Key, sign: int) -> None:
        nonlocal width, uncut
        count = size(key)
        width += sign * (count or 0)
        uncut += sign * (count is None)

    for key in part.inputs:
        frontier[key] = None
        turn(key, 1)
    yield frontier, None if uncut else width
    for node in order:
        for key in set(active_operands(node)):
            readers[key] -= 1
            if not readers[key]:
                del frontier[key]
                turn(key, -1)
        for key in node.outputs:
            if readers[key]:
                frontier[key] = None
                turn(key, 1)
        yield frontier, None if uncut else width
