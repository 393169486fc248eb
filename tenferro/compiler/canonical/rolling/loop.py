"""A loop that replaces rounds: what it carries, its body, and its `Scan`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tenferro.compiler.canonical.rolling.operands import (
    Carried,
    Entry,
    Made,
    Operand,
    Same,
    Stack,
    Windows,
    Wire,
)
from tenferro.compiler.canonical.rolling.rounds import IrregularError, Rounds, Step
from tenferro.compiler.canonical.rolling.symbols import OUTSIDE, Sequence
from tenferro.control import Scan
from tenferro.exec_ir import ExecBuilder, ExecProgram

Result = tuple[int, int]
"""An output of an instruction of the round: the instruction and which of its outputs."""


@dataclass(frozen=True, slots=True)
class Carry:
    """A value of `len(starts)` rounds ago, carried from round to round.

    Attributes:
        result: what is carried.
        starts: for each distance from 1 the slot that the first round takes; None where no round
            reads what it starts from.
    """

    result: Result
    starts: tuple[int | None, ...]

    @property
    def distance(self) -> int:
        """How many rounds ago the value was computed."""
        return len(self.starts)

    @property
    def start(self) -> int | None:
        """The slot that the carry starts from."""
        return self.starts[-1]


class Loop:
    """One loop, and what is asked of it.

    Attributes:
        rounds: what it computes.
        before: the loops of the program that come before it.
        carries: the values that go from round to round.
        stacked: the results that are kept of all rounds.
        singles: the slots that are read one by one after the loop.
        votes: whether readers of the results go through them forwards (+) or backwards (-).
    """

    def __init__(self, sequence: Sequence, rounds: Rounds, before: list[Loop]) -> None:
        self.sequence, self.rounds, self.before = sequence, rounds, before
        self.carries: list[Carry] = []
        self._leaves: dict[Carry, int] = {}
        self.stacked: list[Result] = []
        self.singles: list[int] = []
        self.votes = 0
        self.positions = rounds.rolled_positions()
        self.site = next(self._sites(), None)
        for step in (*rounds.steps, *rounds.made):
            if not isinstance(step.operands, Entry):
                for operand in step.operands:
                    if isinstance(operand, Carried):
                        self._add(self.carry_of(operand))
        for entries in rounds.entries:
            if isinstance(entries, Windows):
                self.votes += 1 if entries.step > 0 else -1

    def _sites(self) -> Iterator[str]:
        for position in self.positions[len(self.positions) // 2]:
            site = self.sequence.steps[position].site
            if site is not None:
                yield site

    @property
    def reverse(self) -> bool:
        """Whether the rounds go through the xs from the last to the first."""
        return self.votes < 0

    @property
    def size(self) -> int:
        """The number of instructions of a round in the program."""
        made = [step for step in self.rounds.made if not self._is_constant(step)]
        free = [entry for entry in self.rounds.entries if self._is_free(entry)]
        return len(self.rounds.steps) + len(made) + len(free)

    def _is_free(self, entries: object) -> bool:
        """Whether the xs replace an instruction of the round that is not among its steps."""
        if not isinstance(entries, Windows):
            return False
        return bool(self.sequence.places[entries.positions[0]] == OUTSIDE)

    def _is_constant(self, step: Step) -> bool:
        slot = self.sequence.steps[step.position].output_slots[0]
        return self.sequence.is_constant(slot) or self.sequence.kinds[step.position].source

    def saved(self) -> int:
        """The number of instructions that need not be compiled."""
        kinds = self.sequence.kinds
        steps = (*self.rounds.steps, *self.rounds.made)
        counted = len([step for step in steps if kinds[step.position].counts])
        stacks = len([entry for entry in self.rounds.entries if isinstance(entry, Stack)])
        count = self.rounds.count
        return (count - 1) * counted - count * stacks - 2 * len(self.singles)

    def start_slots(self) -> list[int]:
        """The slots that are read one by one before the loop starts."""
        slots = [carry.start for carry in self.carries if carry.start is not None]
        slots += [operand.slot for operand in self._constants()]
        for entries in self.rounds.entries:
            if isinstance(entries, Windows):
                slots.append(entries.base)
            elif isinstance(entries, Stack):
                slots += entries.slots[self.rounds.low : self.rounds.high].tolist()
        return slots

    def _constants(self) -> list[Same]:
        """The values that every round reads."""
        found: dict[int, Same] = {}
        for step in (*self.rounds.steps, *self.rounds.made):
            if not isinstance(step.operands, Entry):
                for operand in step.operands:
                    if isinstance(operand, Same):
                        found.setdefault(operand.slot, operand)
        return list(found.values())

    def carry_of(self, operand: Carried) -> Carry:
        """The carry that an operand reads."""
        low, distance = self.rounds.low, operand.distance
        first = operand.slots[low : low + distance][::-1]
        return Carry((operand.step, operand.output), tuple(first.tolist()))

    def _add(self, carry: Carry) -> None:
        """Add a carry, after those of shorter distances that it takes its values from."""
        for distance in range(1, carry.distance + 1):
            shorter = Carry(carry.result, carry.starts[:distance])
            if shorter not in self._leaves:
                self._leaves[shorter] = len(self.carries)
                self.carries.append(shorter)

    def ask_single(self, slot: int, result: Result, number: int) -> None:
        """Ask for the value of one round; `number` counts the rounds of the loop."""
        self.singles.append(slot)
        ago = self.rounds.count - number
        if result in self.stacked or self.carry_ago(result, ago) is not None:
            return
        if ago == 1:
            self._add(Carry(result, (None,)))
        else:
            self.ask_all(result)

    def carry_ago(self, result: Result, ago: int) -> int | None:
        """The carry that ends with the value of so many rounds ago, counted from the end at 1."""
        for leaf, carry in enumerate(self.carries):
            if carry.result == result and carry.distance == ago:
                return leaf
        return None

    def ask_all(self, result: Result) -> int:
        """Ask for the values of all rounds; returns the number of the stack."""
        if result not in self.stacked:
            self.stacked.append(result)
        return self.stacked.index(result)

    def entry_of(self, number: int) -> int:
        """The entry of the xs and ys that a round reads and writes."""
        return self.rounds.count - 1 - number if self.reverse else number

    def scan(self, body: ExecProgram, consts: int) -> Scan:
        """The op, with a body that may have been optimized."""
        return Scan(body, consts, len(self.carries), self.rounds.count, reverse=self.reverse)

    def leaf(self, operand: Carried) -> int:
        """The number of the carry that an operand reads."""
        return self._leaves[self.carry_of(operand)]

    def previous(self, carry: Carry) -> int | None:
        """The carry of one round less, from which a carry takes its next value."""
        return self._leaves.get(Carry(carry.result, carry.starts[:-1]))


class Body:
    """The body of a loop, built from its middle round.

    Attributes:
        program: the body.
        consts: the slots of the program that are its consts.
    """

    def __init__(self, loop: Loop) -> None:
        """Raises IrregularError if an op infers other types in the body."""
        self._loop, self._builder = loop, ExecBuilder()
        sequence, rounds = loop.sequence, loop.rounds
        metas = sequence.metas
        every = [operand.slot for operand in loop._constants()]
        self.consts = [slot for slot in every if not sequence.is_constant(slot)]
        self._now: dict[int, int] = {}
        for slot in self.consts:
            self._now[slot] = self._input(metas[slot])
        self._carries = [self._input(self._meta(carry.result)) for carry in loop.carries]
        middle = (rounds.low + rounds.high) // 2
        self._entries = [
            self._input(metas[int(entries.slots[middle])]) for entries in rounds.entries
        ]
        self._made: list[int] = []
        self._results: list[tuple[int, ...]] = []
        for slot in every:
            self._sink(slot)
        for step in rounds.made:
            self._made.append(self._emit(step)[0])
        for step in rounds.steps:
            self._results.append(self._emit(step))
        self.program = self._builder.build([*map(self._next, loop.carries), *self._stacked()])

    def _input(self, meta: object) -> int:
        return self._builder.input(meta)  # type: ignore[arg-type]  # slots are written

    def _meta(self, result: Result) -> object:
        step, output = result
        position = self._loop.rounds.steps[step].position
        return self._loop.sequence.steps[position].output_metas[output]

    def _next(self, carry: Carry) -> int:
        """The value of a carry for the next round."""
        if carry.distance > 1:
            previous = self._loop.previous(carry)
            assert previous is not None
            return self._carries[previous]
        step, output = carry.result
        return self._results[step][output]

    def _stacked(self) -> list[int]:
        return [self._results[step][output] for step, output in self._loop.stacked]

    def _sink(self, slot: int) -> None:
        """Compute a constant in the body, so that simplifications see it."""
        chain: list[int] = []
        while slot not in self._now and self._loop.sequence.is_constant(slot):
            chain.append(slot)
            operands = self._loop.sequence.maker(slot).input_slots
            if not operands:
                break
            (slot,) = operands
        for constant in reversed(chain):
            step = self._loop.sequence.maker(constant)
            operands = tuple([self._now[operand] for operand in step.input_slots])
            (self._now[constant],) = self._builder.add(step.op, operands, step.site)

    def _emit(self, step: Step) -> tuple[int, ...]:
        if isinstance(step.operands, Entry):
            return (self._entries[step.operands.number],)
        instruction = self._loop.sequence.steps[step.position]
        operands = [self._value(operand) for operand in step.operands]
        results = self._builder.add(instruction.op, operands, instruction.site)
        if tuple([self._builder.metas[slot] for slot in results]) != instruction.output_metas:
            raise IrregularError
        return results

    def _value(self, operand: Operand) -> int:
        """The slot of the body that holds an operand."""
        match operand:
            case Wire(step, output):
                return self._results[step][output]
            case Carried():
                return self._carries[self._loop.leaf(operand)]
            case Same(slot):
                return self._now[slot]
            case Made(number):
                return self._made[number]
            case Entry(number):
                return self._entries[number]
