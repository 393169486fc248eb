"""Rolling: repeated structure of a program becomes a loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tenferro.compiler.canonical.dead_code import DeadCode
from tenferro.compiler.canonical.rolling.loop import Body, Loop
from tenferro.compiler.canonical.rolling.operands import Rolled
from tenferro.compiler.canonical.rolling.period import Run, find_runs
from tenferro.compiler.canonical.rolling.proof import Values
from tenferro.compiler.canonical.rolling.results import Demands, ask
from tenferro.compiler.canonical.rolling.rounds import IrregularError, Rounds
from tenferro.compiler.canonical.rolling.stacking import Emitter, joined, stack, unstacked
from tenferro.compiler.canonical.rolling.symbols import OUTSIDE, Sequence
from tenferro.compiler.passing import Needs, Pass
from tenferro.control import Scan
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.ops import BroadcastInDim, Concatenate, scalar

ROLLED = "rolled: "
"""How the site of a loop starts that the pass has made."""
DEEPEST = 3
TRIALS = 4
PERIODS = 3


@dataclass(frozen=True)
class Rolling(Pass):
    """Repeated structure, such as the steps of a Python loop, becomes a `Scan`.

    A period is found in the sequence of ops and types, and the operands of a round are explained by
    few rules. The loop is then replayed and compared with the program, value by value; if they
    differ, the program stays. Results keep their bits.

    Attributes:
        rounds: the least number of rounds.
        saves: the least number of instructions that a loop must save.
    """

    rounds: int = 16
    saves: int = 167

    name = "rolling"
    keeps_more = True
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with loops; itself if it has no repeated structure that pays."""
        return self._rolled(program, DEEPEST)

    def _rolled(self, program: ExecProgram, depth: int) -> ExecProgram:
        if not depth or len(program.instructions) < max(self.saves, self.rounds):
            return program
        sequence = Sequence(program)
        runs = find_runs(sequence.symbols[sequence.order], self.rounds, self.saves)
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

    def _loops(self, sequence: Sequence, runs: list[Run]) -> tuple[list[tuple[Run, Loop]], Rolled]:
        """The runs whose operands follow rules, as loops."""
        rolled = Rolled(sequence)
        loops: list[tuple[Run, Loop]] = []
        for run in runs:
            rounds = self._rounds(sequence, run, rolled)
            if rounds is not None:
                loop = Loop(sequence, rounds, [earlier for _, earlier in loops])
                rolled.add(len(loops), loop.positions)
                loops.append((run, loop))
        return loops, rolled

    def _rounds(self, sequence: Sequence, run: Run, rolled: Rolled) -> Rounds | None:
        """The rounds of a run; if operands alternate, each may be two or three periods."""
        for periods in range(1, PERIODS + 1):
            longer = replace(run, period=run.period * periods)
            if longer.length < max(self.rounds, 2) * longer.period:
                break
            try:
                rounds = Rounds(sequence, longer, rolled)
            except IrregularError:
                continue
            if rounds.count >= max(self.rounds, 2):
                return rounds
        return None


class _Building:
    """Builds the program with loops in the place of their last instructions."""

    def __init__(
        self, rolling: Rolling, sequence: Sequence, loops: list[Loop], rolled: Rolled, depth: int
    ) -> None:
        """Raises IrregularError if some loop does not compute what its rounds did."""
        self._rolling, self._depth = rolling, depth
        self._sequence, self._loops, self._rolled = sequence, loops, rolled
        self._at = Emitter(list(sequence.metas))
        self._stacks: list[list[int]] = []
        values = Values(sequence)
        self._bodies = [Body(loop) for loop in loops]
        self._scans: list[Scan] = []
        for loop, body in zip(loops, self._bodies, strict=True):
            self._scans.append(loop.scan(body.program, len(body.consts)))
            if not values.replay(loop, self._scans[-1], body.consts):
                raise IrregularError

    def program(self, demands: Demands) -> ExecProgram:
        """The program."""
        ends = {int(loop.positions[-1, -1]): loop for loop in self._loops}
        for position, step in enumerate(self._sequence.steps):
            if position in ends:
                self._emit_loop(ends[position])
            elif self._rolled.of_step[position] == OUTSIDE:
                self._at.steps.append(self._with_pieces(position, step, demands))
        program = self._sequence.program
        return replace(program, instructions=tuple(self._at.steps), n_slots=len(self._at.metas))

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
            operands.append(joined(self._at, loop, ys, piece, step.op.axis))
            stop = piece.stop
        operands += step.input_slots[stop:]
        return replace(step, input_slots=tuple(operands))

    def _emit_loop(self, loop: Loop) -> None:
        """The loop, and after it the results that are read one by one."""
        number = len(self._stacks)
        at, body, scan = self._at, self._bodies[number], self._scans[number]
        starts = [self._start(loop, leaf) for leaf in range(len(loop.carries))]
        xs = [stack(at, loop, entries, self._stacks) for entries in loop.rounds.entries]
        inner = self._rolling._rolled(body.program, self._depth - 1)
        asked = dict(self._asked(loop))
        carried = [asked.get(leaf) for leaf in range(len(loop.carries))]
        outputs = [at.new() if slot is None else slot for slot in carried]
        outputs += [at.new() for _ in loop.stacked]
        site = f"{ROLLED}{loop.rounds.count} rounds of {loop.size} instructions"
        site += f" at {loop.site}" if loop.site is not None else ""
        if inner is not body.program:
            scan = loop.scan(inner, len(body.consts))
        at.emit_all(scan, (*body.consts, *starts, *xs), outputs, site)
        self._stacks.append(outputs[len(carried) :])
        taken = {slot for slot in carried if slot is not None}
        for slot in dict.fromkeys(loop.singles):
            if slot not in taken:
                self._unstack(loop, slot)

    def _start(self, loop: Loop, leaf: int) -> int:
        """The slot that a carry starts from; zeros if no round reads them."""
        carry, at = loop.carries[leaf], self._at
        if carry.start is not None:
            return carry.start
        step, output = carry.result
        meta = self._sequence.steps[loop.rounds.steps[step].position].output_metas[output]
        zero = at.emit(scalar(0, meta.dtype))
        return at.emit(BroadcastInDim(meta.exact_shape(), ()), zero) if meta.rank else zero

    def _asked(self, loop: Loop) -> Iterator[tuple[int, int]]:
        """The carries that end with a value that is read after the loop, and its slot."""
        taken: set[int] = set()
        for slot in dict.fromkeys(loop.singles):
            leaf = loop.carry_ago(self._result(slot), loop.rounds.count - self._number(slot))
            if leaf is not None and leaf not in taken:
                taken.add(leaf)
                yield leaf, slot

    def _result(self, slot: int) -> tuple[int, int]:
        return int(self._rolled.places[slot]), int(self._rolled.outputs[slot])

    def _number(self, slot: int) -> int:
        return int(self._rolled.rounds[slot])

    def _unstack(self, loop: Loop, slot: int) -> None:
        """One value of a stack, in the slot that it had."""
        ys = self._stacks[-1][loop.stacked.index(self._result(slot))]
        unstacked(self._at, loop, ys, self._number(slot), slot)
