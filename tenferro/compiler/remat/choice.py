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
from collections.abc import Collection, Sequence

from tenferro.compiler.target.schedule import Schedule
from tenferro.exec_ir import ExecInstruction

_MOST_AGAIN = 4096
"""The most instructions that are run again for one value."""


class Cones:
    """What must be computed again for a value, at a moment in a schedule that runs as written.

    Attributes:
        schedule: the schedule.
        work: about how many operations each instruction takes.
    """

    def __init__(self, schedule: Schedule, work: Sequence[int]) -> None:
        self.schedule = schedule
        self.work = work
        self.steps = schedule.program.instructions
        self.maker = {
            slot: number for number, step in enumerate(self.steps) for slot in step.output_slots
        }

    def is_there(self, slot: int, moment: int, dropped: Collection[int]) -> bool:
        """Whether a value can be read at a moment, if some buffers are dropped."""
        schedule = self.schedule
        return all(
            buffer in schedule.arguments
            or (
                buffer not in dropped
                and schedule.made[buffer] < moment
                and (buffer in schedule.results or schedule.last_read(buffer) >= moment)
            )
            for buffer in schedule.buffers(slot)
        )

    def of(self, slot: int, moment: int, dropped: Collection[int]) -> list[int] | None:
        """The instructions to run again for a value, in order; None if they are too many."""
        found: set[int] = set()
        stack = [slot]
        while stack:
            number = self.maker[stack.pop()]
            if number in found:
                continue
            if len(found) == _MOST_AGAIN:
                return None
            found.add(number)
            stack += [
                operand
                for operand in self.steps[number].input_slots
                if operand in self.maker and not self.is_there(operand, moment, dropped)
            ]
        return sorted(found)

    def cost(self, numbers: Sequence[int]) -> int:
        """About how many operations some instructions take, and one for each of them."""
        return len(numbers) + sum(self.work[number] for number in numbers)


def dropped_at(cones: Cones, moment: int, excess: int) -> set[int]:
    """The buffers to drop so that `excess` bytes fewer are alive at a moment; as many as can be."""
    schedule, dropped = cones.schedule, set[int]()
    heap: list[tuple[float, int, int]] = []
    for buffer, following in _idle(schedule, moment, cones.steps).items():
        score = _score(cones, buffer, moment, following, dropped)
        if score:
            heap.append((-score, buffer, following))
    heapq.heapify(heap)
    while heap and excess > 0:
        negative, buffer, following = heapq.heappop(heap)
        score = _score(cones, buffer, moment, following, dropped)
        if not score:
            continue
        if heap and -score > heap[0][0] and -score > negative:
            heapq.heappush(heap, (-score, buffer, following))
            continue
        dropped.add(buffer)
        excess -= schedule.bytes[buffer]
    return dropped


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


def _score(
    cones: Cones, buffer: int, moment: int, following: int, dropped: Collection[int]
) -> float:
    """How much dropping a buffer is worth; 0 if it cannot be computed again."""
    schedule = cones.schedule
    numbers = cones.of(buffer, following, dropped)
    if numbers is None:
        return 0.0
    reads = schedule.reads[buffer]
    place = bisect.bisect_left(reads, moment)
    since = reads[place - 1] if place else schedule.made[buffer]
    return schedule.bytes[buffer] * (following - since) / cones.cost(numbers)
