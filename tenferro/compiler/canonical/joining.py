"""Putting one instruction in the place of two, and one program in that of two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tenferro.config import config
from tenferro.exec_ir import ExecBuilder, ExecInstruction, ExecOp, ExecProgram, run, verify
from tenferro.shape import TensorMeta


class JointBuilder(ExecBuilder):
    """Builds a program of several others, in which each value is computed once.

    Attributes:
        shares_work: whether two of them compute some value with arrays.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shares_work = False
        self._known: dict[tuple[bytes, tuple[int, ...]], tuple[int, ...]] = {}

    def inline(self, program: ExecProgram, inputs: Sequence[int]) -> list[int]:
        """The results of one of the programs; values that exist already are not computed again."""
        there_before = len(self.metas)

        def joined(step: ExecInstruction, operands: list[int]) -> tuple[int, ...]:
            key = (step.op.identity, ordered_operands(step, operands))
            if key not in self._known:
                self._known[key] = self.add(step.op, operands, step.site)
            elif self._known[key][0] < there_before and is_work(
                step, [self.metas[slot] for slot in operands]
            ):
                self.shares_work = True
            return self._known[key]

        return run(program, inputs, joined)


def ordered_operands(step: ExecInstruction, operands: Sequence[int]) -> tuple[int, ...]:
    """The operands, in one order if they may be exchanged."""
    return tuple(sorted(operands) if step.op.commutative else operands)


def is_work(step: ExecInstruction, operands: Sequence[TensorMeta | None]) -> bool:
    """Whether it computes with arrays, and does not only move or repeat their elements."""
    if step.op.moves or step.op.repeats:
        return False
    return any(meta is not None and meta.rank > 0 for meta in operands)


def independent_pairs(
    program: ExecProgram, op_class: type[ExecOp], passed_on: bool
) -> Iterator[tuple[int, int]]:
    """Positions of instructions of an op class of which the second does not need the first.

    If `passed_on`, it may read results of the first, but nothing that is computed from them.
    """
    found: list[int] = []
    needs: dict[int, int] = {}  # for each slot, as a bit mask, which of these it depends on
    for position, step in enumerate(program.instructions):
        needed = union(needs, step.input_slots)
        if isinstance(step.op, op_class):
            for number, earlier in enumerate(found):
                direct = set(program.instructions[earlier].output_slots) if passed_on else ()
                others = [slot for slot in step.input_slots if slot not in direct]
                if not union(needs, others) >> number & 1:
                    yield earlier, position
            needed |= 1 << len(found)
            found.append(position)
        if needed:
            needs.update(dict.fromkeys(step.output_slots, needed))


def union(needs: Mapping[int, int], slots: Iterable[int]) -> int:
    """All bits that any of the slots needs."""
    needed = 0
    for slot in slots:
        needed |= needs.get(slot, 0)
    return needed


def with_joined(
    program: ExecProgram,
    first: int,
    second: int,
    joined: ExecInstruction,
    aliases: Mapping[int, int] | None = None,
) -> ExecProgram:
    """The program with `joined` in place of the instructions at the positions `first` and `second`.

    It stands where the first one stood. Instructions between the two come before it if it needs
    them. `aliases` are slots that other slots replace, wherever they are read. If `config.verify`
    is on, the result is verified, since a pass that joins reads it again before it returns.
    """
    now, steps = aliases or {}, program.instructions
    needed = set(joined.input_slots)
    before: list[ExecInstruction] = []
    after: list[ExecInstruction] = []
    for step in reversed(steps[first + 1 : second]):
        if needed.isdisjoint(step.output_slots):
            after.append(step)
        else:
            needed.update(step.input_slots)
            before.append(step)
    ordered = [*steps[:first], *before[::-1], joined, *after[::-1], *steps[second + 1 :]]
    result = replace(
        program,
        instructions=tuple([_reading(step, now) for step in ordered]),
        output_slots=tuple([now.get(slot, slot) for slot in program.output_slots]),
    )
    if config.verify:
        verify(result)
    return result


def _reading(step: ExecInstruction, now: Mapping[int, int]) -> ExecInstruction:
    """The instruction with operands replaced as in `now`, without marks of last uses."""
    if not step.last_use and now.keys().isdisjoint(step.input_slots):
        return step
    return replace(
        step, input_slots=tuple([now.get(slot, slot) for slot in step.input_slots]), last_use=()
    )
