"""Check every invariant of a program, and refuse values above the memory budget."""

from __future__ import annotations

import math
import re

from tenferro.errors import (
    ExtentError,
    TenferroError,
    UnsupportedExtensionError,
    VerifyError,
    counted,
)
from tenferro.ir.program import ExecInstruction, ExecProgram, with_slots
from tenferro.ir.types import MAX_EXTENT, TensorMeta

__all__ = ["check_budget", "check_size", "verify", "verify_once"]


# The verifier: checks every invariant of the execution IR; errors point at the broken part.


def verify(program: ExecProgram, after: str = "") -> None:
    """Check that slots are written once, before they are read, with the types that ops infer.

    Programs inside ops are checked as well, unless they have been found correct before. `after`
    names the pass that has just run.

    Raises:
        VerifyError: an invariant is broken; the text shows the instruction.
    """
    where = f"after pass '{after}': " if after else ""
    for part in reversed(program.walk(unverified=True)):
        _verify_one(part, where)
        object.__setattr__(part, "verified", True)


def verify_once(program: ExecProgram) -> None:
    """Check a program, unless it or the programs inside it have been found correct before.

    For an op that holds a program: its shape rule relies on the types that are recorded there. A
    program with an op of a family that this process lacks cannot be checked.

    Raises:
        VerifyError: an invariant is broken; the text shows the instruction.
    """
    if program.verified:
        return
    try:
        for part in reversed(program.walk(unverified=True)):
            _verify_one(part, "")
            object.__setattr__(part, "verified", True)
    except UnsupportedExtensionError:
        return


def _verify_one(program: ExecProgram, where: str) -> None:
    metas: dict[int, TensorMeta] = {}
    for slot, meta in zip(program.input_slots, program.input_metas, strict=True):
        if slot in metas:
            raise VerifyError(f"{where}input slot %{slot} is declared twice")
        metas[slot] = with_slots(meta, slot, ())
    for step in program.instructions:
        problem = _misplaced(step, metas, program.n_slots) or _mistyped(step, metas)
        if problem:
            raise VerifyError(f"{where}{problem[0]}\n{_caret(step, *problem)}")
    for slot in program.output_slots:
        if slot not in metas:
            raise VerifyError(f"{where}output slot %{slot} is not written by any instruction")
    _verify_last_use(program, where)


def _misplaced(
    step: ExecInstruction, metas: dict[int, TensorMeta], n_slots: int
) -> tuple[str, str] | None:
    """The error in an instruction's slots, and the piece of its text to point at."""
    for slot in step.input_slots:
        if slot not in metas:
            return f"{step.op.name} reads %{slot} before it is written", f"= %{slot}"
    for slot in step.output_slots:
        if slot in metas:
            return f"{step.op.name} writes %{slot}, which is written already", f"%{slot}"
        if not 0 <= slot < n_slots:
            return (
                f"{step.op.name} writes %{slot}, but the program has {counted(n_slots, 'slot')}",
                f"%{slot}",
            )
    return None


def _mistyped(step: ExecInstruction, metas: dict[int, TensorMeta]) -> tuple[str, str] | None:
    """The error in an instruction's types; if there is none, they are added to `metas`."""
    try:
        inferred = _inferred(step, [metas[slot] for slot in step.input_slots])
    except UnsupportedExtensionError:
        raise  # the program is correct; this process lacks the family
    except TenferroError as error:
        return str(error), step.op.name
    if len(inferred) != len(step.output_slots):
        return (
            f"{step.op.name} writes {counted(len(step.output_slots), 'slot')}, but has "
            f"{counted(len(inferred), 'output')}",
            step.op.name,
        )
    for slot, recorded, meta in zip(step.output_slots, step.output_metas, inferred, strict=True):
        if recorded != meta:
            return (
                f"{step.op.name} records {recorded}, but the op infers {meta}",
                f"%{slot}: {recorded}",
            )
        metas[slot] = with_slots(meta, slot, step.input_slots)
    return None


def _inferred(step: ExecInstruction, operands: list[TensorMeta]) -> tuple[TensorMeta, ...]:
    """The types that the op infers; if they differ, without using scalars whose value is known.

    A pass that computes a scalar makes it known as a size; types recorded before are not updated.
    """
    inferred = step.op.infer_all(operands)
    if inferred == step.output_metas or not any(meta.as_size for meta in operands):
        return inferred
    return step.op.infer_all([TensorMeta(meta.dtype, meta.extents) for meta in operands])


def _caret(step: ExecInstruction, problem: str, piece: str) -> str:
    """The instruction, with a caret under `piece`.

    If `piece` starts with `= `, it is looked for among the operands.
    """
    line = f"  {step}"
    right = line.index(" = ") if piece.startswith("= ") else 0
    piece = piece.removeprefix("= ")
    match = re.search(rf"{re.escape(piece)}(?!\d)", line[right:])
    start = right + match.start() if match else 0
    return f"{line}\n{' ' * start}{'^' * len(piece)} {problem}"


def _verify_last_use(program: ExecProgram, where: str) -> None:
    alive = set(program.output_slots)
    for step in reversed(program.instructions):
        if not step.last_use:
            continue
        if len(step.last_use) != len(step.input_slots):
            raise VerifyError(
                f"{where}{step.op.name} has {counted(len(step.last_use), 'last-use mark')} for its "
                "operands"
            )
        for slot, last in zip(reversed(step.input_slots), reversed(step.last_use), strict=True):
            if last and slot in alive:
                raise VerifyError(
                    f"{where}{step.op.name} marks %{slot} as last used, but it is read later\n"
                    f"{_caret(step, 'read later', f'= %{slot}!')}"
                )
            alive.add(slot)


# Refusing values that do not fit in memory, before an executor compiles the program.

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
        raise ExtentError(
            f"{name}: {meta} has {counted(meta.rank, 'axis', 'axes')}; at most {MAX_RANK} are "
            "supported"
        )
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
            f"{name}: {meta} takes {needed} bytes, more than the budget of {max_bytes} bytes; use "
            "smaller extents, or raise max_bytes (TENFERRO_MAX_BYTES)"
        )
    if math.prod(size for size in shape if size) * meta.dtype.itemsize > MAX_EXTENT:
        raise ExtentError(f"{name}: the extents of {meta} overflow 64 bits when multiplied")
