"""Predictions of how long a program runs on NumPy, and how many kernels a compiler makes of it."""

from __future__ import annotations

import math
from typing import cast

from tenferro.compiler.target.costs import CPU
from tenferro.control import ControlOp
from tenferro.exec_ir import ExecOp, ExecProgram
from tenferro.ops import DotGeneral

DISPATCH = 5e-6
"""Seconds for one op on small arrays."""
ELEMENT = 5e-9
"""Seconds for an element of a result; functions such as `exp` take that."""


def numpy_seconds(program: ExecProgram) -> float:
    """About how long a program of known sizes runs on NumPy; infinite if nothing tells.

    >>> from tenferro.compiler import parse
    >>> text = "exec_program(%0: f64[9]) { \\n %1: f64[9] = negate %0! \\n return %1 \\n }"
    >>> 0 < numpy_seconds(parse(text)) < 1e-3
    True
    """
    is_complex = any(meta.dtype.kind == "c" for _, meta in program.results())
    product = CPU.complex_multiply if is_complex else CPU.multiply
    pairs = zip(program.ops(), program.work_of(), strict=True)
    return sum(DISPATCH + _seconds(op, work, product) for op, work in pairs)


def _seconds(op: ExecOp, work: int, product: float) -> float:
    if isinstance(op, ControlOp):
        if op.is_open:
            return math.inf
        inside = [numpy_seconds(cast(ExecProgram, body)) for body in op.bodies.values()]
        return op.rounds * sum(inside) if op.is_loop else max(inside)
    return work * (product if isinstance(op, DotGeneral) else ELEMENT)


def kernels(program: ExecProgram) -> int:
    """About how many kernels a compiler makes: instructions that compute, those of bodies once."""
    ops = [op for part in program.walk() for op in part.ops()]
    return sum(not (op.view or op.source) for op in ops)
