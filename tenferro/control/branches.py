"""The graphs of the branches of a switch, and what a switch keeps of them for a second one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from tenferro.autodiff import residuals
from tenferro.chainrules import Emitter, KeyEmitter, V
from tenferro.computegraph import GlobalValKey
from tenferro.control.graphs import (
    Keys,
    dependent,
    fresh_of_type,
    graph_of,
    program_of,
    without_cheap,
)
from tenferro.control.interfaces import Choice
from tenferro.exec_ir import restricted
from tenferro.ops import full, shape_context
from tenferro.shape import TensorMeta, type_of

_TYPES = shape_context()


class Branches(NamedTuple):
    """The graphs of the branches; equal types have made their inputs the same values."""

    inputs: Keys
    outputs: list[Keys]

    @classmethod
    def of(cls, op: Choice) -> Branches:
        """The graphs of the branches of `op`."""
        graphs = [graph_of(branch) for branch in op.branches]
        return cls(graphs[0][0], [outputs for _, outputs in graphs])


class Part(NamedTuple):
    """What a derivative computes in one branch: `outputs`, which are linear in `seeds`."""

    outputs: Keys
    seeds: Keys


def chosen_part(
    op: Choice,
    at: Emitter[V],
    operands: Sequence[V],
    these: Branches,
    parts: Sequence[Part],
    seeds: Sequence[V],
    active: Sequence[bool] = (),
) -> tuple[V, ...]:
    """The outputs of the part of the chosen branch, for the values `seeds` of its seeds.

    The parts read operands of `op`, and values that `op` has computed on the way. The latter are
    further results of `op`, of which one more is emitted for that; branches share results by type.
    Operands that are `active` have no values, and no part reads them.
    """
    index, *values = operands
    fixed = [not on for on in active] or [True] * len(values)
    reads = [_read(part, these.inputs) for part in parts]
    given = [key for key in these.inputs if any(key in read for read in reads)]
    slots: list[TensorMeta] = []
    places = [_placed(read, given, slots) for read in reads]
    made: Sequence[V] = ()
    if slots:
        positions = list(compress(range(len(fixed)), fixed))
        whole = [program_of(these.inputs, _filled(place, slots)) for place in places]
        programs = [restricted(program, positions, range(len(slots))) for program in whole]
        made = at.emit_all(op.like(programs), index, *compress(values, fixed))
    bodies = []
    for part, place in zip(parts, places, strict=True):
        stored = [place.get(slot) or fresh_of_type(meta) for slot, meta in enumerate(slots)]
        bodies.append(program_of([*given, *stored, *part.seeds], part.outputs))
    known = dict(zip(these.inputs, values, strict=True))
    passed = [known[key] for key in given]
    return at.emit_all(op.like(bodies), index, *passed, *made, *seeds)


def _read(part: Part, inputs: Keys) -> Keys:
    """The values of its branch that a part reads."""
    read = residuals(part.outputs, part.seeds)
    return without_cheap(read, inputs, dependent(read, inputs))


def _placed(read: Keys, given: Keys, slots: list[TensorMeta]) -> dict[int, GlobalValKey]:
    """The values that are not operands, by the number of a result of their type.

    `slots` are the types of these results; it grows where it has too few of a type.
    """
    placed: dict[int, GlobalValKey] = {}
    for key in read:
        if key in given:
            continue
        meta = type_of(key)
        free = [slot for slot, known in enumerate(slots) if known == meta and slot not in placed]
        if not free:
            free.append(len(slots))
            slots.append(meta)
        placed[free[0]] = key
    return placed


def _filled(place: dict[int, GlobalValKey], slots: Sequence[TensorMeta]) -> Keys:
    """A value for each slot: zeros where the branch has none."""
    emitter = KeyEmitter(_TYPES)
    return [
        place[slot] if slot in place else full(emitter, 0, meta) for slot, meta in enumerate(slots)
    ]
