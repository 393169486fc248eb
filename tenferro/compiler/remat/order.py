"""An order of instructions in which few bytes are alive, for executors that run them as written."""

from __future__ import annotations

import heapq
from dataclasses import replace

from tenferro.compiler.target.schedule import Schedule
from tenferro.exec_ir import ExecProgram


def economical(program: ExecProgram, schedule: Schedule) -> ExecProgram:
    """The program in another order: what frees as much as it takes runs at once.

    Of other instructions the one runs first that is furthest from the end. So a value is computed
    shortly before it is read.
    """
    return _Ready(program, schedule).ordered()


class _Ready:
    """The instructions whose operands are computed.

    Attributes:
        missing: for each instruction how many operands are not computed yet.
        left: for each buffer the instructions that will read it.
    """

    def __init__(self, program: ExecProgram, schedule: Schedule) -> None:
        self.program = program
        self.schedule = schedule
        self.steps = program.instructions
        self.missing = [len(set(step.input_slots)) for step in self.steps]
        self.left: dict[int, set[int]] = {}
        self.read: list[set[int]] = []
        for number, step in enumerate(self.steps):
            read = {buffer for slot in step.input_slots for buffer in schedule.buffers(slot)}
            self.read.append(read)
            for buffer in read:
                self.left.setdefault(buffer, set()).add(number)
        self.tails = self._tails()
        self.done = [False] * len(self.steps)
        self.far: list[tuple[int, int]] = []  # those that are ready, furthest from the end first
        self.free: list[int] = []  # those of them that may free as much as they take

    def ordered(self) -> ExecProgram:
        """The program."""
        for number, count in enumerate(self.missing):
            if not count:
                self._push(number)
        for slot in self.program.input_slots:
            self._arrive(slot)
        order: list[int] = []
        while self.far:
            number = self._next()
            if self.done[number]:
                continue
            self.done[number] = True
            order.append(number)
            for buffer in self.read[number]:
                left = self.left[buffer]
                left.discard(number)
                if len(left) == 1:
                    self.free += [last for last in left if not self.missing[last]]
            for slot in self.steps[number].output_slots:
                self._arrive(slot)
        return replace(self.program, instructions=tuple([self.steps[number] for number in order]))

    def _next(self) -> int:
        while self.free:
            number = self.free.pop()
            if not self.done[number] and self._taken(number) <= 0:
                return number
        return heapq.heappop(self.far)[1]

    def _taken(self, number: int) -> int:
        """The bytes that an instruction takes, without those that it frees."""
        schedule = self.schedule
        kept = schedule.results | schedule.arguments
        freed = [
            buffer
            for buffer in self.read[number]
            if len(self.left[buffer]) == 1 and buffer not in kept
        ]
        own = [slot for slot in self.steps[number].output_slots if slot in schedule.made]
        return sum(map(schedule.bytes.__getitem__, own)) - sum(
            map(schedule.bytes.__getitem__, freed)
        )

    def _arrive(self, slot: int) -> None:
        """A value has been computed."""
        for number in self.schedule.readers.get(slot, ()):
            self.missing[number] -= 1
            if not self.missing[number]:
                self._push(number)

    def _push(self, number: int) -> None:
        heapq.heappush(self.far, (-self.tails[number], number))
        self.free.append(number)

    def _tails(self) -> list[int]:
        """For each instruction the most instructions that come after it, one reading another."""
        tails = [0] * len(self.steps)
        for number in reversed(range(len(self.steps))):
            readers = [
                reader
                for slot in self.steps[number].output_slots
                for reader in self.schedule.readers.get(slot, ())
            ]
            tails[number] = 1 + max((tails[reader] for reader in readers), default=0)
        return tails
