"""A program as one function of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tenferro.contract import Extension
from tenferro.exec_ir import ExecProgram
from tenferro_xla.lowering.registry import LoweringOptions, lower

JaxFunction = Callable[..., tuple[jax.Array, ...]]


def jax_function(program: ExecProgram, options: LoweringOptions) -> JaxFunction:
    """The program as a function of arrays, one for each input, to be traced by JAX.

    Every extent of the program must be an integer. A value is dropped after its last use. Where
    NumPy arrays are constants that nothing computes with, the function returns them as they are.
    """
    steps = program.instructions
    drops = _drops(program)

    def tenferro_program(*arrays: Any) -> tuple[jax.Array, ...]:
        values: dict[int, Any] = dict(zip(program.input_slots, arrays, strict=True))
        for step, dropped in zip(steps, drops, strict=True):
            operands = [values[slot] for slot in step.input_slots]
            if isinstance(step.op, Extension):
                results = options.extensions(step.op, operands)
            else:
                results = lower(step.op, operands, options)
            values.update(zip(step.output_slots, results, strict=True))
            for slot in dropped:
                del values[slot]
        return tuple([values[slot] for slot in program.output_slots])

    return tenferro_program


def _drops(program: ExecProgram) -> list[list[int]]:
    """For each instruction the slots that nothing after it reads, marked in the program or not."""
    alive = set(program.output_slots)
    drops: list[list[int]] = []
    for step in reversed(program.instructions):
        last = set(step.input_slots) - alive
        unread = [slot for slot in step.output_slots if slot not in alive]
        drops.append([*last, *unread])
        alive.update(last)
    drops.reverse()
    return drops
