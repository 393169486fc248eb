"""Slots in one canonical numbering."""

from __future__ import annotations

from tenferro.exec_ir import ExecInstruction, ExecProgram


def renumber(program: ExecProgram) -> ExecProgram:
    """The program with its slots numbered in the order in which they are written, without gaps.

    Passes keep the numbers of what they do not touch; this comes after them.
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
