"""Reports for users: memory, what is recomputed, loops and branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tenferro.compiler.memory import MemoryLimit, in_words, inside_in_words, schedule_of
from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.compiler.reroll.reroll import ROLLED
from tenferro.compiler.schedule import COMPILED, Runs, Schedule, size_of
from tenferro.ir import ExecInstruction, ExecProgram
from tenferro.ops import Select
from tenferro.ops.control_flow import BRANCHES_RUN, Checkpointed, ControlOp

__all__ = ["JACOBIAN", "MemoryReport", "memory_report", "structure"]


# What a program needs of memory, where, and what it computes again; for users to read.

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
    pinned: PartitionedAxes | None = None,
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


# What a program has of loops and branches, line by line, for reports.

JACOBIAN = "jacobian: "
"""What the site of a product of Jacobians begins with; how they are computed follows."""

MOST_LINES = 16
"""The largest number of lines."""


def structure(program: ExecProgram) -> tuple[str, ...]:
    """A line for each loop and branch, those in a body indented below it; the first ones only.

    It says which loops were rolled, where `vmap` made a choice a selection among the results of
    all branches, and by which passes a Jacobian is computed.

    >>> from tenferro.compiler import parse
    >>> body = "body(%0: f64[], %1: f64[]) { \\n %2: f64[] = add %0, %1 \\n return %2 \\n }"
    >>> loop = "%1: f64[] = scan[consts=0, carry=1, length=5] %0, %2"
    >>> start = "exec_program(%0: f64[], %2: f64[5])"
    >>> structure(parse(f"{start} {{ \\n {loop} {{ \\n {body} \\n }} \\n return %1 \\n }}"))
    ('scan: 5 rounds of 1 instruction',)
    """
    lines: list[str] = []
    told: set[str] = set()
    for step, depth in _steps(program):
        line = _line(step)
        if line is None or (line in told and not isinstance(step.op, ControlOp)):
            continue  # one choice selects each of its results; a Jacobian may have several blocks
        told.add(line)
        if len(lines) == MOST_LINES:
            return (*lines, "...")
        lines.append("  " * depth + line)
    return tuple(lines)


def _steps(program: ExecProgram) -> Iterator[tuple[ExecInstruction, int]]:
    """All instructions, each before those of its bodies, and how deep they stand.

    Bodies that several ops hold come once.
    """
    seen: set[int] = set()
    stack = [(iter(program.instructions), 0)]
    while stack:
        steps, depth = stack[-1]
        step = next(steps, None)
        if step is None:
            stack.pop()
            continue
        yield step, depth
        bodies = [cast(ExecProgram, body) for body in step.op.bodies.values()]
        for body in reversed(bodies if isinstance(step.op, ControlOp) else []):
            if id(body) not in seen:
                seen.add(id(body))
                stack.append((iter(body.instructions), depth + 1))


def _line(step: ExecInstruction) -> str | None:
    """What a report says of an instruction; None for nothing."""
    op, site = step.op, step.site or ""
    if site.startswith(JACOBIAN):
        return site
    if BRANCHES_RUN in site:
        return site if type(op) is Select else None
    if not isinstance(op, ControlOp):
        return None
    if site.startswith(ROLLED):
        return site
    return f"{op.in_words()} at {site}" if site else op.in_words()
