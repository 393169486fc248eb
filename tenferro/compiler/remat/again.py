"""The program in which dropped values are computed again, before they are read next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.compiler.remat.choice import Cones
from tenferro.exec_ir import ExecInstruction, ExecProgram


@dataclass(frozen=True, slots=True)
class Marked:
    """A program, and which of its instructions compute again what was computed before.

    Attributes:
        program: the program, to be run as it is written.
        again: for each instruction whether it does so.
    """

    program: ExecProgram
    again: Sequence[bool]

    def without_dead(self) -> Marked:
        """The program without instructions that nothing reads."""
        alive = set(self.program.output_slots)
        kept: list[tuple[ExecInstruction, bool]] = []
        steps = zip(reversed(self.program.instructions), reversed(self.again), strict=True)
        for step, again in steps:
            if not alive.isdisjoint(step.output_slots):
                alive.update(step.input_slots)
                kept.append((step, again))
        kept.reverse()
        program = replace(self.program, instructions=tuple([step for step, _ in kept]))
        return Marked(program, [again for _, again in kept])


def computed_again(marked: Marked, cones: Cones, moment: int) -> Marked:
    """The program in which buffers are dropped at a moment, and computed again where read next."""
    return _Writer(marked, cones).written(moment)


class _Writer:
    """Writes the instructions after a moment anew."""

    def __init__(self, marked: Marked, cones: Cones) -> None:
        self._marked = marked
        self._cones = cones
        self._now: dict[int, int] = {}  # where values that are computed again are
        self._count = marked.program.n_slots
        self._steps: list[ExecInstruction] = []
        self._again: list[bool] = []

    def written(self, moment: int) -> Marked:
        """The program."""
        program, flags = self._marked.program, self._marked.again
        self._steps += program.instructions[: moment + 1]
        self._again += flags[: moment + 1]
        for number in range(moment + 1, len(program.instructions)):
            step = program.instructions[number]
            for slot in step.input_slots:
                if slot not in self._now and self._is_gone(slot, moment):
                    self._compute(slot, number)
            self._add(step, step.output_slots, flags[number])
        outputs = tuple([self._now.get(slot, slot) for slot in program.output_slots])
        changed = replace(
            program,
            instructions=tuple(self._steps),
            output_slots=outputs,
            n_slots=self._count,
        )
        return Marked(changed, self._again).without_dead()

    def _is_gone(self, slot: int, moment: int) -> bool:
        """Whether a value was made before the moment, and is in a buffer that is dropped."""
        made = self._cones.maker.get(slot)
        if made is None or made > moment:
            return False
        return slot in self._cones.gone

    def _compute(self, slot: int, number: int) -> None:
        """Compute a value again, before an instruction."""
        steps = self._marked.program.instructions
        for each in self._needed(slot, number):
            step = steps[each]
            fresh = tuple(range(self._count, self._count + len(step.output_slots)))
            self._count += len(fresh)
            self._add(step, fresh, True)
            self._now.update(zip(step.output_slots, fresh, strict=True))

    def _needed(self, slot: int, moment: int) -> list[int]:
        """The instructions that compute a value from what is there, in order."""
        cones, found, stack = self._cones, set[int](), [slot]
        steps = self._marked.program.instructions
        while stack:
            number = cones.maker[stack.pop()]
            if number in found:
                continue
            found.add(number)
            stack += [
                operand
                for operand in steps[number].input_slots
                if operand in cones.maker
                and operand not in self._now
                and not cones.is_there(operand, moment)
            ]
        return sorted(found)

    def _add(self, step: ExecInstruction, outputs: tuple[int, ...], again: bool) -> None:
        inputs = tuple([self._now.get(slot, slot) for slot in step.input_slots])
        self._steps.append(
            ExecInstruction(step.op, inputs, outputs, step.output_metas, (), step.site)
        )
        self._again.append(again)
