"""Repetitions that go into programs inside ops, which then read one copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from tenferro.control import ControlOp
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.ops import DotGeneral, Transpose
from tenferro.shape import TensorMeta


class Repetition(NamedTuple):
    """An instruction that repeats a value, and the type of that value."""

    step: ExecInstruction
    source: TensorMeta


def repetitions(
    step: ExecInstruction,
    makers: Mapping[int, ExecInstruction],
    metas: Sequence[TensorMeta | None],
) -> dict[int, Repetition]:
    """The operands of an op with programs, by place, that these can repeat where they read them.

    Contractions over a batch, pointwise ops and programs need no copies; other ops would copy the
    operand in each round of a loop.
    """
    op = cast(ControlOp, step.op)
    found: dict[int, Repetition] = {}
    for place in sorted({place for places in op.const_places.values() for place in places}):
        maker = makers.get(step.input_slots[place])
        if maker is not None and maker.op.repeats and len(maker.input_slots) == 1:
            source = metas[maker.input_slots[0]]
            if source is not None and source.dims is not None and source.rank:
                found[place] = Repetition(maker, source)
    if not found:
        return found
    for label, places in op.const_places.items():
        body = cast(ExecProgram, op.bodies[label])
        copied = {
            slot
            for inner in body.instructions
            if not _needs_no_copies(inner)
            for slot in inner.input_slots
        }.union(body.output_slots)
        for place in places:
            if body.input_slots[place - places.start] in copied:
                found.pop(place, None)
    return found


def with_repetitions(
    body: ExecProgram, places: range, found: Mapping[int, Repetition]
) -> ExecProgram:
    """The program that itself repeats the operands at some places."""
    chosen = [place for place in places if place in found]
    if not chosen:
        return body
    input_slots, metas = list(body.input_slots), list(body.input_metas)
    steps: list[ExecInstruction] = []
    for slot, place in enumerate(chosen, body.n_slots):
        position, (maker, source) = place - places.start, found[place]
        outputs = (input_slots[position],)
        steps.append(replace(maker, input_slots=(slot,), output_slots=outputs, last_use=()))
        input_slots[position] = slot
        metas[position] = source
    return replace(
        body,
        instructions=(*steps, *body.instructions),
        input_slots=tuple(input_slots),
        input_metas=tuple(metas),
        n_slots=body.n_slots + len(chosen),
    )


def _needs_no_copies(step: ExecInstruction) -> bool:
    """Whether an instruction can read a value that is repeated as it was before."""
    if isinstance(step.op, DotGeneral):
        return bool(step.op.lhs_batch)
    return step.op.pointwise or isinstance(step.op, ControlOp | Transpose)
