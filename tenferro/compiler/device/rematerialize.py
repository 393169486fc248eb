"""Rematerialization: a search for the program that keeps a memory limit."""

from __future__ import annotations

import heapq
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from tenferro.compiler.device.recomputation import (
    Cones,
    Marked,
    computed_again,
    drop_at,
    stored,
    with_late_ops,
)
from tenferro.compiler.memory import MemoryLimit, PeaksById, in_words, peak_in_words, schedule_of
from tenferro.compiler.passes import Needs, Pass
from tenferro.compiler.schedule import COMPILED, Runs, Schedule
from tenferro.ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import Concatenate, Reshape, Slice
from tenferro.ops.control_flow import Scan

__all__ = ["LoopUnrolling", "Rematerialize"]


# An order of instructions in which few bytes are alive, for executors that run them as written.


class _Ready:
    """The instructions whose operands are computed, to be run in another order.

    What frees as much as it takes runs at once. Of other instructions the one runs first that is
    furthest from the end. So a value is computed shortly before it is read.

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
            if not self.done[number] and self._net_bytes(number) <= 0:
                return number
        return heapq.heappop(self.far)[1]

    def _net_bytes(self, number: int) -> int:
        """The bytes that an instruction takes, without those that it frees."""
        schedule = self.schedule
        lasting = schedule.results | schedule.arguments
        freed = [
            buffer
            for buffer in self.read[number]
            if len(self.left[buffer]) == 1 and buffer not in lasting
        ]
        own = [slot for slot in self.steps[number].output_slots if slot in schedule.made]
        return sum(map(schedule.bytes.__getitem__, own)) - sum(
            map(schedule.bytes.__getitem__, freed)
        )

    def _arrive(self, slot: int) -> None:
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


# The search for a program that needs fewer bytes.

_MOST_PEAKS = 64
"""The most peaks that are lowered one after another."""
_PATIENCE = 8
"""How many peaks are lowered in vain."""
_MOST_WORK = 6
"""How many times the operations are given up on."""
_VAIN = 3
"""How many lower goals are aimed at in vain, where a result needs more than was aimed at."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that a search found.

    Attributes:
        program: the program.
        need: the bytes that it needs.
        limit: those that were looked for.
    """

    program: ExecProgram
    need: int
    limit: int


@dataclass(slots=True)
class Search:
    """Looks for programs that need fewer bytes, by computing values again.

    Attributes:
        runs: how the executor runs programs.
        known: the peaks of programs inside of ops.
        as_written: the same if they are run as written.
        candidates: by the id of a program inside of an op, those that were found for it.
        origins: by the id of a candidate, the program for which it was looked for.
    """

    runs: Runs
    known: PeaksById = field(default_factory=dict)
    as_written: PeaksById = field(default_factory=dict)
    candidates: dict[int, list[Candidate]] = field(default_factory=dict)
    origins: dict[int, ExecProgram] = field(default_factory=dict)

    def lowest(self, program: ExecProgram, limit: int) -> Candidate:
        """The program within a limit, or that which needs least of those that were found."""
        before = self._schedule(program)
        best, least = program, before.need
        if least <= limit:
            return Candidate(best, least, limit)
        ordered, goal, vain = self._ordered(program, before), limit, 0
        while vain < _VAIN:
            other = with_late_ops(*self._lowered(ordered, goal))
            need = self._schedule(other).need
            vain = 0 if need < least else vain + 1
            best, least = (other, need) if need < least else (best, least)
            if least <= limit:
                break
            goal = int(goal * max(0.8, min(0.96, limit / need)))
        return Candidate(best, least, limit)

    def _schedule(self, program: ExecProgram) -> Schedule:
        return schedule_of(program, self.runs, self.known)

    def _ordered(self, program: ExecProgram, schedule: Schedule) -> ExecProgram:
        """The program in the order in which it runs, or in a better one if it runs as written."""
        if not self.runs.as_written:
            split = stored(_in_order(program, schedule), schedule)
            return _in_order(split, self._schedule(split))
        other = _Ready(program, schedule).ordered()
        return min(program, other, key=lambda each: self._schedule(each).need)

    def _lowered(self, program: ExecProgram, goal: int) -> tuple[Marked, Container[int]]:
        """The program whose peak is at most `goal`, run as it is written; or as low as found.

        Also the slots that are computed where they are read.
        """
        marked = Marked(program, [False] * len(program.instructions))
        runs, since = replace(self.runs, as_written=True), 0
        best = marked, schedule_of(program, runs, self.as_written)
        most = _MOST_WORK * (program.work() + 1)
        for _ in range(_MOST_PEAKS):
            schedule = schedule_of(marked.program, runs, self.as_written)
            since += 1
            if schedule.highest < best[1].highest:
                best, since = (marked, schedule), 0
            work = marked.program.work_of()
            if schedule.highest <= goal or since == _PATIENCE or sum(work) > most:
                break
            lower = self._with_lower_peak(marked, schedule, work, schedule.highest - goal)
            if lower is None:
                break
            marked = lower
        return best[0], best[1].fused

    def _with_lower_peak(
        self, marked: Marked, schedule: Schedule, work: Sequence[int], excess: int
    ) -> Marked | None:
        """The program that needs fewer bytes at its peak, if one was found.

        Values are dropped there, or the programs inside the op that runs there need less,
        whichever takes fewer operations.
        """
        cones, moment = Cones(schedule, work), schedule.peak
        drop_at(cones, moment, excess)
        outside = computed_again(marked, cones, moment) if cones.dropped else None
        inside = self._with_smaller_bodies(marked, schedule, excess)
        if inside is None or outside is None:
            return outside or inside
        frees = sum(schedule.bytes[buffer] for buffer in cones.dropped)
        if frees >= excess and outside.program.work() <= inside.program.work():
            return outside
        return inside

    def _with_smaller_bodies(
        self, marked: Marked, schedule: Schedule, excess: int
    ) -> Marked | None:
        """The program, in which those inside the op at the peak need fewer bytes, if they can."""
        steps, moment = marked.program.instructions, schedule.peak
        step = steps[moment]
        inside = schedule.inside(step)
        if not inside:
            return None
        goal = max(schedule.peaks[id(body)][1] for body in step.op.bodies.values())
        goal -= min(excess, inside)
        before = {label: cast(ExecProgram, body) for label, body in step.op.bodies.items()}
        bodies = {label: self._body_within(body, goal) for label, body in before.items()}
        if all(bodies[label] is body for label, body in before.items()):
            return None
        changed = replace(step, op=step.op.with_bodies(bodies))
        program = replace(
            marked.program, instructions=(*steps[:moment], changed, *steps[moment + 1 :])
        )
        return Marked(program, marked.again)

    def _body_within(self, body: ExecProgram, goal: int) -> ExecProgram:
        """A program inside of an op that needs at most `goal`, or as little as was found."""
        if self.as_written[id(body)][1] <= goal:
            return body
        origin = self.origins.get(id(body), body)
        before = self.candidates.setdefault(id(origin), [])
        fitting = [each for each in before if each.need <= goal]
        failed = [each for each in before if each.need > each.limit]
        if not fitting and not failed:
            candidate = self.lowest(origin, goal)
            before.append(candidate)
            self.origins[id(origin)] = origin  # held here, so that no other program gets its id
            self.origins[id(candidate.program)] = origin
            return candidate.program
        if fitting:
            return min(fitting, key=lambda each: each.program.work()).program
        return min(failed, key=lambda each: each.need).program


def _in_order(program: ExecProgram, schedule: Schedule) -> ExecProgram:
    steps = [program.instructions[number] for number in schedule.order]
    return replace(program, instructions=tuple(steps))


# Rematerialize: a program that keeps a memory limit.


@dataclass(frozen=True)
class Rematerialize(Pass):
    """Computes values again in place of keeping them, until the program fits into a limit.

    While the predicted peak is above the limit, values that are alive there and are not read there
    are dropped, and computed again before they are read next. There is no clock and no chance in
    it: equal programs give equal programs.

    Attributes:
        limit: the most bytes that results and intermediate values may take at once.
        runs: how the executor runs programs.

    Raises:
        MemoryLimitError: no such program was found.
    """

    limit: MemoryLimit
    runs: Runs = COMPILED

    needs = Needs.CONSTANT_EXTENTS
    enters_bodies = False
    refuses = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program within the limit."""
        limit = self.limit
        for step, meta in program.results():
            if meta.static_shape is None:
                raise limit.refusal(
                    f"memory_limit= needs known sizes, but {step.op.name} gives {meta}; bind the "
                    "sizes, or leave the limit out",
                    0,
                )
        found = Search(self.runs).lowest(program, limit.bytes)
        if found.need <= limit.bytes:
            return found.program
        schedule = schedule_of(program, self.runs)
        raise limit.refusal(
            f"needs {in_words(schedule.need)}{peak_in_words(schedule, self.runs)}, the limit is "
            f"{in_words(limit.bytes)}; the least found is {in_words(found.need)}",
            schedule.need,
            found.need,
        )


