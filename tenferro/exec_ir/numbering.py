"""Slots in one canonical numbering."""

from __future__ import annotations

from tenferro.exec_ir.instruction import ExecInstruction
from tenferro.exec_ir.program import ExecProgram, last_uses, with_last_use


def renumber(program: ExecProgram, marked: bool = False) -> ExecProgram:
    """The program with its slots numbered in the order in which they are written, without gaps.

    Its last uses are also marked if `marked`. It is the program itself where that is so already.
    """
    order = program.written_slots()
    if order == list(range(program.n_slots)):
        return with_last_use(program) if marked else program
    number = dict(zip(order, range(len(order)), strict=True))
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
        len(order),
    )
