"""Memory: what a program needs, where its peak is, and the limits that users set.

The limit of a program, `memory_limit=`, is the most bytes that it may need besides its arguments.
It goes this way:

1. `tn.jit`, `tn.grad`, `tn.einsum`, `OptimizerOptions` and all others that take it read it by
   `MemoryLimit.read`. Files of programs hold it (`serialization.programs`).
2. A function that is traced hands its limit to the trace around it (`runtime.trace_context`), and
   bodies of loops and branches theirs (`transforms.higher_order`). The smallest, `tighter`, is part
   of the options of the program (`OptimizerOptions.limited`).
3. Before there is a program, two plan by it. `transforms.jacobian_call` computes a Jacobian by
   batches of as many unit vectors as are predicted to fit. `network.memory_limit` slices a network
   so that it fits, or refuses it; where sizes are named, `network.planner.check_memory` refuses it
   once they are known.
4. On a device it becomes a number of bytes: `MemoryLimit.known`, by `OptimizerOptions.on_device`.
5. `pipeline.optimize_resolved` compares it with the prediction, `memory_report`. If the program
   needs more, `device.rematerialize` searches for one that computes values again and needs less.
6. If the program that XLA compiled needs more than was predicted, `MemoryLimit.searched` aims lower
   (`tenferro_xla.compiled.cache`).
7. What does not fit is refused with a `MemoryLimitError`: `MemoryLimit.refusal`.

The limit of a value, `config.max_bytes` or `max_bytes=` of an executor, is the most bytes of each
value of a program. `ir.verifier.check_budget` compares the values of a program with it,
`check_size` one type; a larger one is an `ExtentError`. These ask them:

* executors, before a program is compiled and after passes have changed it
  (`tenferro_xla.compiled.stablehlo`, `tenferro_xla.compiled.cache`), or before it runs and, where
  data decide sizes, at each op (`runtime.native_executor`); `tenferro_xla.interop.export` for
  artifacts;
* functions that are not compiled: `runtime.plans`, `transforms.eager_plan`, new arrays
  (`transforms.traced_tensor`) and arrays of indices (`numpy.arguments`).

Two others compare with the number themselves: `transforms.jacobian_call.check_sizes` the result of
a Jacobian, and `transforms.tiered_jit` the predicted peak, above which NumPy does not answer first.

XLA on the CPU runs an instruction as soon as its operands are computed, in the order in which they
become ready. So values of independent parts of a program are alive at the same time. It also makes
a copy for each transposition that no product absorbs. The prediction schedules the program in that
order and adds up the values that are alive. The ops state whether a compiler computes them where
they are read (`ExecOp.inlined`, `ExecOp.streams`) and whether their result shares the memory of
their operand (`ExecOp.view`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

import numpy as np

from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.compiler.schedule import COMPILED, Runs, Schedule, size_of
from tenferro.errors import ConfigError, MemoryLimitError
from tenferro.ir import ExecInstruction, ExecProgram
from tenferro.ops.control_flow import Checkpointed, ControlOp

__all__ = [
    "MemoryLimit",
    "MemoryNeed",
    "MemoryReport",
    "in_words",
    "memory_report",
    "predict_memory",
    "tighter",
]


T = TypeVar("T")

# A limit on memory: read, compared, refused.

_UNITS = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip
OF_DEVICE = "device"
"""What users write for as much as the device has free."""
_BOUNDLESS = 1 << 62
_TOLERANCE = 1.2
"""How many times a limit an executable may need, as its compiler tells."""
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Z]*)\s*")


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The most bytes that a program may need in addition to its arguments, as predicted.

    Attributes:
        bytes: the number of bytes.
        caller: what the user gave it to; errors name it.
        of_device: whether it is also what the device has free when the program is compiled.
    """

    bytes: int
    caller: str = field(default="jit", compare=False)
    of_device: bool = False

    @classmethod
    def read(cls, caller: str, value: object) -> MemoryLimit | None:
        """The limit that a user passes: a number of bytes, a text such as `"1.5 GB"`, or
        `"device"`.

        Raises:
            ConfigError: it is none of these, or not positive.

        >>> MemoryLimit.read("grad", "24 MB")
        MemoryLimit(bytes=24000000, caller='grad', of_device=False)
        """
        if value is None or isinstance(value, MemoryLimit):
            return value
        if isinstance(value, str) and value.strip().lower() == OF_DEVICE:
            return cls(_BOUNDLESS, caller, of_device=True)
        count = _bytes(value)
        if count is None:
            raise ConfigError(
                f"{caller}: memory_limit must be a number of bytes, a text such as '1.5 GB', or "
                f"'device', got {value!r}"
            )
        if not count >= 1:
            raise ConfigError(f"{caller}: memory_limit must be at least 1 byte, got {value!r}")
        return cls(int(count), caller)

    def known(self, free_bytes: Callable[[], int]) -> MemoryLimit:
        """The limit as a number of bytes, on a device that has `free_bytes()`.

        >>> MemoryLimit.read("jit", "device").known(lambda: 512).bytes
        512
        """
        if not self.of_device:
            return self
        return replace(self, bytes=min(self.bytes, free_bytes()), of_device=False)

    def refusal(self, why: str, needed: int, least: int | None = None) -> MemoryLimitError:
        """The error for a program that needs more; `least` is the fewest bytes that were found."""
        return MemoryLimitError(f"{self.caller}: {why}", needed, self.bytes, least)

    def searched(
        self, compile_within: Callable[[MemoryLimit], tuple[T, int | None]], compiler: str
    ) -> T:
        """A compiled program that needs at most a little more than the limit.

        `compile_within` compiles it within some limit, and returns also how many bytes it needs, if
        the compiler tells. Where these are more than was predicted, a lower limit is aimed at.

        Raises:
            MemoryLimitError: nothing was found that needs so few.
        """
        goal, least = self, None
        while True:
            try:
                compiled, used = compile_within(goal)
            except MemoryLimitError:
                if least is None:
                    raise
                raise self.refusal(
                    f"{compiler} needs {in_words(least)} for results and intermediate values, more "
                    f"than was predicted; the limit is {in_words(self.bytes)}, and no program was "
                    "found that needs less",
                    least,
                ) from None
            if used is None or used <= _TOLERANCE * self.bytes:
                return compiled
            least = used if least is None else min(least, used)
            goal = replace(goal, bytes=int(goal.bytes * min(0.9, self.bytes / used)))


