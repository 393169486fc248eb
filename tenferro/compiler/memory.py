"""`MemoryLimit`, the memory a program needs, and where its peak is.

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
from typing import cast

import numpy as np

from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.compiler.schedule import COMPILED, Runs, Schedule
from tenferro.errors import ConfigError
from tenferro.ir import ExecInstruction, ExecProgram

__all__ = ["MemoryLimit", "MemoryNeed", "in_words", "predict_memory", "tighter"]


# A limit on memory, as users write it.

_UNITS = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip
OF_DEVICE = "device"
"""What users write for as much as the device has free."""
_BOUNDLESS = 1 << 62
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


def _bytes(value: object) -> float | None:
    """The number of bytes; None for what is no number."""
    if isinstance(value, str):
        found = _WRITTEN.fullmatch(value)
        factor = None if found is None else _UNITS.get(found[2].lower())
        return None if found is None or factor is None else float(found[1]) * factor
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    number = float(value) if np.isreal(value) else math.nan
    return None if math.isnan(number) or math.isinf(number) else number


def tighter(limits: Iterable[MemoryLimit | None]) -> MemoryLimit | None:
    """The smallest of several limits; None if there is none.

    >>> tighter([MemoryLimit(5), None, MemoryLimit(3)])
    MemoryLimit(bytes=3, caller='jit', of_device=False)
    """
    given = [limit for limit in limits if limit is not None]
    if not given:
        return None
    smallest = min(given, key=lambda limit: limit.bytes)
    return replace(smallest, of_device=any(limit.of_device for limit in given))


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


Known = dict[int, tuple[ExecProgram, int]]
"""The peaks of programs, by their ids. It holds the programs, so that the ids stay theirs."""


def schedule_of(
    program: ExecProgram,
    runs: Runs = COMPILED,
    known: Known | None = None,
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
    while (held := _largest_inside(schedule)) is not None:
        step, label, body = held
        schedule = schedule_of(body, runs)
        text += (
            f"; of these {in_words(schedule.need)} are in {label} of {step.op.name}"
            f"{_place(schedule)}"
        )
    return text


def inside_in_words(schedule: Schedule, runs: Runs) -> str | None:
    """What `peak_in_words` says of programs inside; None if none runs at the peak."""
    _, _, inside = peak_in_words(schedule, runs).partition("; ")
    return inside or None


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
    """The op that runs at the peak, and the program inside it that needs most beside its results.

    None if there is no such program.
    """
    if not schedule.profile:
        return None
    step = _step(schedule)
    if not schedule.inside(step):
        return None
    label, body = max(step.op.bodies.items(), key=lambda item: schedule.peaks[id(item[1])][1])
    return step, label, cast(ExecProgram, body)
