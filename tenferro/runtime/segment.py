"""Cutting a program into runs of instructions that are dispatched together."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.exec_ir import Category, ExecInstruction, ExecProgram


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive instructions of one category. Only SESSION segments hold more than one."""

    category: Category
    instructions: tuple[ExecInstruction, ...]


def segment_exec_program(program: ExecProgram) -> tuple[Segment, ...]:
    """Maximal runs of session instructions, and single host and boundary ones, in order."""
    segments: list[Segment] = []
    run: list[ExecInstruction] = []
    for step in program.instructions:
        category = step.op.category
        if category is Category.SESSION:
            run.append(step)
            continue
        if run:
            segments.append(Segment(Category.SESSION, tuple(run)))
            run = []
        segments.append(Segment(category, (step,)))
    if run:
        segments.append(Segment(Category.SESSION, tuple(run)))
    return tuple(segments)
