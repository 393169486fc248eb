"""A program that runs within given bytes: values are dropped when there is no room for the next one.

The instructions run in their order. Where a result does not fit, values that are read later are
dropped: first those that free most bytes for the longest time, for what it costs to compute them
again. Where an operand was dropped, it is computed again, and stays for its next readers as long as
there is room. So what several of them need is computed again once.

Source: M. Kirisame et al., "Dynamic Tensor Rematerialization", ICLR 2021; here the reads to come are
known, and take the place of the time since a value was read.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Container, Sequence
from dataclasses import replace

from tenferro.compiler.remat.again import Marked
from tenferro.compiler.target.schedule import Schedule
from tenferro.exec_ir import ExecInstruction

_MOST_AGAIN = 512
"""The most instructions that are run again for one value."""

_SMALLEST = 16384
"""Values of a smaller part of the goal are not dropped."""

_REFRESHED = 16
"""After how many drops all costs are estimated anew."""


def swept(schedule: Schedule, work: Sequence[int], goal: int, most: int) -> Marked | None:
    """The program of a schedule that runs as written, in about `goal` bytes if that is possible.

    None if it takes more than `most` operations.
    """
    return _Sweep(schedule, work, goal, most).run()


class _Sweep:
    """A run of the program, which is written down.

    Attributes:
        now: where the values are, by slot; one that is not there was dropped, or not yet computed.
        present: the buffers that take memory, and their bytes in all.
        slots: by buffer, the slots that are read from it.
        costs: by buffer, what it was estimated to take to compute it again.
        waiting: the instructions that wait for operands, the last one first to run.
    """

    def __init__(self, schedule: Schedule, work: Sequence[int], goal: int, most: int) -> None:
        self.schedule, self.work, self.goal, self.left = schedule, work, goal, most
        self.program = schedule.program
        self.steps = self.program.instructions
        self.maker = {
            slot: number for number, step in enumerate(self.steps) for slot in step.output_slots
        }
        self.slots: dict[int, list[int]] = {}
        for slot in self.maker:
            for buffer in schedule.buffers(slot):
                self.slots.setdefault(buffer, []).append(slot)
        self.now = {slot: slot for slot in self.program.input_slots}
        self.present: dict[int, None] = {}
        self.live = self.moment = self.drops = 0
        self.costs: dict[int, float] = {}
        self.waiting: list[int] = []
        self.count = self.program.n_slots
        self.written: list[ExecInstruction] = []
        self.again: list[bool] = []

    def run(self) -> Marked | None:
        """The program that was run."""
        for self.moment in range(len(self.steps)):
            self.waiting.append(self.moment)
            while self.waiting:
                step = self.steps[self.waiting[-1]]
                missing = [slot for slot in step.input_slots if slot not in self.now]
                if missing:
                    self.waiting.append(self.maker[missing[0]])
                else:
                    self._execute(self.waiting.pop())
                if self.left < 0:
                    return None
        outputs = tuple([self.now[slot] for slot in self.program.output_slots])
        written = tuple(self.written)
        program = replace(
            self.program, instructions=written, output_slots=outputs, n_slots=self.count
        )
        return Marked(program, self.again).without_dead()

    def _execute(self, number: int) -> None:
        """Run an instruction whose operands are there."""
        step, schedule = self.steps[number], self.schedule
        self.left -= self.work[number] + 1
        read, awaited = schedule.read_by(step), self._awaited()
        gone = [buffer for buffer in read if self._is_over(buffer, awaited)]
        fresh = [
            slot
            for slot in step.output_slots
            if slot in schedule.made and slot not in self.present
        ]
        size = sum(schedule.bytes[slot] for slot in fresh)
        spared = schedule.spared(step, gone) if gone else 0
        self._make_room(size - spared + schedule.inside(step), {*read, *awaited})
        self._write(step, again=number != self.moment)
        self.live += size
        self.present.update(dict.fromkeys(fresh))
        for buffer in [*gone, *(slot for slot in fresh if self._is_over(slot, awaited))]:
            self._drop(buffer)

    def _write(self, step: ExecInstruction, again: bool) -> None:
        """Write an instruction down. Values that are there stay where they are."""
        outputs = step.output_slots
        if again:
            outputs = tuple(range(self.count, self.count + len(outputs)))
            self.count += len(outputs)
        inputs = tuple([self.now[slot] for slot in step.input_slots])
        self.written.append(
            ExecInstruction(step.op, inputs, outputs, step.output_metas, (), step.site)
        )
        self.again.append(again)
        for slot, place in zip(step.output_slots, outputs, strict=True):
            self.now.setdefault(slot, place)

    def _awaited(self) -> set[int]:
        """The buffers that instructions which wait are going to read."""
        slots = {slot for number in self.waiting for slot in self.steps[number].input_slots}
        return {buffer for slot in slots for buffer in self.schedule.buffers(slot)}

    def _is_over(self, buffer: int, awaited: Container[int]) -> bool:
        """Whether nothing reads a buffer after this instruction."""
        schedule = self.schedule
        if buffer in schedule.arguments or buffer in schedule.results or buffer in awaited:
            return False
        return schedule.last_read(buffer) <= self.moment

    def _drop(self, buffer: int) -> None:
        if buffer in self.present:
            del self.present[buffer]
            self.live -= self.schedule.bytes[buffer]
            self.costs.pop(buffer, None)
            for slot in self.slots[buffer]:
                self.now.pop(slot, None)

    def _make_room(self, size: int, kept: Container[int]) -> None:
        """Drop values until so many bytes are free, or no value can be dropped."""
        while self.live + size > self.goal:
            buffer = self._least_missed(kept)
            if buffer is None:
                return
            self._drop(buffer)
            self.drops += 1
            if self.drops % _REFRESHED == 0:
                self.costs.clear()

    def _least_missed(self, kept: Container[int]) -> int | None:
        """The buffer that is best dropped; None if there is none.

        Estimates of costs may be old, and too low then; that of the best one is made again.
        """
        schedule, least = self.schedule, self.goal // _SMALLEST
        others = [
            buffer
            for buffer in self.present
            if schedule.bytes[buffer] > least
            and buffer not in kept
            and buffer not in schedule.results
            and self.steps[self.maker[buffer]].input_slots
        ]
        scores = {buffer: self._score(buffer) for buffer in others}
        while scores:
            best = max(scores, key=scores.__getitem__)
            if not scores[best]:
                return None
            self.costs.pop(best, None)
            score = self._score(best)
            if score == scores[best]:
                return best
            scores[best] = score
        return None

    def _score(self, buffer: int) -> float:
        """How much dropping a buffer is worth; 0 if it cannot be computed again."""
        reads = self.schedule.reads[buffer]
        following = reads[bisect.bisect_right(reads, self.moment)]
        if buffer not in self.costs:
            self.costs[buffer] = self._cost(buffer, following)
        return self.schedule.bytes[buffer] * (following - self.moment) / self.costs[buffer]

    def _cost(self, buffer: int, following: int) -> float:
        """About how many operations it takes to compute a buffer for a moment."""
        found: set[int] = set()
        stack = [self.maker[buffer]]
        while stack:
            number = stack.pop()
            if number in found:
                continue
            if len(found) == _MOST_AGAIN:
                return math.inf
            found.add(number)
            for slot in self.steps[number].input_slots:
                if slot in self.maker and not self._stays(slot, following):
                    stack.append(self.maker[slot])
        return len(found) + sum(self.work[number] for number in found)

    def _stays(self, slot: int, moment: int) -> bool:
        """Whether a value is there, and is read at a moment or later."""
        schedule = self.schedule
        return slot in self.now and all(
            buffer in schedule.arguments
            or buffer in schedule.results
            or schedule.last_read(buffer) >= moment
            for buffer in schedule.buffers(slot)
        )
