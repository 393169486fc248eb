"""Loop joining: loops over the same slices whose bodies share work become one loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tenferro.compiler.canonical.joining import (
    JointBuilder,
    is_work,
    ordered_operands,
    union,
    with_joined,
)
from tenferro.compiler.passing import Pass
from tenferro.control import Scan
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.shape import TensorMeta

T = TypeVar("T")


@dataclass(frozen=True)
class LoopJoining(Pass):
    """Joins two `Scan`s of equal length and direction into one whose body computes both.

    They are joined if the second reads of the first only what it stacks, entry by entry: then a
    round reads it from the round of the other, and nothing is stacked for it. The tangents of a
    loop so go along with its values. Loops over the same xs of which neither needs the other are
    joined if that saves work, which is the case if both bodies compute the same value from arrays.
    So value and gradient of a sliced network contract the network once for each slice. A carry that
    has the same value in both, such as the number of the round, is carried once. Works for any
    extents. Bodies are read once, and compared only where they may share work; each pair that is
    joined takes one walk over the program.
    """

    name = "loop_joining"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such loops joined, until no pair is left."""
        if not program.has_op(Scan) or len(program.ops_of(Scan)) < 2:
            return program
        work = _Work()
        while (joined := _with_one_pair_joined(program, work)) is not None:
            program = joined
        return program


@dataclass(frozen=True, slots=True)
class _Loop:
    """A `Scan` of a program, and the position of its instruction."""

    position: int
    step: ExecInstruction
    op: Scan

    @property
    def consts(self) -> tuple[int, ...]:
        """The slots that every round reads."""
        return self.step.input_slots[: self.op.consts]

    @property
    def starts(self) -> tuple[int, ...]:
        """The slots that the carry starts from."""
        return self.step.input_slots[self.op.consts : self.op.consts + self.op.carry]

    @property
    def xs(self) -> tuple[int, ...]:
        """The slots of which each round reads one entry."""
        return self.step.input_slots[self.op.consts + self.op.carry :]

    @property
    def rounds(self) -> tuple[object, ...]:
        """What loops have in common whose rounds can be those of one loop."""
        return self.op.length, self.op.reverse, self.op.unroll

    @property
    def stacks(self) -> tuple[int, ...]:
        """The slots of which each round writes one entry."""
        return self.step.output_slots[self.op.carry :]

    def feeds(self, other: _Loop) -> bool:
        """Whether rounds of the other loop read what rounds of this one stack."""
        return self.rounds == other.rounds and not set(self.stacks).isdisjoint(other.xs)

    @property
    def key(self) -> tuple[object, ...]:
        """What identifies the loop, wherever it stands in the program."""
        return self.op, self.step.input_slots


class _Work:
    """The work that loops do, computed once for each loop.

    Attributes:
        unshared: pairs of loops that do not share work.
    """

    def __init__(self) -> None:
        self.unshared: set[tuple[object, ...]] = set()
        self._numbers: dict[object, int] = {}
        self._of_loop: dict[object, frozenset[int]] = {}

    def of(self, loop: _Loop) -> frozenset[int]:
        """Numbers of the values that its rounds compute with arrays.

        Values of two loops have the same number if the same ops compute them from the same
        operands; carries that start from the same value are assumed to be equal.
        """
        if loop.key not in self._of_loop:
            self._of_loop[loop.key] = frozenset(self._computed(loop))
        return self._of_loop[loop.key]

    def _computed(self, loop: _Loop) -> Iterator[int]:
        body, seen = loop.op.body, dict.fromkeys(loop.starts, 0)
        names: list[object] = [("const", slot) for slot in loop.consts]
        for slot in loop.starts:
            names.append(("carry", slot, seen[slot]))
            seen[slot] += 1
        names += [("entry", slot) for slot in loop.xs]
        metas = body.slot_metas()
        now = {slot: self._number(n) for slot, n in zip(body.input_slots, names, strict=True)}
        for step in body.instructions:
            operands = ordered_operands(step, [now[slot] for slot in step.input_slots])
            for place, slot in enumerate(step.output_slots):
                now[slot] = self._number((step.op.identity, operands, place))
            if is_work(step, [metas[slot] for slot in step.input_slots]):
                yield now[step.output_slots[0]]

    def _number(self, name: object) -> int:
        return self._numbers.setdefault(name, len(self._numbers))


def _with_one_pair_joined(program: ExecProgram, work: _Work) -> ExecProgram | None:
    """The program with the first pair joined that can be; None if there is none."""
    for first, second in _candidates(program, work):
        pair = (first.key, second.key)
        if pair not in work.unshared:
            body = _joint_body(first, second)
            if body.shares_work or first.feeds(second):
                positions = first.position, second.position
                return with_joined(program, *positions, body.instruction(), body.aliases())
            work.unshared.add(pair)
    return None


def _candidates(program: ExecProgram, work: _Work) -> Iterator[tuple[_Loop, _Loop]]:
    """Loops of which one feeds the other, or which may share work over the same entries.

    The second needs nothing else of the first.
    """
    loops: list[_Loop] = []
    doing: dict[object, list[int]] = {}  # the loops that do each piece of work
    stacked: dict[int, int] = {}  # the loop that stacks a slot
    needs: dict[int, int] = {}  # for each slot, as a bit mask, the loops that it depends on
    for position, step in enumerate(program.instructions):
        needed = union(needs, step.input_slots)
        if isinstance(step.op, Scan):
            loop = _Loop(position, step, step.op)
            alike = [doing.setdefault((loop.rounds, loop.xs, piece), []) for piece in work.of(loop)]
            feeding = {stacked[slot] for slot in loop.xs if slot in stacked}
            for earlier in sorted(feeding.union(*alike)):
                fed = set(loops[earlier].stacks) if loops[earlier].feeds(loop) else set()
                others = [
                    *loop.consts,
                    *loop.starts,
                    *(slot for slot in loop.xs if slot not in fed),
                ]
                if not union(needs, others) >> earlier & 1 and (fed or earlier not in feeding):
                    yield loops[earlier], loop
            for numbers in alike:
                numbers.append(len(loops))
            stacked.update(dict.fromkeys(loop.stacks, len(loops)))
            needed |= 1 << len(loops)
            loops.append(loop)
        if needed:
            needs.update(dict.fromkeys(step.output_slots, needed))


