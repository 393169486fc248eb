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

    `fused` are the slots that are computed where they are read, and so inside of the op and outside
    of it. They take no memory, and are no operands or results of late ops.
    """
    return _Writer(marked, fused).written()


class _Writer:
    """Writes the program."""

    def __init__(self, marked: Marked, fused: Container[int]) -> None:
        self._marked, self._fused = marked, fused
        self._steps = marked.program.instructions
        self._metas = marked.program.slot_metas()
        self._last = self._last_reads()
        self._maker = {
            slot: number for number, step in enumerate(self._steps) for slot in step.output_slots
        }
        self._written: list[ExecInstruction] = []

    def written(self) -> ExecProgram:
        """The program."""
        end = 0
        for again, group in itertools.groupby(self._marked.again):
            start, end = end, end + len(list(group))
            if again:
                self._write_again(range(start, end))
            else:
                self._written += self._steps[start:end]
        program = replace(self._marked.program, instructions=tuple(self._written))
        return Marked(program, [False] * len(self._written)).without_dead().program

    def _write_again(self, run: range) -> None:
        """Write a run of instructions that compute values again."""
        tie = _tie(self._written, self._last, run.start)
        if tie is None:
            self._written += self._steps[run.start : run.stop]
            return
        stored = [number for number in run if not self._is_moved(number)]
        if stored:
            inside = [self._steps[number] for number in self._inside(stored)]
            made = [slot for number in stored for slot in self._steps[number].output_slots]
            read = sorted(slot for slot in made if self._last[slot] >= run.stop)
            self._written.append(_late(inside, read, tie, self._metas))
        self._written += [
            self._steps[number]
            for number in run
            if self._is_moved(number)
            and any(self._last[slot] >= run.stop for slot in self._steps[number].output_slots)
        ]

    def _last_reads(self) -> dict[int, int]:
        """For each slot the number of the last instruction that reads it; -1 if none does.

        What runs where its result is read counts as the reader of that.
        """
        program = self._marked.program
        last = dict.fromkeys(program.written_slots(), -1)
        last.update(dict.fromkeys(program.output_slots, len(self._steps)))
        for number in reversed(range(len(self._steps))):
            step, reader = self._steps[number], number
            if self._is_moved(number):
                reader = max(last[slot] for slot in step.output_slots)
            for slot in step.input_slots:
                last[slot] = max(last[slot], reader)
        return last

    def _is_moved(self, number: int) -> bool:
        """Whether an instruction runs where its result is read."""
        step = self._steps[number]
        return step.op.source or step.output_slots[0] in self._fused

    def _inside(self, stored: Sequence[int]) -> list[int]:
        """Some instructions, and those that run where these read them."""
        found, stack = set(stored), list(stored)
        while stack:
            for slot in self._steps[stack.pop()].input_slots:
                number = self._maker.get(slot)
                if number is not None and number not in found and self._is_moved(number):
                    found.add(number)
                    stack.append(number)
        return sorted(found)


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
