"""What a program has of loops and branches, line by line, for reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from tenferro.compiler.canonical import ROLLED
from tenferro.control import BRANCHES_RUN, ControlOp
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.ops import Select

JACOBIAN = "jacobian: "
"""What the site of a product of Jacobians begins with; how they are computed follows."""

MOST_LINES = 16
"""The largest number of lines."""


def structure(program: ExecProgram) -> tuple[str, ...]:
    """A line for each loop and branch, those in a body indented below it; the first ones only.

    It says which loops were rolled, where `vmap` made a choice a selection among the results of
    all branches, and by which passes a Jacobian is computed.

    >>> from tenferro.compiler import parse
    >>> body = "body(%0: f64[], %1: f64[]) { \\n %2: f64[] = add %0, %1 \\n return %2 \\n }"
    >>> loop = "%1: f64[] = scan[consts=0, carry=1, length=5] %0, %2"
    >>> start = "exec_program(%0: f64[], %2: f64[5])"
    >>> structure(parse(f"{start} {{ \\n {loop} {{ \\n {body} \\n }} \\n return %1 \\n }}"))
    ('scan: 5 rounds of 1 instruction',)
    """
    lines: list[str] = []
    told: set[str] = set()
    for step, depth in _steps(program):
        line = _line(step)
        if line is None or (line in told and not isinstance(step.op, ControlOp)):
            continue  # one choice selects each of its results; a Jacobian may have several blocks
        told.add(line)
        if len(lines) == MOST_LINES:
            return (*lines, "...")
        lines.append("  " * depth + line)
    return tuple(lines)


def _steps(program: ExecProgram) -> Iterator[tuple[ExecInstruction, int]]:
    """All instructions, each before those of its bodies, and how deep they stand.

    Bodies that several ops hold come once.
    """
    seen: set[int] = set()
    stack = [(iter(program.instructions), 0)]
    while stack:
        steps, depth = stack[-1]
        step = next(steps, None)
        if step is None:
            stack.pop()
            continue
        yield step, depth
        bodies = [cast(ExecProgram, body) for body in step.op.bodies.values()]
        for body in reversed(bodies if isinstance(step.op, ControlOp) else []):
            if id(body) not in seen:
                seen.add(id(body))
                stack.append((iter(body.instructions), depth + 1))


def _line(step: ExecInstruction) -> str | None:
    """What a report says of an instruction; None for nothing."""
    op, site = step.op, step.site or ""
    if site.startswith(JACOBIAN):
        return site
    if BRANCHES_RUN in site:
        return site if type(op) is Select else None
    if not isinstance(op, ControlOp):
        return None
    if site.startswith(ROLLED):
        return site
    return f"{op.in_words()} at {site}" if site else op.in_words()
