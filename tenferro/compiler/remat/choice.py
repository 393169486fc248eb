"""Which values are dropped at a moment when too many bytes are alive.

A value that is alive, and not read at that moment, may be computed again before it is read next.
Those are dropped first that free most bytes for the longest time, for what it costs to compute
them again. What one of them costs grows as values are dropped that it is computed from: so the
values that are kept lie at about equal distances, like the checkpoints of a chain.

Source: R. Kumar, M. Purohit, Z. Svitkina, E. Vee and J. R. Wang, "Efficient Rematerialization for
Deep Networks", NeurIPS 2019, for the setting; the order of choice is that of cache replacement.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Sequence

from tenferro.compiler.target.schedule import Schedule
from tenferro.exec_ir import ExecInstruction

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
    found: dict[int, int] = {}
    for buffer in schedule.alive(moment):
        reads = schedule.reads.get(buffer, [])
        place = bisect.bisect_left(reads, moment)
        if buffer in schedule.results or schedule.made[buffer] >= moment:
            continue
        if place < len(reads) and reads[place] > moment and schedule.bytes[buffer]:
            found[buffer] = reads[place]
    return found


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
