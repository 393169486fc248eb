"""The proof that a loop computes what its rounds did: it is replayed round by round."""

from __future__ import annotations

from tenferro.compiler.canonical.rolling.loop import Loop
from tenferro.compiler.canonical.rolling.symbols import Sequence
from tenferro.control import Scan
from tenferro.exec_ir import ExecOp, ExecProgram

Key = tuple[int, ...]


class Values:
    """A number for each value of a program; equal ops on equal values give equal numbers."""

    def __init__(self, sequence: Sequence) -> None:
        program = sequence.program
        self._sequence = sequence
        self.known: dict[Key, tuple[int, ...]] = {}
        self.of = [0] * program.n_slots
        for number, slot in enumerate(program.input_slots):
            self.of[slot] = number
        count = len(program.input_slots)
        of, known = self.of, self.known
        for step, kind in zip(sequence.steps, sequence.kinds, strict=True):
            operands = [of[slot] for slot in step.input_slots]
            if step.op.commutative:
                operands.sort()
            key = (kind.exact, *operands)
            values = known.get(key)
            if values is None:
                values = known[key] = tuple(range(count, count + len(step.output_slots)))
                count += len(values)
            for slot, value in zip(step.output_slots, values, strict=True):
                of[slot] = value

    def replay(self, loop: Loop, scan: Scan, consts: list[int]) -> bool:
        """Whether the loop, written out, computes the values of the program.

        Each round is looked up among the values that the program computes. In the end every result
        of the loop must be the value that it replaces.
        """
        of, count = self.of, loop.rounds.count
        every = [of[slot] for slot in consts]
        carry = [
            -1 - leaf if carried.start is None else of[carried.start]
            for leaf, carried in enumerate(loop.carries)
        ]
        xs = [entries.slots[loop.rounds.low : loop.rounds.high] for entries in loop.rounds.entries]
        body = _Replay(self._sequence, scan.body)
        for number in range(count):
            outputs = body.run([*every, *carry, *[of[x[number]] for x in xs]], self.known)
            if outputs is None:
                return False
            carry = outputs[: scan.carry]
            for (step, output), value in zip(loop.stacked, outputs[scan.carry :], strict=True):
                if value != of[self._slot(loop, number, step, output)]:
                    return False
        return all(
            carried.distance > count
            or value == of[self._slot(loop, count - carried.distance, *carried.result)]
            for carried, value in zip(loop.carries, carry, strict=True)
        )

    def _slot(self, loop: Loop, number: int, step: int, output: int) -> int:
        """The slot that held a result of one round."""
        return self._sequence.steps[int(loop.positions[number, step])].output_slots[output]


class _Replay:
    """A body whose instructions are looked up."""

    def __init__(self, sequence: Sequence, body: ExecProgram) -> None:
        self._body = body
        self._lines = [
            (sequence.exact(step.op), step.input_slots, step.output_slots, step.op.commutative)
            for step in body.steps_of(ExecOp)
        ]

    def run(self, inputs: list[int], known: dict[Key, tuple[int, ...]]) -> list[int] | None:
        """The numbers of the outputs; None if an instruction is not one of the program."""
        now = [0] * self._body.n_slots
        for slot, value in zip(self._body.input_slots, inputs, strict=True):
            now[slot] = value
        for exact, reads, writes, commutative in self._lines:
            operands = [now[slot] for slot in reads]
            if commutative:
                operands.sort()
            values = known.get((exact, *operands))
            if values is None:
                return None
            for slot, value in zip(writes, values, strict=True):
                now[slot] = value
        return [now[slot] for slot in self._body.output_slots]
