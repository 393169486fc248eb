"""Parts: how many a job has."""

from __future__ import annotations

from tenferro.control import While
from tenferro.exec_ir import ExecProgram

FEWEST, MOST = 16, 4096
WORK = 1e11
"""The operations of a part, which take one core about ten seconds."""


def part_count(total: int, work: float, parts: int | None = None) -> int:
    """How many parts `total` rounds with so many operations in all make.

    Args:
        total: the rounds.
        work: predicted operations of all rounds.
        parts: the number that a user asks for; None chooses parts of about ten seconds. It never
            depends on who does the work, so that a job has the same parts everywhere.

    >>> part_count(10**6, 2e13), part_count(10**6, 1.0), part_count(5, 1.0), part_count(64, 0, 4)
    (200, 16, 5, 4)
    """
    wanted = min(max(round(work / WORK), FEWEST), MOST) if parts is None else parts
    return min(wanted, total)


def round_work(program: ExecProgram) -> int:
    """About how many operations one round of a part's program takes."""
    return sum(op.body.work() for op in program.ops_of(While))
