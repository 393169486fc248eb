"""Predictions of how long a program runs on NumPy, and how many kernels a compiler makes of it."""

from __future__ import annotations

import math
from typing import cast

from tenferro.compiler.target.costs import CPU
from tenferro.control import ControlOp
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.family import Extension
from tenferro.ops import DotGeneral
from tenferro.shape import TensorMeta

DISPATCH = 5e-6
"""Seconds for one op on small arrays."""
ELEMENT = 5e-9
"""Seconds for an element of a result; functions such as `exp` take that."""


def numpy_seconds(program: ExecProgram) -> float:
    """About how long a program of known sizes runs on NumPy; infinite if nothing tells.

    >>> from tenferro.compiler import parse
    >>> text = "exec_program(%0: f64[9]) { \\n %1: f64[9] = exp %0! \\n return %1 \\n }"
    >>> 0 < numpy_seconds(parse(text)) < 1e-3
    True
    """
    metas = program.slot_metas()
    total = 0.0
    for step in program.instructions:
        operands = [meta for slot in step.input_slots if (meta := metas[slot]) is not None]
        total += _seconds(step, operands)
    return total


def _seconds(step: ExecInstruction, operands: list[TensorMeta]) -> float:
    op = step.op
    if isinstance(op, ControlOp):
        if op.is_open:
            return math.inf
        inside = [numpy_seconds(cast(ExecProgram, body)) for body in op.bodies.values()]
        return DISPATCH + (op.rounds * sum(inside) if op.is_loop else max(inside))
    if isinstance(op, Extension) and op.op.open_ended:
        return math.inf
    work = op.work(operands, step.output_metas)
    if isinstance(op, DotGeneral):
        is_complex = step.output_metas[0].dtype.kind == "c"
        return DISPATCH + work * (CPU.complex_multiply if is_complex else CPU.multiply)
    return DISPATCH + ELEMENT * work


def kernels(program: ExecProgram) -> int:
    """About how many kernels a compiler makes: instructions that compute, those of bodies once."""
    ops = [op for part in program.walk() for op in part.ops()]
    return sum(not (op.view or op.source) for op in ops)
