"""Where a program needs most bytes, in words; also inside of the ops that hold programs."""

from __future__ import annotations

from typing import cast

from tenferro.compiler.memory_limit import in_words
from tenferro.compiler.target.memory import schedule_of
from tenferro.compiler.target.schedule import Runs, Schedule
from tenferro.exec_ir import ExecInstruction, ExecProgram


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