# Loops written out, so that the values of single iterations can be computed again.


@dataclass(frozen=True)
class LoopUnrolling(Pass):
    """Writes out the iterations of every `Scan`, innermost first, if they are not too many.

    Attributes:
        most: the largest number of instructions that all iterations of a loop may have.
    """

    most: int = 4096

    needs = Needs.CONSTANT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without these loops."""
        if not program.has_op(Scan):
            return program
        unroller = _Unroller(Rewriter(program), self.most)
        return unroller.at.run(unroller.written)


@dataclass(slots=True)
class _Unroller:
    """Writes loops out.

    Attributes:
        at: the emitter.
        most: the largest number of instructions.
        entries: by the slot of a stack, its entries, if a loop that was written out made it.
    """

    at: Rewriter
    most: int
    entries: dict[int, Sequence[int]] = field(default_factory=dict)

    def written(self, step: ExecInstruction, operands: Sequence[int]) -> Sequence[int] | None:
        """The results of all iterations of a loop; None for other instructions."""
        op = step.op
        if not isinstance(op, Scan) or not isinstance(op.length, int) or not op.length:
            return None
        if op.length * len(op.body.instructions) > self.most:
            return None
        start = op.consts + op.carry
        carry, ys = list(operands[op.consts : start]), dict[int, list[int]]()
        stacks = [self._entries_of(slot, op.length) for slot in operands[start:]]
        for number in reversed(range(op.length)) if op.reverse else range(op.length):
            entries = [stack[number] for stack in stacks]
            results = self.at.inline(op.body, [*operands[: op.consts], *carry, *entries])
            carry, ys[number] = results[: op.carry], results[op.carry :]
        columns = [list(column) for column in zip(*(ys[n] for n in range(op.length)), strict=True)]
        return [*carry, *(self._stacked(column) for column in columns)]

    def _entries_of(self, stack: int, length: int) -> Sequence[int]:
        if stack not in self.entries:
            sizes = self.at.ctx.meta(stack).static_shape or ()
            self.entries[stack] = [self._entry(stack, number, sizes) for number in range(length)]
        return self.entries[stack]

    def _entry(self, stack: int, number: int, sizes: Sequence[int]) -> int:
        rest = tuple(sizes[1:])
        starts, limits = (number, *(0 for _ in rest)), (number + 1, *rest)
        row = self.at.emit(Slice(starts, limits, (1,) * len(sizes)), stack)
        return self.at.emit(Reshape(rest), row)

    def _stacked(self, entries: Sequence[int]) -> int:
        rows = []
        for entry in entries:
            sizes = self.at.ctx.meta(entry).static_shape or ()
            rows.append(self.at.emit(Reshape((1, *sizes)), entry))
        stack = rows[0] if len(rows) == 1 else self.at.emit_all(Concatenate(0), *rows)[0]
        self.entries[stack] = entries
        return stack
