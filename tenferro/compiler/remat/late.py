"""What is computed again, as ops that wait: no pass and no compiler merges it with the first run.

A run of instructions that compute values again becomes one late `Checkpointed`. It waits for the
value that was computed last before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Sequence
from dataclasses import replace

from tenferro.compiler.remat.again import Marked
from tenferro.compiler.target.schedule import Schedule
from tenferro.control import Checkpointed
from tenferro.exec_ir import ExecInstruction, ExecProgram, renumber
from tenferro.shape import TensorMeta

_TERMS = 4
"""The largest number of buffers of which one elementwise result is computed."""


def with_late_ops(marked: Marked, fused: Container[int]) -> ExecProgram:
    """The program, in which runs of instructions that compute values again are late ops.

    `fused` are the slots that are computed where they are read. They are left outside where they
    depend on a late op anyway.
    """
    program = marked.program
    metas = program.slot_metas()
    last = _last_reads(program)
    steps: list[ExecInstruction] = []
    number = 0
    for again, group in itertools.groupby(
        zip(program.instructions, marked.again, strict=True), lambda pair: pair[1]
    ):
        run = [step for step, _ in group]
        number += len(run)
        tie = _tie(steps, last, number - len(run)) if again else None
        if tie is None:
            steps += run
            continue
        inside, outside = _split(run, fused)
        made = {slot for step in inside for slot in step.output_slots}
        taken = {slot for step in outside for slot in step.input_slots}
        read = [slot for slot in made if last[slot] >= number or slot in taken]
        steps += [_late(inside, sorted(read), tie, metas), *outside]
    return replace(program, instructions=tuple(steps))


def _split(
    run: Sequence[ExecInstruction], fused: Container[int]
) -> tuple[list[ExecInstruction], list[ExecInstruction]]:
    """The instructions of a late op, and those that may follow it."""
    read: set[int] = set()
    within: list[bool] = []
    for step in reversed(run):
        is_within = step.output_slots[0] not in fused or not read.isdisjoint(step.output_slots)
        within.append(is_within)
        read.update(step.input_slots if is_within else ())
    inside: list[ExecInstruction] = []
    outside: list[ExecInstruction] = []
    made: set[int] = set()
    for step, is_within in zip(run, reversed(within), strict=True):
        later = not is_within and not made.isdisjoint(step.input_slots)
        (outside if later else inside).append(step)
        made.update(step.output_slots)
    return inside, outside


def stored(program: ExecProgram, schedule: Schedule) -> ExecProgram:
    """The program, in which long sums are stored on the way.

    A compiler adds many terms at once, so that all of them are alive. An elementwise result of more
    than `_TERMS` buffers, which together are larger than it by as much, becomes a late op.
    """
    steps: list[ExecInstruction] = []
    metas = program.slot_metas()
    terms: dict[int, frozenset[int]] = {}
    for step in program.instructions:
        (slot, *_) = step.output_slots
        if slot in schedule.fused:
            parts = [
                terms.get(each, frozenset(schedule.buffers(each))) for each in step.input_slots
            ]
            terms[slot] = frozenset[int]().union(*parts)
            own = [each for each in terms[slot] if each not in schedule.arguments]
            size = schedule.bytes[slot]
            if len(own) > _TERMS and sum(schedule.bytes[each] for each in own) > _TERMS * size:
                terms[slot] = frozenset([slot])
                step = _late([step], [slot], step.input_slots[-1], metas)
        steps.append(step)
    return replace(program, instructions=tuple(steps))


def _last_reads(program: ExecProgram) -> dict[int, int]:
    """For each slot the number of the last instruction that reads it; -1 if none does."""
    last = dict.fromkeys(program.written_slots(), -1)
    for number, step in enumerate(program.instructions):
        last.update(dict.fromkeys(step.input_slots, number))
    last.update(dict.fromkeys(program.output_slots, len(program.instructions)))
    return last


def _tie(steps: Sequence[ExecInstruction], last: dict[int, int], number: int) -> int | None:
    """The value that was computed last of those that are read later; else the last one."""
    latest = None
    for step in reversed(steps[-64:]):
        for slot, meta in zip(step.output_slots, step.output_metas, strict=True):
            if not meta.static_shape or all(meta.static_shape):
                if last[slot] >= number and not step.op.source:
                    return slot
                latest = slot if latest is None else latest
    return latest


def _late(
    run: Sequence[ExecInstruction],
    read: Sequence[int],
    tie: int,
    metas: Sequence[TensorMeta | None],
) -> ExecInstruction:
    """One instruction for several, which gives the values that are read later."""
    made = {slot for step in run for slot in step.output_slots}
    operands = dict.fromkeys(slot for step in run for slot in step.input_slots if slot not in made)
    operands.pop(tie, None)
    inputs = (*operands, tie)
    body = ExecProgram(
        tuple(run), inputs, tuple([_known(metas, slot) for slot in inputs]), tuple(read), len(metas)
    )
    op = Checkpointed(renumber(body), late=True)
    types = tuple([_known(metas, slot) for slot in read])
    return ExecInstruction(op, inputs, tuple(read), types, (), run[-1].site)


def _known(metas: Sequence[TensorMeta | None], slot: int) -> TensorMeta:
    meta = metas[slot]
    assert meta is not None, f"%{slot} is not written"
    return meta
