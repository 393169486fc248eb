"""Loops written out, so that the values of single rounds can be computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tenferro.compiler.passing import Needs, Pass
from tenferro.control import Scan
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import Concatenate, Reshape, Slice


@dataclass(frozen=True)
class LoopUnrolling(Pass):
    """Writes out the rounds of every `Scan`, innermost first, if they are not too many.

    Attributes:
        most: the largest number of instructions that all rounds of a loop may have.
    """

    most: int = 4096

    name = "loop_unrolling"
    needs = Needs.CONSTANT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without these loops."""
        if not program.has_op(Scan):
            return program
        rounds = _Rounds(Rewriter(program), self.most)
        return rounds.at.run(rounds.written)


@dataclass(slots=True)
class _Rounds:
    """Writes loops out.

    Attributes:
        at: the emitter.
        most: the largest number of instructions.
        entries: by the slot of a stack, its entries, if a loop that was written out made it.
    """

    at: Rewriter
    most: int
    entries: dict[int, Sequence[int]] = field(default_factory=dict)

    def written(self, step: ExecInstruction, operands: Sequence[int]) -> Sequence[int] | None:
        """The results of all rounds of a loop; None for other instructions."""
        op = step.op
        if not isinstance(op, Scan) or not isinstance(op.length, int) or not op.length:
            return None
        if op.length * len(op.body.instructions) > self.most:
            return None
        start = op.consts + op.carry
        carry, ys = list(operands[op.consts : start]), dict[int, list[int]]()
        stacks = [self._entries_of(slot, op.length) for slot in operands[start:]]
        for number in reversed(range(op.length)) if op.reverse else range(op.length):
            entries = [stack[number] for stack in stacks]
            results = self.at.inline(op.body, [*operands[: op.consts], *carry, *entries])
            carry, ys[number] = results[: op.carry], results[op.carry :]
        columns = [list(column) for column in zip(*(ys[n] for n in range(op.length)), strict=True)]
        return [*carry, *(self._stacked(column) for column in columns)]

    def _entries_of(self, stack: int, length: int) -> Sequence[int]:
        """The entries of a stack."""
        if stack not in self.entries:
            sizes = self.at.ctx.meta(stack).static_shape or ()
            self.entries[stack] = [self._entry(stack, number, sizes) for number in range(length)]
        return self.entries[stack]

    def _entry(self, stack: int, number: int, sizes: Sequence[int]) -> int:
        rest = tuple(sizes[1:])
        starts, limits = (number, *(0 for _ in rest)), (number + 1, *rest)
        row = self.at.emit(Slice(starts, limits, (1,) * len(sizes)), stack)
        return self.at.emit(Reshape(rest), row)

    def _stacked(self, entries: Sequence[int]) -> int:
        rows = []
        for entry in entries:
            sizes = self.at.ctx.meta(entry).static_shape or ()
            rows.append(self.at.emit(Reshape((1, *sizes)), entry))
        stack = rows[0] if len(rows) == 1 else self.at.emit_all(Concatenate(0), *rows)[0]
        self.entries[stack] = entries
        return stack
