"""Refusing values that do not fit in memory, before an executor compiles the program."""

from __future__ import annotations

import math

from tenferro.errors import ExtentError
from tenferro.exec_ir.program import ExecProgram
from tenferro.shape import MAX_EXTENT, TensorMeta

MAX_RANK = 64
"""The most axes that a NumPy array has."""


def check_budget(program: ExecProgram, max_bytes: int) -> None:
    """Check each value of the program, and of programs inside its ops, whose extents are integers.

    Values with symbols in their extents are checked after `bind`.

    Raises:
        ExtentError: an extent is negative, sizes overflow 64 bits, a rank is over 64, or a value
            is larger than `max_bytes`. The text names the op, the type, the bytes and the budget.
    """
    fitting: set[int] = set()  # ids of types that fit; values of one type share the object
    named = [(f"input {i}", meta) for i, meta in enumerate(program.input_metas)]
    for part in program.walk():
        named += [(step.op.name, meta) for step, meta in part.results()]
    for name, meta in named:
        if id(meta) not in fitting:
            check_size(meta, name, max_bytes)
            fitting.add(id(meta))


def check_size(meta: TensorMeta, name: str, max_bytes: int) -> None:
    """Check one type; errors call it the result of `name`. See `check_budget`."""
    if meta.rank > MAX_RANK:
        raise ExtentError(f"{name}: {meta} has {meta.rank} axes; at most {MAX_RANK} are supported")
    shape = meta.static_shape
    if shape is None:
        return
    for axis, size in enumerate(shape):
        if not 0 <= size <= MAX_EXTENT:
            raise ExtentError(
                f"{name}: axis {axis} of {meta} has extent {size}, not between 0 and 2**63 - 1"
            )
    needed = math.prod(shape) * meta.dtype.itemsize
    if needed > max_bytes:
        raise ExtentError(
            f"{name}: {meta} takes {needed} bytes, more than the budget of {max_bytes} bytes; "
            "use smaller extents, or raise max_bytes (TENFERRO_MAX_BYTES)"
        )
    if math.prod(size for size in shape if size) * meta.dtype.itemsize > MAX_EXTENT:
        raise ExtentError(f"{name}: the extents of {meta} overflow 64 bits when multiplied")
