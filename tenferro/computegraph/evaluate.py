"""The reference interpreter: run a compiled program forward on runtime values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenferro.computegraph.op import Op
from tenferro.computegraph.program import CompiledProgram
from tenferro.errors import BindingError, ProgramError


def evaluate(program: CompiledProgram[Op], inputs: Sequence[Any]) -> list[Any]:
    """The values of the program's outputs, given one value for each of its inputs, in order.

    Raises:
        BindingError: the number of values is not the number of inputs.
        ProgramError: an op does not return a value for each of its outputs.
    """
    if not isinstance(program, CompiledProgram):
        raise ProgramError(
            f"evaluate: takes a compiled program, got a {type(program).__name__}; "
            "write evaluate(compile_graph(graph), values)"
        )
    if isinstance(inputs, Mapping):
        raise BindingError(
            "evaluate: takes the values in the order of the inputs, got a "
            f"{type(inputs).__name__}; write [value, ...]"
        )
    if len(inputs) != len(program.input_slots):
        raise BindingError(
            f"evaluate: the program has {len(program.input_slots)} inputs, got {len(inputs)} values"
        )
    slots: list[Any] = [None] * program.n_slots
    for slot, value in zip(program.input_slots, inputs, strict=True):
        slots[slot] = value
    for instruction in program.instructions:
        results = instruction.op.evaluate([slots[slot] for slot in instruction.inputs])
        if len(results) != len(instruction.outputs):
            raise ProgramError(
                f"{instruction.op}: evaluate returns {len(results)} values"
                f" for {len(instruction.outputs)} outputs"
            )
        for slot, value in zip(instruction.outputs, results, strict=True):
            slots[slot] = value
    return [slots[slot] for slot in program.output_slots]
