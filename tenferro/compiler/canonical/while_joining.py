"""While joining: a loop that another loop computes on its way is left out."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.canonical.joining import independent_pairs, with_joined
from tenferro.compiler.passing import Pass
from tenferro.control import While
from tenferro.exec_ir import ExecInstruction, ExecProgram, renumber


@dataclass(frozen=True)
class WhileJoining(Pass):
    """Leaves out a `While` if another one has its carry among its own.

    The tangents of a loop are computed by a loop that carries the values too, so a program of
    values and tangents has both loops.
    """

    name = "while_joining"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such loops left out, until none is left."""
        while (joined := _with_one_left_out(program)) is not program:
            program = joined
        return program


def _with_one_left_out(program: ExecProgram) -> ExecProgram:
    if not program.has_op(While):
        return program
    for first, second in independent_pairs(program, While, passed_on=False):
        left, right = program.instructions[first], program.instructions[second]
        for part, whole in ((left, right), (right, left)):
            aliases = _aliases(part, whole)
            if aliases is not None:
                return with_joined(program, first, second, whole, aliases)
    return program


def _aliases(part: ExecInstruction, whole: ExecInstruction) -> dict[int, int] | None:
    """For each result of `part` the result of `whole` that equals it; None if one has none."""
    starts = _starts(whole)
    places: list[int] = []
    for slot in _starts(part):
        equal = (place for place, start in enumerate(starts) if start == slot)
        place = next((place for place in equal if place not in places), None)
        if place is None:
            return None
        places.append(place)
    if places != sorted(places):
        return None
    same = whole.computing({whole.output_slots[place] for place in places})
    if same.input_slots != part.input_slots or _programs(same) != _programs(part):
        return None
    aliases = [whole.output_slots[place] for place in places]
    return dict(zip(part.output_slots, aliases, strict=True))


def _starts(step: ExecInstruction) -> tuple[int, ...]:
    """The slots that the carry starts from."""
    assert isinstance(step.op, While)
    return step.input_slots[step.op.cond_consts + step.op.body_consts :]


def _programs(step: ExecInstruction) -> tuple[object, ...]:
    """What identifies the op of a loop, however the slots in its programs are numbered."""
    op = step.op
    assert isinstance(op, While)
    programs = (renumber(op.cond).identity, renumber(op.body).identity)
    return (*programs, op.cond_consts, op.body_consts, op.max_steps)
