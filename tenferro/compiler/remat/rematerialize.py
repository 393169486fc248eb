"""Rematerialize: a program that keeps a memory limit."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from tenferro.compiler.memory_limit import MemoryLimit, in_words
from tenferro.compiler.passing import Needs, Pass
from tenferro.compiler.remat.again import Marked, computed_again
from tenferro.compiler.remat.choice import Cones, dropped_at
from tenferro.compiler.remat.late import stored, with_late_ops
from tenferro.compiler.remat.order import economical
from tenferro.compiler.target.memory import schedule_of
from tenferro.compiler.target.schedule import COMPILED, Runs, Schedule
from tenferro.errors import MemoryLimitError
from tenferro.exec_ir import ExecProgram

_ROUNDS = 64
"""The most peaks that are lowered one after another."""
_PATIENCE = 8
"""How many peaks are lowered in vain."""
_MOST_WORK = 6
"""How many times the operations are given up on."""
_VAIN = 3
"""How many lower goals are aimed at in vain, where a result needs more than was aimed at."""


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

    name = "rematerialize"
    needs = Needs.CONSTANT_EXTENTS
    enters_bodies = False
    refuses = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program within the limit."""
        self._require_sizes(program)
        before = schedule_of(program, self.runs)
        need = _peak(before)
        if need <= self.limit.bytes:
            return program
        ordered = self._ordered(program, before)
        least = need
        goal, vain = self.limit.bytes, 0
        while vain < _VAIN:
            found = with_late_ops(*self._lowered(ordered, goal))
            reached = _peak(schedule_of(found, self.runs))
            if reached <= self.limit.bytes:
                return found
            vain = 0 if reached < least else vain + 1
            least = min(least, reached)
            goal = int(goal * max(0.8, min(0.96, self.limit.bytes / reached)))
        raise self._refusal(program, before, least)

    def _require_sizes(self, program: ExecProgram) -> None:
        """Raise MemoryLimitError if a size is not known."""
        for step, meta in program.results():
            if meta.static_shape is None:
                raise MemoryLimitError(
                    f"{self.limit.caller}: memory_limit= needs known sizes, but {step.op.name} "
                    f"gives {meta}; bind the sizes, or leave the limit out",
                    0,
                    self.limit.bytes,
                )

    def _ordered(self, program: ExecProgram, schedule: Schedule) -> ExecProgram:
        """The program in the order in which it runs, or in a better one if it runs as written."""
        if not self.runs.as_written:
            kept = stored(_in_order(program, schedule), schedule)
            return _in_order(kept, schedule_of(kept, self.runs))
        other = economical(program, schedule)
        return min(program, other, key=lambda each: _peak(schedule_of(each, self.runs)))

    def _lowered(self, program: ExecProgram, goal: int) -> tuple[Marked, Container[int]]:
        """The program whose peak is at most `goal`, run as it is written; or as low as found.

        Also the slots that are computed where they are read.
        """
        marked = Marked(program, [False] * len(program.instructions))
        runs, since = replace(self.runs, as_written=True), 0
        best = marked, schedule_of(program, runs)
        most = _MOST_WORK * (program.work() + 1)
        for _ in range(_ROUNDS):
            schedule = schedule_of(marked.program, runs)
            since += 1
            if schedule.highest < best[1].highest:
                best, since = (marked, schedule), 0
            work = marked.program.work_of()
            if schedule.highest <= goal or since == _PATIENCE or sum(work) > most:
                break
            cones = Cones(schedule, work)
            moment = schedule.peak
            dropped = dropped_at(cones, moment, schedule.highest - goal)
            if not dropped:
                break
            marked = computed_again(marked, cones, moment, dropped)
        return best[0], best[1].fused

    def _refusal(self, program: ExecProgram, schedule: Schedule, least: int) -> MemoryLimitError:
        """The error for a program that does not fit."""
        moment = schedule.peak
        site = program.instructions[schedule.order[moment]].site
        alive = schedule.alive(moment)
        largest = max(alive, key=lambda slot: schedule.bytes[slot])
        maker = program.makers()[largest]
        meta = maker.output_metas[maker.output_slots.index(largest)]
        need = _peak(schedule)
        place = "" if site is None else f" at {site}"
        return MemoryLimitError(
            f"{self.limit.caller}: needs {in_words(need)}{place} (largest: {maker.op.name} {meta}, "
            f"{len(alive)} alive), the limit is {in_words(self.limit.bytes)}; the least found is "
            f"{in_words(least)}",
            need,
            self.limit.bytes,
        )


def _peak(schedule: Schedule) -> int:
    """The bytes of the results and of intermediate values at the peak."""
    return max(schedule.highest, schedule.output_bytes)


def _in_order(program: ExecProgram, schedule: Schedule) -> ExecProgram:
    """The program, written in the order in which it runs."""
    steps = [program.instructions[number] for number in schedule.order]
    return replace(program, instructions=tuple(steps))
