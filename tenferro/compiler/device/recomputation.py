"""Which values to drop at a peak; the program that recomputes them.

A value that is alive, and not read at that moment, may be computed again before it is read next.
Those are dropped first that free most bytes for the longest time, for what it costs to compute
them again. What one of them costs grows as values are dropped that it is computed from: so the
values that are kept lie at about equal distances, like the checkpoints of a chain.

Source: R. Kumar, M. Purohit, Z. Svitkina, E. Vee and J. R. Wang, "Efficient Rematerialization for
Deep Networks", NeurIPS 2019, for the setting; the order of choice is that of cache replacement.

A run of instructions that compute values again becomes one `Checkpointed` op that waits for the
value that was computed last before it.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from tenferro.compiler.schedule import Schedule
from tenferro.ir import ExecInstruction, ExecProgram, TensorMeta, renumber
from tenferro.ops.control_flow import Checkpointed

_MOST_AGAIN = 4096
"""The most instructions that are run again for one value."""


class Cones:
    """What must be computed again for a value, at a moment in a schedule that runs as written.

    Attributes:
        schedule: the schedule.
        work: about how many operations each instruction takes.
        maker: by slot, the instruction that computes it.
        dropped: the buffers that are dropped.
        gone: the slots that were read from them.
    """

    def __init__(self, schedule: Schedule, work: Sequence[int]) -> None:
        self.schedule = schedule
        self.work = work
        self.steps = schedule.program.instructions
        self.maker = {
            slot: number for number, step in enumerate(self.steps) for slot in step.output_slots
        }
        self.dropped: set[int] = set()
        self.gone: set[int] = set()
        self._slots: dict[int, list[int]] = {}
        self._since: dict[int, int] = {}
        self._until: dict[int, int] = {}
        for slot in self.maker:
            self._find_times(slot)

    def _find_times(self, slot: int) -> None:
        """Find after which moment a value can be read, and until when."""
        schedule, since, until = self.schedule, -1, len(self.steps)
        for buffer in schedule.buffers(slot):
            self._slots.setdefault(buffer, []).append(slot)
            if buffer not in schedule.arguments:
                since = max(since, schedule.made[buffer])
                if buffer not in schedule.results:
                    until = min(until, schedule.last_read(buffer))
        self._since[slot], self._until[slot] = since, until

    def drop(self, buffer: int) -> None:
        """Drop a buffer."""
        self.dropped.add(buffer)
        self.gone.update(self._slots[buffer])

    def is_there(self, slot: int, moment: int) -> bool:
        """Whether a value can be read at a moment."""
        return self._since[slot] < moment <= self._until[slot] and slot not in self.gone

    def of(self, slot: int, moment: int) -> list[int] | None:
        """The instructions to run again for a value, in order; None if they are too many."""
        maker, since, until, gone = self.maker, self._since, self._until, self.gone
        found: set[int] = set()
        stack = [slot]
        while stack:
            number = maker[stack.pop()]
            if number in found:
                continue
            if len(found) == _MOST_AGAIN:
                return None
            found.add(number)
            stack += [
                operand
                for operand in self.steps[number].input_slots
                if operand in maker
                and not (since[operand] < moment <= until[operand] and operand not in gone)
            ]
        return sorted(found)

    def cost(self, numbers: Sequence[int]) -> int:
        """About how many operations some instructions take, and one for each of them."""
        return len(numbers) + sum(self.work[number] for number in numbers)


def drop_at(cones: Cones, moment: int, excess: int) -> None:
    """Drop buffers so that `excess` bytes fewer are alive at a moment; as many as can be."""
    schedule = cones.schedule
    heap: list[tuple[float, int, int]] = []
    for buffer, following in _idle(schedule, moment, cones.steps).items():
        score = _score(cones, buffer, moment, following)
        if score:
            heap.append((-score, buffer, following))
    heapq.heapify(heap)
    while heap and excess > 0:
        negative, buffer, following = heapq.heappop(heap)
        score = _score(cones, buffer, moment, following)
        if not score:
            continue
        if heap and -score > heap[0][0] and -score > negative:
            heapq.heappush(heap, (-score, buffer, following))
            continue
        cones.drop(buffer)
        excess -= schedule.bytes[buffer]


def _idle(schedule: Schedule, moment: int, steps: Sequence[ExecInstruction]) -> dict[int, int]:
    """The buffers that are alive and not read at a moment, with the moment when they are read."""
    idle: dict[int, int] = {}
    for buffer in schedule.alive(moment):
        reads = schedule.reads.get(buffer, [])
        place = bisect.bisect_left(reads, moment)
        if buffer in schedule.results or schedule.made[buffer] >= moment:
            continue
        if place < len(reads) and reads[place] > moment and schedule.bytes[buffer]:
            idle[buffer] = reads[place]
    return idle


def _score(cones: Cones, buffer: int, moment: int, following: int) -> float:
    """How much dropping a buffer is worth; 0 if it cannot be computed again."""
    schedule = cones.schedule
    numbers = cones.of(buffer, following)
    if numbers is None:
        return 0.0
    reads = schedule.reads[buffer]
    place = bisect.bisect_left(reads, moment)
    since = reads[place - 1] if place else schedule.made[buffer]
    return schedule.bytes[buffer] * (following - since) / cones.cost(numbers)


# The program in which dropped values are computed again, before they are read next.


@dataclass(frozen=True, slots=True)
class Marked:
    """A program, and which of its instructions compute again what was computed before.

    Attributes:
        program: the program, to be run as it is written.
        again: for each instruction whether it does so.
    """

    program: ExecProgram
    again: Sequence[bool]

    def without_dead(self) -> Marked:
        """The program without instructions that nothing reads."""
        alive = set(self.program.output_slots)
        alive_steps: list[tuple[ExecInstruction, bool]] = []
        steps = zip(reversed(self.program.instructions), reversed(self.again), strict=True)
        for step, again in steps:
            if not alive.isdisjoint(step.output_slots):
                alive.update(step.input_slots)
                alive_steps.append((step, again))
        alive_steps.reverse()
        program = replace(self.program, instructions=tuple([step for step, _ in alive_steps]))
        return Marked(program, [again for _, again in alive_steps])


def computed_again(marked: Marked, cones: Cones, moment: int) -> Marked:
    """The program in which buffers are dropped at a moment, and computed again where read next."""
    return _Writer(marked, cones).written(moment)


class _Writer:
    """Writes the instructions after a moment anew."""

    def __init__(self, marked: Marked, cones: Cones) -> None:
        self._marked = marked
        self._cones = cones
        self._now: dict[int, int] = {}  # where values that are computed again are
        self._count = marked.program.n_slots
        self._steps: list[ExecInstruction] = []
        self._again: list[bool] = []

    def written(self, moment: int) -> Marked:
        """The program."""
        program, flags = self._marked.program, self._marked.again
        self._steps += program.instructions[: moment + 1]
        self._again += flags[: moment + 1]
        for number in range(moment + 1, len(program.instructions)):
            step = program.instructions[number]
            for slot in step.input_slots:
                made = self._cones.maker.get(slot, len(flags))
                if slot not in self._now and made <= moment and slot in self._cones.gone:
                    self._compute(slot, number)
            self._add(step, step.output_slots, flags[number])
        outputs = tuple([self._now.get(slot, slot) for slot in program.output_slots])
        changed = replace(
            program,
            instructions=tuple(self._steps),
            output_slots=outputs,
            n_slots=self._count,
        )
        return Marked(changed, self._again).without_dead()

    def _compute(self, slot: int, number: int) -> None:
        """Compute a value again, before an instruction."""
        steps = self._marked.program.instructions
        for each in self._needed(slot, number):
            step = steps[each]
            fresh = tuple(range(self._count, self._count + len(step.output_slots)))
            self._count += len(fresh)
            self._add(step, fresh, True)
            self._now.update(zip(step.output_slots, fresh, strict=True))

    def _needed(self, slot: int, moment: int) -> list[int]:
        """The instructions that compute a value from what is there, in order."""
        cones, found, stack = self._cones, set[int](), [slot]
        steps = self._marked.program.instructions
        while stack:
            number = cones.maker[stack.pop()]
            if number in found:
                continue
            found.add(number)
            stack += [
                operand
                for operand in steps[number].input_slots
                if operand in cones.maker
                and operand not in self._now
                and not cones.is_there(operand, moment)
            ]
        return sorted(found)

    def _add(self, step: ExecInstruction, outputs: tuple[int, ...], again: bool) -> None:
        inputs = tuple([self._now.get(slot, slot) for slot in step.input_slots])
        self._steps.append(
            ExecInstruction(step.op, inputs, outputs, step.output_metas, (), step.site)
        )
        self._again.append(again)


# What is computed again, as ops that wait: no pass and no compiler merges it with the first run.

_TERMS = 4
"""The largest number of buffers of which one elementwise result is computed."""


def with_late_ops(marked: Marked, fused: Container[int]) -> ExecProgram:
    """The program, in which runs of instructions that compute values again are late ops.

    `fused` are the slots that are computed where they are read, and so inside of the op and outside
    of it. They take no memory, and are no operands or results of late ops.
    """
    return _DynamicWriter(marked, fused).written()


class _DynamicWriter:
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
