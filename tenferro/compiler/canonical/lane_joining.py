"""Lane joining: sums over the same rounds whose bodies share work become one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tenferro.compiler.canonical.joining import JointBuilder, independent_pairs, with_joined
from tenferro.compiler.passing import Pass
from tenferro.control import LaneSum
from tenferro.exec_ir import ExecInstruction, ExecProgram


@dataclass(frozen=True)
class LaneJoining(Pass):
    """Joins two `LaneSum`s of as many rounds and lanes of which neither needs the other.

    They are joined if that saves work: if both bodies compute the same value from arrays. So value
    and gradient of a sliced network contract the network once for each slice.
    """

    name = "lane_joining"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such sums joined, until no pair is left."""
        apart: set[tuple[object, ...]] = set()
        while (joined := _with_one_pair_joined(program, apart)) is not None:
            program = joined
        return program


def _with_one_pair_joined(
    program: ExecProgram, apart: set[tuple[object, ...]]
) -> ExecProgram | None:
    """The program with the first pair joined that can be; None if there is none.

    `apart` are pairs that are known to share no work.
    """
    for first, second in _candidates(program):
        steps = program.instructions[first], program.instructions[second]
        pair = tuple([(step.op, step.input_slots) for step in steps])
        if pair not in apart:
            joined = _joined(*steps)
            if joined is not None:
                return with_joined(program, first, second, joined)
            apart.add(pair)
    return None


def _candidates(program: ExecProgram) -> Iterator[tuple[int, int]]:
    """Positions of sums over the same rounds that read a common value, but not each other."""
    if len(program.ops_of(LaneSum)) < 2:
        return
    for pair in independent_pairs(program, LaneSum, passed_on=False):
        one, other = [program.instructions[position] for position in pair]
        if _rounds(one) == _rounds(other) and set(one.input_slots) & set(other.input_slots):
            yield pair


def _rounds(step: ExecInstruction) -> tuple[int, int]:
    assert isinstance(step.op, LaneSum)
    return step.op.total, step.op.lanes


def _joined(*steps: ExecInstruction) -> ExecInstruction | None:
    """One sum for several; None if their bodies share no work."""
    builder, ops = JointBuilder(), [step.op for step in steps if isinstance(step.op, LaneSum)]
    consts: dict[int, int] = {}  # slots of the program to slots of the body
    for step, op in zip(steps, ops, strict=True):
        for slot, meta in zip(step.input_slots, op.body.input_metas, strict=False):
            if slot not in consts:
                consts[slot] = builder.input(meta)
    sums = [[builder.input(meta) for meta in op.sum_metas] for op in ops]
    number = builder.input(ops[0].body.input_metas[-1])
    results = [
        slot
        for step, op, own in zip(steps, ops, sums, strict=True)
        for slot in builder.inline(op.body, [*(consts[i] for i in step.input_slots), *own, number])
    ]
    if not builder.shares_work:
        return None
    joined = replace(
        ops[0],
        body=builder.build(results),
        consts=len(consts),
        apart=tuple([on for op in ops for on in op.apart]),
    )
    return ExecInstruction(
        joined,
        tuple(consts),
        tuple([slot for step in steps for slot in step.output_slots]),
        tuple([meta for step in steps for meta in step.output_metas]),
        (),
        steps[0].site,
    )
