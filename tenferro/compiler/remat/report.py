"""What a program needs of memory, where, and what it computes again; for users to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from tenferro.compiler.memory_limit import MemoryLimit, in_words
from tenferro.compiler.remat.peak import inside_in_words
from tenferro.compiler.target.memory import schedule_of
from tenferro.compiler.target.pinned import Pinned
from tenferro.compiler.target.schedule import COMPILED, Runs, Schedule, size_of
from tenferro.control import Checkpointed, ControlOp
from tenferro.exec_ir import ExecInstruction, ExecProgram

_LARGEST = 10
_DIVIDED = "where what is not known to be divided counts as whole:"


@dataclass(frozen=True, slots=True)
class AliveValue:
    """A value that is alive at the peak.

    Attributes:
        op: the op that makes it.
        type: its type.
        bytes: its size.
        site: the user's line, if it is known.
    """

    op: str
    type: str
    bytes: int
    site: str | None

    def __str__(self) -> str:
        place = "" if self.site is None else f"  {self.site}"
        return f"{in_words(self.bytes):>10}  {self.op} {self.type}{place}"


@dataclass(frozen=True, slots=True)
class ComputedAgain:
    """Instructions that run again, at one place.

    Attributes:
        instructions: how many.
        bytes: the size of what they give.
        work: about how many operations they take.
        site: the user's line, if it is known.
    """

    instructions: int
    bytes: int
    work: int
    site: str | None

    def __str__(self) -> str:
        count = f"{self.instructions} instruction{'' if self.instructions == 1 else 's'}"
        place = "" if self.site is None else f" at {self.site}"
        return f"{count}{place}: {in_words(self.bytes)}, {self.work:.3g} operations"


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What `memory` returns; print it.

    Attributes:
        peak: the most bytes that results and intermediate values take at once, as predicted.
        arguments: the bytes of the arguments, which are not part of the peak.
        outputs: the bytes of the results.
        at: the user's line at the peak, if it is known.
        inside: what needs memory at the peak in a program inside of an op, in words, if one runs.
        largest: the largest values that are alive at the peak, at most ten.
        alive: how many values are alive there.
        again: what is computed again.
        work: about how many operations a run takes, with what is computed again.
        limit: the limit that the program keeps, if there is one.
        devices: how many devices run the program; all figures but `again` and `work` are of one.
    """

    peak: int
    arguments: int
    outputs: int
    at: str | None
    inside: str | None
    largest: tuple[AliveValue, ...]
    alive: int
    again: tuple[ComputedAgain, ...]
    work: int
    limit: MemoryLimit | None
    devices: int = 1

    @property
    def temporaries(self) -> int:
        """The bytes of intermediate values at the peak."""
        return self.peak - self.outputs

    @property
    def work_factor(self) -> float:
        """How many times the operations of a program that computes nothing again."""
        repeated = sum(each.work for each in self.again)
        return self.work / max(self.work - repeated, 1)

    def __str__(self) -> str:
        place = "" if self.at is None else f" at {self.at}"
        limit = "" if self.limit is None else f", the limit is {in_words(self.limit.bytes)}"
        lines = [
            *([] if self.devices == 1 else [f"on each of {self.devices} devices, {_DIVIDED}"]),
            f"peak {in_words(self.peak)}{place}{limit}; results {in_words(self.outputs)}, "
            f"arguments {in_words(self.arguments)} more",
            f"alive there: {self.alive}" + (", the largest:" if self.largest else ""),
            *(f"  {value}" for value in self.largest),
            *([] if self.inside is None else [self.inside]),
        ]
        if not self.again:
            return "\n".join([*lines, "computed again: nothing"])
        lines.append(f"computed again, {self.work_factor:.2f} times the operations in all:")
        lines += [f"  {each}" for each in self.again[:_LARGEST]]
        if len(self.again) > _LARGEST:
            lines.append(f"  and {len(self.again) - _LARGEST} more")
        return "\n".join(lines)


def memory_report(
    program: ExecProgram,
    runs: Runs = COMPILED,
    limit: MemoryLimit | None = None,
    pinned: Pinned | None = None,
    devices: int = 1,
) -> MemoryReport:
    """The report of a program of known sizes, after all passes.

    Args:
        program: the program.
        runs: how its executor runs it.
        limit: the limit that it keeps.
        pinned: its axes that are divided among devices.
        devices: how many there are.

    >>> from tenferro.compiler import parse
    >>> text = "exec_program(%0: f64[2]) { \\n %1: f64[2] = sine %0 \\n return %1 \\n }"
    >>> print(memory_report(parse(text)))
    peak 16 bytes; results 16 bytes, arguments 16 bytes more
    alive there: 1, the largest:
        16 bytes  sine f64[2]
    computed again: nothing
    """
    schedule = schedule_of(program, runs, pinned=pinned)
    makers = program.makers()
    alive = sorted(
        (slot for slot in _alive_at_peak(schedule) if slot in makers),
        key=lambda slot: (-schedule.bytes[slot], slot),
    )
    site = None
    if schedule.profile:
        site = program.instructions[schedule.order[schedule.peak]].site
    return MemoryReport(
        schedule.need,
        schedule.argument_bytes,
        schedule.output_bytes,
        site,
        inside_in_words(schedule, runs),
        tuple(_value(makers[slot], slot, schedule) for slot in alive[:_LARGEST]),
        len(alive),
        tuple(_again(program)),
        program.work(),
        limit,
        devices,
    )


def _alive_at_peak(schedule: Schedule) -> Sequence[int]:
    return schedule.alive(schedule.peak) if schedule.profile else ()


def _value(step: ExecInstruction, slot: int, schedule: Schedule) -> AliveValue:
    return AliveValue(step.op.name, str(schedule.metas[slot]), schedule.bytes[slot], step.site)


def _again(program: ExecProgram, times: int = 1) -> list[ComputedAgain]:
    """What late ops compute before they need what they wait for, in programs inside of ops too.

    The program runs so many times.
    """
    found: list[ComputedAgain] = []
    for step in program.instructions:
        op = step.op
        if not isinstance(op, ControlOp):
            continue
        if isinstance(op, Checkpointed) and op.late:
            repeated, rest = _split(op.body)
            found.append(_repeated(step, repeated, times))
            found += _again(rest, times)
            continue
        rounds = op.rounds if op.is_loop else 1
        for body in op.bodies.values():
            found += _again(cast(ExecProgram, body), times * rounds)
    return found


def _split(body: ExecProgram) -> tuple[ExecProgram, ExecProgram]:
    """The instructions of a late op that do not depend on what it waits for, and those that do."""
    waiting = {body.input_slots[-1]}
    parts: tuple[list[ExecInstruction], list[ExecInstruction]] = ([], [])
    for step in body.instructions:
        waits = not waiting.isdisjoint(step.input_slots)
        waiting.update(step.output_slots if waits else ())
        parts[waits].append(step)
    first, second = (replace(body, instructions=tuple(part)) for part in parts)
    return first, second


def _repeated(step: ExecInstruction, repeated: ExecProgram, times: int) -> ComputedAgain:
    """What a late op computes again."""
    count = sum(not inner.op.source for inner in repeated.instructions)
    size = sum(map(size_of, step.output_metas))
    return ComputedAgain(count, size, times * repeated.work(), step.site)