def _bytes(value: object) -> float | None:
    """The number of bytes; None for what is no number."""
    if isinstance(value, str):
        match = _WRITTEN.fullmatch(value)
        factor = None if match is None else _UNITS.get(match[2].lower())
        return None if match is None or factor is None else float(match[1]) * factor
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    number = float(value) if np.isreal(value) else math.nan
    return None if math.isnan(number) or math.isinf(number) else number


def tighter(limits: Iterable[MemoryLimit | None]) -> MemoryLimit | None:
    """The smallest of several limits; None if there is none.

    >>> tighter([MemoryLimit(5), None, MemoryLimit(3)])
    MemoryLimit(bytes=3, caller='jit', of_device=False)
    """
    present = [limit for limit in limits if limit is not None]
    if not present:
        return None
    smallest = min(present, key=lambda limit: limit.bytes)
    return replace(smallest, of_device=any(limit.of_device for limit in present))


def in_words(count: float) -> str:
    """A number of bytes, as users read it.

    >>> in_words(31_200_000), in_words(999), in_words(1_500)
    ('31.2 MB', '999 bytes', '1.5 kB')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{int(count)} bytes"


# A prediction of the memory that a program needs, made before it is compiled.


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that one run needs.

    Attributes:
        arguments: of the operands, which belong to the caller.
        outputs: of the results.
        temporaries: of all other values, at the time when most bytes are alive.
    """

    arguments: int
    outputs: int
    temporaries: int

    @property
    def peak(self) -> int:
        """Outputs and temporaries: the bytes needed in addition to the operands."""
        return self.outputs + self.temporaries


def predict_memory(program: ExecProgram, runs: Runs = COMPILED) -> MemoryNeed:
    """The bytes that one run of a program of known sizes needs, by an executor that `runs` so.

    >>> from tenferro.compiler import parse
    >>> text = "exec_program(%0: f64[2,3]) { \\n %1: f64[3,2] = transpose[perm=(1, 0)] %0 \\n"
    >>> text += "%2: f64[3,3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %1, %0! \\n"
    >>> predict_memory(parse(text + "return %2 \\n }"))
    MemoryNeed(arguments=48, outputs=72, temporaries=48)
    """
    schedule = schedule_of(program, runs)
    outputs = schedule.output_bytes
    temporaries = max(schedule.highest - outputs, 0)
    return MemoryNeed(schedule.argument_bytes, outputs, temporaries)


