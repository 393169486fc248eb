"""Running a program: one walk over its instructions, whatever the values are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tenferro.errors import BindingError
from tenferro.exec_ir.payloads import Array
from tenferro.exec_ir.program import ExecInstruction, ExecProgram

T = TypeVar("T")
Handler = Callable[[ExecInstruction, list[T]], Sequence[T]]
"""The results of one instruction on its operands."""


def run(program: ExecProgram, inputs: Sequence[T], handler: Handler[T]) -> list[T]:
    """The outputs of a program whose instructions `handler` runs, in order.

    Values may be arrays of any kind, or objects that stand for them. A value is dropped after the
    last instruction that reads it, whether or not the program marks its last use.

    Raises:
        BindingError: the number of inputs is not the program's.
    """
    if len(inputs) != len(program.input_slots):
        raise BindingError(
            f"run: the program takes {len(program.input_slots)} inputs, got {len(inputs)}"
        )
    values = dict(zip(program.input_slots, inputs, strict=True))
    for step, dropped in zip(program.instructions, _drops(program), strict=True):
        results = handler(step, [values[slot] for slot in step.input_slots])
        values.update(zip(step.output_slots, results, strict=True))
        for slot in dropped:
            del values[slot]
    return [values[slot] for slot in program.output_slots]


def evaluate(program: ExecProgram, arrays: Sequence[Array]) -> list[Array]:
    """The outputs of a program by the NumPy meaning of its ops; the reference for all executors."""
    return run(program, arrays, lambda step, operands: step.op.evaluate(operands))


def _drops(program: ExecProgram) -> list[list[int]]:
    """For each instruction its operands and results that no later instruction reads."""
    alive = set(program.output_slots)
    drops: list[list[int]] = []
    for step in reversed(program.instructions):
        last = set(step.input_slots) - alive
        unread = [slot for slot in step.output_slots if slot not in alive]
        drops.append([*last, *unread])
        alive.update(last)
    drops.reverse()
    return drops