def _joint_body(first: _Loop, second: _Loop) -> _JointBody:
    """One body for both loops, in which carries that are equal in every round are one.

    Carries that start from the same value are first assumed to be equal. If a round computes
    different values of two of them, the body is built again without that assumption.
    """
    equal = _starting_alike(first, second)
    while True:
        body = _JointBody(first, second, equal)
        ends = [
            results[: loop.op.carry] for loop, results in zip(body.loops, body.results, strict=True)
        ]
        still_equal = {j: i for j, i in equal.items() if ends[1][j] == ends[0][i]}
        if still_equal == equal:
            return body
        equal = still_equal


def _starting_alike(first: _Loop, second: _Loop) -> dict[int, int]:
    """For each leaf of the second carry a leaf of the first that starts from the same value."""
    leaves: dict[int, list[int]] = {}
    for leaf, slot in enumerate(first.starts):
        leaves.setdefault(slot, []).append(leaf)
    pairs: dict[int, int] = {}
    for leaf, slot in enumerate(second.starts):
        if leaves.get(slot):
            pairs[leaf] = leaves[slot].pop(0)
    return pairs


class _JointBody:
    """The body of a joined loop, in which each value is computed once.

    Attributes:
        loops: the two loops.
        equal: the leaves of the second carry that leaves of the first replace, and these.
        results: for each loop the values that its body returns, as slots of this body.
        shares_work: whether both compute some value with arrays.
    """

    def __init__(self, first: _Loop, second: _Loop, equal: Mapping[int, int]) -> None:
        self.loops = (first, second)
        self.equal = equal
        self._builder = builder = JointBuilder()
        consts: dict[int, int] = {}  # slots of the program to slots of the body
        for loop in self.loops:
            for slot, meta in zip(loop.consts, loop.op.body.input_metas, strict=False):
                if slot not in consts:
                    consts[slot] = builder.input(meta)
        self._consts = tuple(consts)
        carry = [builder.input(meta) for meta in _carried(first)]
        own = [
            carry[equal[leaf]] if leaf in equal else builder.input(meta)
            for leaf, meta in enumerate(_carried(second))
        ]
        entries: dict[int, int] = {}  # a loop may read one slot several times
        fed = set(first.stacks)
        for slot, meta in (*_entries(first), *_entries(second)):
            if slot not in entries and slot not in fed:
                entries[slot] = builder.input(meta)
        self._xs = tuple(entries)
        results = builder.inline(first.op.body, _inputs(first, consts, carry, entries))
        entries.update(zip(first.stacks, results[first.op.carry :], strict=True))
        of_second = builder.inline(second.op.body, _inputs(second, consts, own, entries))
        self.results = (results, of_second)
        self.shares_work = builder.shares_work

    def instruction(self) -> ExecInstruction:
        """The joined loop: the carries of both, then the ys of both."""
        first, second = self.loops
        steps = (first.step, second.step)
        carry = first.op.carry + second.op.carry - len(self.equal)
        starts = [slot for leaf, slot in enumerate(second.starts) if leaf not in self.equal]
        return ExecInstruction(
            replace(
                first.op,
                body=self._builder.build(self._in_order(self.results)),
                consts=len(self._consts),
                carry=carry,
            ),
            (*self._consts, *first.starts, *starts, *self._xs),
            self._in_order([step.output_slots for step in steps]),
            self._in_order([step.output_metas for step in steps]),
            (),
            first.step.site,
        )

    def aliases(self) -> dict[int, int]:
        """For each dropped result of the second loop the result of the first that replaces it."""
        first, second = self.loops
        return {
            second.step.output_slots[j]: first.step.output_slots[i] for j, i in self.equal.items()
        }

    def _in_order(self, results: Sequence[Sequence[T]]) -> tuple[T, ...]:
        """Entries that belong to the results of the two loops, in the order of the joined loop."""
        of_first, of_second = results
        first, second = (loop.op.carry for loop in self.loops)
        own = [value for leaf, value in enumerate(of_second[:second]) if leaf not in self.equal]
        return (*of_first[:first], *own, *of_first[first:], *of_second[second:])


def _entries(loop: _Loop) -> Iterator[tuple[int, TensorMeta]]:
    """The slots of the xs, with the types of an entry."""
    start = loop.op.consts + loop.op.carry
    return zip(loop.xs, loop.op.body.input_metas[start:], strict=True)


def _inputs(
    loop: _Loop, consts: Mapping[int, int], carry: Sequence[int], entries: Mapping[int, int]
) -> list[int]:
    """The slots of a joint body that are the inputs of a loop's body."""
    return [*map(consts.__getitem__, loop.consts), *carry, *map(entries.__getitem__, loop.xs)]


def _carried(loop: _Loop) -> tuple[TensorMeta, ...]:
    start = loop.op.consts
    return loop.op.body.input_metas[start : start + loop.op.carry]
