"""Parts: how many a job has, and the program that computes any of them."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.compiler import ExpandFamilies, optimize, run_passes
from tenferro.control import Scan, While
from tenferro.exec_ir import ExecBuilder, ExecProgram, program_of_op
from tenferro.families import SlicedNetwork
from tenferro.family import Extension
from tenferro.ops import Compare
from tenferro.shape import INT64, TensorMeta, make_meta

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

    >>> op = SlicedNetwork(((0, 1), (1, 2)), (0, 2), ((0, 1),), sliced=(1,))
    >>> part = part_program(op, [make_meta(INT64, each) for each in ((4, 2), (2, 3))])
    >>> [str(meta) for meta in part.input_metas], [str(meta) for meta in part.output_metas]
    (['i64[4,2]', 'i64[2,3]', 'i64[]', 'i64[]'], ['i64[4,3]'])
    """
    whole = run_passes(program_of_op(Extension(op), metas), [ExpandFamilies()])
    for loop in whole.ops():
        part = getattr(loop, "part", None)  # a loop that can be cut says how
        if part is not None:
            return optimize(part)
    return optimize(_part_of_scan(whole))


def _part_of_scan(whole: ExecProgram) -> ExecProgram:
    """The part of a program whose only loop carries the number of the round, and sums."""
    (step,) = whole.steps_of(Scan)
    loop = step.op
    assert isinstance(loop, Scan)
    at = ExecBuilder()
    given = {
        slot: at.input(meta)
        for slot, meta in zip(whole.input_slots, whole.input_metas, strict=True)
    }
    first, stop = (at.input(make_meta(INT64, ())) for _ in range(2))
    makers = whole.makers()

    def value(slot: int) -> int:
        """An operand of the loop; what is not one of the op's is made of constants."""
        if slot not in given:
            maker = makers[slot]
            made = at.add(maker.op, [value(each) for each in maker.input_slots])
            given.update(zip(maker.output_slots, made, strict=True))
        return given[slot]

    consts = [value(slot) for slot in step.input_slots[: loop.consts]]
    sums = [value(slot) for slot in step.input_slots[loop.consts + 1 :]]
    part = While(_before(loop), loop.body, 1, loop.consts)
    return at.build(at.add(part, [stop, *consts, first, *sums])[1:])


def round_work(program: ExecProgram) -> int:
    """About how many operations one round of a part's program takes."""
    return sum(op.body.work() for op in program.ops_of(While))


def _before(loop: Scan) -> ExecProgram:
    """Whether the next round comes before `stop`: a program of that and the loop's carry."""
    at = ExecBuilder()
    stop = at.input(make_meta(INT64, ()))
    carry = [at.input(meta) for meta in loop.body.input_metas[loop.consts :]]
    return at.build(at.add(Compare("LT"), (carry[0], stop)))
