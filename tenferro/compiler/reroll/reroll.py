"""Loop rerolling: the pass, and the replay that proves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tenferro.compiler.canonical.simplify import DeadCode
from tenferro.compiler.passes import Needs, Pass
from tenferro.compiler.reroll.iterations import (
    OUTSIDE,
    IrregularError,
    Iterations,
    PeriodicRun,
    Rolled,
    Sequence,
    find_runs,
)
from tenferro.compiler.reroll.loop import (
    Demands,
    Loop,
    LoopBuilder,
    RerolledBody,
    ask,
    concatenate_iterations,
    stack,
    unstacked,
)
from tenferro.ir import ExecInstruction, ExecOp, ExecProgram
from tenferro.ops import BroadcastInDim, Concatenate, scalar
from tenferro.ops.control_flow import Scan

__all__ = ["ROLLED", "Reroll"]


# The proof that a loop computes what its iterations did: it is replayed iteration by iteration.

ValueNumber = tuple[int, ...]


class ValueNumbers:
    """A number for each value of a program; equal ops on equal values give equal numbers."""

    def __init__(self, sequence: Sequence) -> None:
        program = sequence.program
        self._sequence = sequence
        self.known: dict[ValueNumber, tuple[int, ...]] = {}
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

        Each iteration is looked up among the values that the program computes. In the end every
        result of the loop must be the value that it replaces.
        """
        of, count = self.of, loop.iterations.count
        every = [of[slot] for slot in consts]
        carry = [
            -1 - leaf if carried.start is None else of[carried.start]
            for leaf, carried in enumerate(loop.carries)
        ]
        xs = [
            entries.slots[loop.iterations.low : loop.iterations.high]
            for entries in loop.iterations.entries
        ]
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
        return self._sequence.steps[int(loop.positions[number, step])].output_slots[output]


class _Replay:
    """A body whose instructions are looked up."""

    def __init__(self, sequence: Sequence, body: ExecProgram) -> None:
        self._body = body
        self._lines = [
            (sequence.exact(step.op), step.input_slots, step.output_slots, step.op.commutative)
            for step in body.steps_of(ExecOp)
        ]

    def run(self, inputs: list[int], known: dict[ValueNumber, tuple[int, ...]]) -> list[int] | None:
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


# Reroll: repeated structure of a program becomes a loop.

ROLLED = "rolled: "
"""How the site of a loop starts that the pass has made."""
DEEPEST = 3
TRIALS = 4
PERIODS = 3


