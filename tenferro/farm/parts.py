"""Parts: how many a job has, and the program that computes any of them."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.compiler import ExpandFamilies, optimize, run_passes
from tenferro.control import LaneSum, While
from tenferro.exec_ir import ExecProgram, program_of_op
from tenferro.families import SlicedNetwork
from tenferro.family import Extension
from tenferro.shape import TensorMeta

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


def part_program(op: SlicedNetwork, metas: Sequence[TensorMeta]) -> ExecProgram:
    """The program of a run of neighbouring rounds: from operands, first round and stop to sums.

    >>> from tenferro.shape import INT64, make_meta
    >>> op = SlicedNetwork(((0, 1), (1, 2)), (0, 2), ((0, 1),), sliced=(1,))
    >>> part = part_program(op, [make_meta(INT64, each) for each in ((4, 2), (2, 3))])
    >>> [str(meta) for meta in part.input_metas], [str(meta) for meta in part.output_metas]
    (['i64[4,2]', 'i64[2,3]', 'i64[]', 'i64[]'], ['i64[4,3]'])
    """
    whole = run_passes(program_of_op(Extension(op), metas), [ExpandFamilies()])
    (loop,) = whole.ops_of(LaneSum)
    return optimize(loop.part)


def round_work(program: ExecProgram) -> int:
    """About how many operations one round of a part's program takes."""
    return sum(op.body.work() for op in program.ops_of(While))
