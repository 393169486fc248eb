"""Slots in one canonical numbering, and the marks of last uses."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, with_last_use


@dataclass(frozen=True)
class Numbering(Pass):
    """Numbers slots in the order in which they are written, without gaps, and marks last uses.

    Passes keep the numbers of what they do not touch; this comes after them.
    """

    name = "numbering"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program, numbered and marked; itself if it is so already."""
        marked = with_last_use(renumber(program))
        return program if _is_same(marked, program) else marked


def _is_same(one: ExecProgram, other: ExecProgram) -> bool:
    """Whether the programs have the very same instructions."""
    pairs = zip(one.instructions, other.instructions, strict=True)
    return all(left is right for left, right in pairs)


def renumber(program: ExecProgram) -> ExecProgram:
    """The program with its slots numbered in the order in which they are written, without gaps.

    It is the program itself where they are numbered so already.
    """
    order = list(program.input_slots)
    for step in program.instructions:
        order.extend(step.output_slots)
    if order == list(range(program.n_slots)):
        return program
    number = {slot: position for position, slot in enumerate(order)}
    return ExecProgram(
        tuple(
            [
                ExecInstruction(
                    step.op,
                    tuple([number[slot] for slot in step.input_slots]),
                    tuple([number[slot] for slot in step.output_slots]),
                    step.output_metas,
                    step.last_use,
                    step.site,
                )
                for step in program.instructions
            ]
        ),
        tuple([number[slot] for slot in program.input_slots]),
        program.input_metas,
        tuple([number[slot] for slot in program.output_slots]),
        len(order),
    )