@dataclass(frozen=True)
class Reroll(Pass):
    """Repeated structure, such as the steps of a Python loop, becomes a `Scan`.

    A period is found in the sequence of ops and types, and the operands of an iteration are
    explained by few rules. The loop is then replayed and compared with the program, value by value;
    if they differ, the program stays. Results keep their bits.

    Attributes:
        iterations: the least number of iterations.
        saves: the least number of instructions that a loop must save.
    """

    iterations: int = 16
    saves: int = 167

    keeps_more = True
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with loops; itself if it has no repeated structure that pays."""
        return self._rolled(program, DEEPEST)

    def _rolled(self, program: ExecProgram, depth: int) -> ExecProgram:
        if not depth or len(program.instructions) < max(self.saves, self.iterations):
            return program
        sequence = Sequence(program)
        runs = find_runs(sequence.symbols[sequence.order], self.iterations, self.saves)
        for _ in range(TRIALS):
            loops, rolled = self._loops(sequence, runs)
            demands = ask(sequence, [loop for _, loop in loops], rolled)
            useless = {run for run, loop in loops if loop.saved() < self.saves}
            if not useless:
                break
            runs = [run for run, _ in loops if run not in useless]
        if not loops or useless:
            return program
        try:
            result = _Building(self, sequence, [loop for _, loop in loops], rolled, depth)
        except IrregularError:
            return program
        return DeadCode().run(result.program(demands))

    def _loops(
        self, sequence: Sequence, runs: list[PeriodicRun]
    ) -> tuple[list[tuple[PeriodicRun, Loop]], Rolled]:
        """The runs whose operands follow rules, as loops."""
        rolled = Rolled(sequence)
        loops: list[tuple[PeriodicRun, Loop]] = []
        for run in runs:
            iterations = self._iterations(sequence, run, rolled)
            if iterations is not None:
                loop = Loop(sequence, iterations, [earlier for _, earlier in loops])
                rolled.add(len(loops), loop.positions)
                loops.append((run, loop))
        return loops, rolled

    def _iterations(
        self, sequence: Sequence, run: PeriodicRun, rolled: Rolled
    ) -> Iterations | None:
        """The iterations of a run; if operands alternate, each may be two or three periods."""
        for periods in range(1, PERIODS + 1):
            longer = replace(run, period=run.period * periods)
            if longer.length < max(self.iterations, 2) * longer.period:
                break
            try:
                iterations = Iterations(sequence, longer, rolled)
            except IrregularError:
                continue
            if iterations.count >= max(self.iterations, 2):
                return iterations
        return None


class _Building:
    """Builds the program with loops in the place of their last instructions."""

    def __init__(
        self, reroll: Reroll, sequence: Sequence, loops: list[Loop], rolled: Rolled, depth: int
    ) -> None:
        """Raises IrregularError if some loop does not compute what its iterations did."""
        self._reroll, self._depth = reroll, depth
        self._sequence, self._loops, self._rolled = sequence, loops, rolled
        self._at = LoopBuilder(sequence.program)
        self._stacks: list[list[int]] = []
        values = ValueNumbers(sequence)
        self._bodies = [RerolledBody(loop) for loop in loops]
        self._scans: list[Scan] = []
        for loop, body in zip(loops, self._bodies, strict=True):
            self._scans.append(loop.scan(body.program, len(body.consts)))
            if not values.replay(loop, self._scans[-1], body.consts):
                raise IrregularError

    def program(self, demands: Demands) -> ExecProgram:
        ends = {int(loop.positions[-1, -1]): loop for loop in self._loops}
        for position, step in enumerate(self._sequence.steps):
            if position in ends:
                self._emit_loop(ends[position])
            elif self._rolled.of_step[position] == OUTSIDE:
                self._at.keep(self._with_pieces(position, step, demands))
        return self._at.build(self._sequence.program.output_slots)

    def _with_pieces(
        self, position: int, step: ExecInstruction, demands: Demands
    ) -> ExecInstruction:
        """A concatenation that reads stacked results as a whole; other instructions as they are."""
        step = replace(step, last_use=()) if step.last_use else step
        if position not in demands.pieces:
            return step
        assert isinstance(step.op, Concatenate)
        operands: list[int] = []
        stop = 0
        for piece in demands.pieces[position]:
            loop = self._loops[piece.loop]
            ys = self._stacks[piece.loop][loop.ask_all(piece.result)]
            operands += step.input_slots[stop : piece.start]
            operands.append(concatenate_iterations(self._at, loop, ys, piece, step.op.axis))
            stop = piece.stop
        operands += step.input_slots[stop:]
        return replace(step, input_slots=tuple(operands))

    def _emit_loop(self, loop: Loop) -> None:
        """The loop, and after it the results that are read one by one."""
        number = len(self._stacks)
        at, body, scan = self._at, self._bodies[number], self._scans[number]
        starts = [self._start(loop, leaf) for leaf in range(len(loop.carries))]
        xs = [stack(at, loop, entries, self._stacks) for entries in loop.iterations.entries]
        inner = self._reroll._rolled(body.program, self._depth - 1)
        asked = dict(self._asked(loop))
        carried = [asked.get(leaf) for leaf in range(len(loop.carries))]
        slots = [*carried, *[None for _ in loop.stacked]]
        site = f"{ROLLED}{loop.iterations.count} rounds of {loop.size} instructions"
        site += f" at {loop.site}" if loop.site is not None else ""
        if inner is not body.program:
            scan = loop.scan(inner, len(body.consts))
        outputs = at.write(slots, scan, (*body.consts, *starts, *xs), site)
        self._stacks.append(list(outputs[len(carried) :]))
        written = {slot for slot in carried if slot is not None}
        for slot in dict.fromkeys(loop.singles):
            if slot not in written:
                ys = self._stacks[-1][loop.stacked.index(self._result(slot))]
                unstacked(at, loop, ys, self._number(slot), slot)

    def _start(self, loop: Loop, leaf: int) -> int:
        """The slot that a carry starts from; zeros if no iteration reads them."""
        carry, at = loop.carries[leaf], self._at
        if carry.start is not None:
            return carry.start
        step, output = carry.result
        meta = self._sequence.steps[loop.iterations.steps[step].position].output_metas[output]
        zero = at.emit(scalar(0, meta.dtype))
        return at.emit(BroadcastInDim(meta.exact_shape(), ()), zero) if meta.rank else zero

    def _asked(self, loop: Loop) -> Iterator[tuple[int, int]]:
        """The carries that end with a value that is read after the loop, and its slot."""
        leaves: set[int] = set()
        for slot in dict.fromkeys(loop.singles):
            leaf = loop.carry_ago(self._result(slot), loop.iterations.count - self._number(slot))
            if leaf is not None and leaf not in leaves:
                leaves.add(leaf)
                yield leaf, slot

    def _result(self, slot: int) -> tuple[int, int]:
        return int(self._rolled.places[slot]), int(self._rolled.outputs[slot])

    def _number(self, slot: int) -> int:
        return int(self._rolled.iterations[slot])
