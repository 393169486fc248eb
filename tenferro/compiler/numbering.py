"""Slots in one canonical numbering, and the marks of last uses."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, last_uses, with_last_use


@dataclass(frozen=True)
class Numbering(Pass):
    """Numbers slots in the order in which they are written, without gaps, and marks last uses.

    Passes keep the numbers of values that they do not rewrite; this pass runs after them.
    """

    name = "numbering"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program, numbered and marked; itself if it already is."""
        number = _numbers(program)
        return (
            with_last_use(program) if number is None else _renumbered(program, number, marked=True)
        )


def renumber(program: ExecProgram) -> ExecProgram:
    """The program with its slots numbered in the order in which they are written, without gaps.

    It is the program itself where they are numbered so already.
    """
    number = _numbers(program)
    return program if number is None else _renumbered(program, number, marked=False)


def _numbers(program: ExecProgram) -> list[int] | None:
    """The new number of each slot; None if no slot gets another number."""
    order = program.written_slots()
    if order == list(range(program.n_slots)):
        return None
    number = [0] * program.n_slots
    for position, slot in enumerate(order):
        number[slot] = position
    return number


def _renumbered(program: ExecProgram, number: list[int], marked: bool) -> ExecProgram:
    """The program with other numbers, and with its last uses marked if `marked`, in one walk."""
    steps = program.instructions
    marks = last_uses(program) if marked else [step.last_use for step in steps]
    return ExecProgram(
        tuple(
            [
                ExecInstruction(
                    step.op,
                    tuple([number[slot] for slot in step.input_slots]),
                    tuple([number[slot] for slot in step.output_slots]),
                    step.output_metas,
                    mark,
                    step.site,
                )
                for step, mark in zip(steps, marks, strict=True)
            ]
        ),
        tuple([number[slot] for slot in program.input_slots]),
        program.input_metas,
        tuple([number[slot] for slot in program.output_slots]),
        len(program.input_slots) + sum([len(step.output_slots) for step in steps]),
    )
