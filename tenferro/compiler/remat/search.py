"""The search for a program that needs fewer bytes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from tenferro.compiler.remat.again import Marked, computed_again
from tenferro.compiler.remat.choice import Cones, drop_at
from tenferro.compiler.remat.late import stored, with_late_ops
from tenferro.compiler.remat.order import economical
from tenferro.compiler.target.memory import Known, schedule_of
from tenferro.compiler.target.schedule import Runs, Schedule
from tenferro.exec_ir import ExecProgram

_ROUNDS = 64
"""The most peaks that are lowered one after another."""
_PATIENCE = 8
"""How many peaks are lowered in vain."""
_MOST_WORK = 6
"""How many times the operations are given up on."""
_VAIN = 3
"""How many lower goals are aimed at in vain, where a result needs more than was aimed at."""


@dataclass(frozen=True, slots=True)
class Found:
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
        found: by the id of a program inside of an op, what was found for it.
        origins: by the id of one that was found, the program for which it was looked for.
    """

    runs: Runs
    known: Known = field(default_factory=dict)
    as_written: Known = field(default_factory=dict)
    found: dict[int, list[Found]] = field(default_factory=dict)
    origins: dict[int, ExecProgram] = field(default_factory=dict)

    def lowest(self, program: ExecProgram, limit: int) -> Found:
        """The program within a limit, or that which needs least of those that were found."""
        before = self._schedule(program)
        found, least = program, before.need
        if least <= limit:
            return Found(found, least, limit)
        ordered, goal, vain = self._ordered(program, before), limit, 0
        while vain < _VAIN:
            other = with_late_ops(*self._lowered(ordered, goal))
            need = self._schedule(other).need
            vain = 0 if need < least else vain + 1
            found, least = (other, need) if need < least else (found, least)
            if least <= limit:
                break
            goal = int(goal * max(0.8, min(0.96, limit / need)))
        return Found(found, least, limit)

    def _schedule(self, program: ExecProgram) -> Schedule:
        return schedule_of(program, self.runs, self.known)

    def _ordered(self, program: ExecProgram, schedule: Schedule) -> ExecProgram:
        """The program in the order in which it runs, or in a better one if it runs as written."""
        if not self.runs.as_written:
            kept = stored(_in_order(program, schedule), schedule)
            return _in_order(kept, self._schedule(kept))
        other = economical(program, schedule)
        return min(program, other, key=lambda each: self._schedule(each).need)

    def _lowered(self, program: ExecProgram, goal: int) -> tuple[Marked, Container[int]]:
        """The program whose peak is at most `goal`, run as it is written; or as low as found.

        Also the slots that are computed where they are read.
        """
        marked = Marked(program, [False] * len(program.instructions))
        runs, since = replace(self.runs, as_written=True), 0
        best = marked, schedule_of(program, runs, self.as_written)
        most = _MOST_WORK * (program.work() + 1)
        for _ in range(_ROUNDS):
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
        held = {label: cast(ExecProgram, body) for label, body in step.op.bodies.items()}
        bodies = {label: self._body_within(body, goal) for label, body in held.items()}
        if all(bodies[label] is body for label, body in held.items()):
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
        before = self.found.setdefault(id(origin), [])
        fitting = [each for each in before if each.need <= goal]
        failed = [each for each in before if each.need > each.limit]
        if not fitting and not failed:
            found = self.lowest(origin, goal)
            before.append(found)
            self.origins[id(origin)] = origin  # kept, so that no other program gets its id
            self.origins[id(found.program)] = origin
            return found.program
        if fitting:
            return min(fitting, key=lambda each: each.program.work()).program
        return min(failed, key=lambda each: each.need).program


def _in_order(program: ExecProgram, schedule: Schedule) -> ExecProgram:
    """The program, written in the order in which it runs."""
    steps = [program.instructions[number] for number in schedule.order]
    return replace(program, instructions=tuple(steps))