PeaksById = dict[int, tuple[ExecProgram, int]]
"""The peaks of programs, by their ids. It holds the programs, so that the ids stay theirs."""


def schedule_of(
    program: ExecProgram,
    runs: Runs = COMPILED,
    known: PeaksById | None = None,
    pinned: PartitionedAxes | None = None,
) -> Schedule:
    """The schedule of a program, which knows the peaks of the programs inside its ops.

    Those that are `known` are not predicted again, and the others are added to them. Of axes that
    are `pinned`, one device has a part; values inside of ops count as whole.
    """
    known = {} if known is None else known
    for part in reversed(program.walk()):
        if part is not program and id(part) not in known:
            known[id(part)] = part, Schedule(part, known, runs).need
    return Schedule(program, known, runs, pinned)


# Where a program needs most bytes, in words; also inside of the ops that hold programs.


def peak_in_words(schedule: Schedule, runs: Runs) -> str:
    """The line of the peak and what is alive there; then the same of the program that runs there.

    It begins with a space, if the line is known.
    """
    text = _place(schedule)
    while (inner := _largest_inside(schedule)) is not None:
        step, label, body = inner
        schedule = schedule_of(body, runs)
        text += (
            f"; of these {in_words(schedule.need)} are in {label} of {step.op.name}"
            f"{_place(schedule)}"
        )
    return text


def _place(schedule: Schedule) -> str:
    """The user's line at the peak, and the largest of the values that are alive there."""
    if not schedule.profile:
        return ""
    step = _step(schedule)
    site = "" if step.site is None else f" at {step.site}"
    makers = schedule.program.makers()
    alive = [slot for slot in schedule.alive(schedule.peak) if slot in makers]
    if not alive:
        return site
    largest = max(alive, key=schedule.bytes.__getitem__)
    name, meta = makers[largest].op.name, schedule.metas[largest]
    return f"{site} (largest: {name} {meta}, {len(alive)} alive)"


def _step(schedule: Schedule) -> ExecInstruction:
    return schedule.program.instructions[schedule.order[schedule.peak]]


def _largest_inside(schedule: Schedule) -> tuple[ExecInstruction, str, ExecProgram] | None:
    """The op at the peak, and its inner program that needs most in addition to its results.

    None if there is no such program.
    """
    if not schedule.profile:
        return None
    step = _step(schedule)
    if not schedule.inside(step):
        return None
    label, body = max(step.op.bodies.items(), key=lambda item: schedule.peaks[id(item[1])][1])
    return step, label, cast(ExecProgram, body)


# The report: what a program needs, where, and what it computes again.

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
    site, alive = None, []
    if schedule.profile:
        site = _step(schedule).site
        alive = [slot for slot in schedule.alive(schedule.peak) if slot in makers]
        alive.sort(key=lambda slot: (-schedule.bytes[slot], slot))
    return MemoryReport(
        schedule.need,
        schedule.argument_bytes,
        schedule.output_bytes,
        site,
        peak_in_words(schedule, runs).partition("; ")[2] or None,
        tuple(
            AliveValue(
                makers[slot].op.name,
                str(schedule.metas[slot]),
                schedule.bytes[slot],
                makers[slot].site,
            )
            for slot in alive[:_LARGEST]
        ),
        len(alive),
        tuple(_again(program)),
        program.work(),
        limit,
        devices,
    )


def _again(program: ExecProgram, times: int = 1) -> list[ComputedAgain]:
    """What late ops compute before they need what they wait for, in programs inside of ops too.

    The program runs so many times.
    """
    again: list[ComputedAgain] = []
    for step in program.instructions:
        op = step.op
        if not isinstance(op, ControlOp):
            continue
        if isinstance(op, Checkpointed) and op.late:
            repeated, rest = _split(op.body)
            again.append(_repeated(step, repeated, times))
            again += _again(rest, times)
            continue
        iterations = op.iterations if op.is_loop else 1
        for body in op.bodies.values():
            again += _again(cast(ExecProgram, body), times * iterations)
    return again


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
    count = sum(not inner.op.source for inner in repeated.instructions)
    size = sum(map(size_of, step.output_metas))
    return ComputedAgain(count, size, times * repeated.work(), step.site)
