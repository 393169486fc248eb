"""Switch joining: switches on the same index become one switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.compiler.canonical.joining import independent_pairs, with_joined
from tenferro.compiler.passing import Pass
from tenferro.control import Switch
from tenferro.exec_ir import ExecBuilder, ExecInstruction, ExecProgram, run


@dataclass(frozen=True)
class SwitchJoining(Pass):
    """Joins two switches on one index if the second reads results of the first only directly.

    So the branch that is taken computes the value, its derivative and what the two share in one
    go. What the second reads of the first is then passed on inside the branch.
    """

    name = "switch_joining"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such switches joined, until no pair is left."""
        while (joined := _with_one_pair_joined(program)) is not program:
            program = joined
        return program


def _with_one_pair_joined(program: ExecProgram) -> ExecProgram:
    if not program.has_op(Switch):
        return program
    for first, second in independent_pairs(program, Switch, passed_on=True):
        steps = program.instructions[first], program.instructions[second]
        joined = _joined(*steps)
        if joined is not None:
            return with_joined(program, first, second, joined)
    return program


def _joined(first: ExecInstruction, second: ExecInstruction) -> ExecInstruction | None:
    """One switch for both; None if they have other indices or numbers of branches."""
    one, other = first.op, second.op
    assert isinstance(one, Switch)
    assert isinstance(other, Switch)
    alike = first.input_slots[0] == second.input_slots[0]
    if not alike or len(one.branches) != len(other.branches):
        return None
    metas = dict(zip(first.input_slots[1:], one.branches[0].input_metas, strict=True))
    for slot, meta in zip(second.input_slots[1:], other.branches[0].input_metas, strict=True):
        if slot not in first.output_slots:
            metas.setdefault(slot, meta)
    branches = []
    for left, right in zip(one.branches, other.branches, strict=True):
        builder = ExecBuilder()
        now = {slot: builder.input(meta) for slot, meta in metas.items()}
        results = _inlined(builder, left, [now[slot] for slot in first.input_slots[1:]])
        now.update(zip(first.output_slots, results, strict=True))
        further = _inlined(builder, right, [now[slot] for slot in second.input_slots[1:]])
        branches.append(builder.build([*results, *further]))
    return ExecInstruction(
        replace(one, branches=tuple(branches)),
        (first.input_slots[0], *metas),
        (*first.output_slots, *second.output_slots),
        (*first.output_metas, *second.output_metas),
        (),
        first.site,
    )


def _inlined(builder: ExecBuilder, program: ExecProgram, inputs: Sequence[int]) -> list[int]:
    """The results of a program on slots of a program that is being built."""
    return run(program, inputs, lambda step, slots: builder.add(step.op, tuple(slots), step.site))
