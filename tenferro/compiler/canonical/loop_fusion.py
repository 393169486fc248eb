"""Loop fusion: scans, whiles, switches, lane sums that share work become one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tenferro.compiler.passes import Pass
from tenferro.config import config
from tenferro.ir import (
    ExecBuilder,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    TensorMeta,
    renumber,
    run,
    verify,
)
from tenferro.ops.control_flow import LaneSum, Scan, Switch, While

__all__ = ["LaneJoining", "LoopJoining", "SwitchJoining", "WhileJoining"]


# Putting one instruction in the place of two, and one program in that of two.


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


# Loop joining: loops over the same slices whose bodies share work become one loop.

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
    looks_for = (Scan,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such loops joined, until no pair is left."""
        if len(program.ops_of(Scan)) < 2:
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


# Lane joining: sums over the same rounds whose bodies share work become one.


@dataclass(frozen=True)
class LaneJoining(Pass):
    """Joins two `LaneSum`s of as many rounds and lanes of which neither needs the other.

    They are joined if that saves work: if both bodies compute the same value from arrays. So value
    and gradient of a sliced network contract the network once for each slice.
    """

    name = "lane_joining"
    looks_for = (LaneSum,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such sums joined, until no pair is left."""
        apart: set[tuple[object, ...]] = set()
        while (joined := _with_two_lane_sums_joined(program, apart)) is not None:
            program = joined
        return program


def _with_two_lane_sums_joined(
    program: ExecProgram, apart: set[tuple[object, ...]]
) -> ExecProgram | None:
    """The program with the first pair joined that can be; None if there is none.

    `apart` are pairs that are known to share no work.
    """
    for first, second in _lane_candidates(program):
        steps = program.instructions[first], program.instructions[second]
        pair = tuple([(step.op, step.input_slots) for step in steps])
        if pair not in apart:
            joined = _joined(*steps)
            if joined is not None:
                return with_joined(program, first, second, joined)
            apart.add(pair)
    return None


def _lane_candidates(program: ExecProgram) -> Iterator[tuple[int, int]]:
    """Positions of sums over the same rounds that read a common value, but not each other."""
    if len(program.ops_of(LaneSum)) < 2:
        return
    for pair in independent_pairs(program, LaneSum, passed_on=False):
        one, other = [program.instructions[position] for position in pair]
        if _rounds(one) == _rounds(other) and set(one.input_slots) & set(other.input_slots):
            yield pair


def _rounds(step: ExecInstruction) -> tuple[int, int]:
    assert isinstance(step.op, LaneSum)
    return step.op.total, step.op.lanes


def _joined(*steps: ExecInstruction) -> ExecInstruction | None:
    """One sum for several; None if their bodies share no work."""
    builder, ops = JointBuilder(), [step.op for step in steps if isinstance(step.op, LaneSum)]
    consts: dict[int, int] = {}  # slots of the program to slots of the body
    for step, op in zip(steps, ops, strict=True):
        for slot, meta in zip(step.input_slots, op.body.input_metas, strict=False):
            if slot not in consts:
                consts[slot] = builder.input(meta)
    sums = [[builder.input(meta) for meta in op.sum_metas] for op in ops]
    number = builder.input(ops[0].body.input_metas[-1])
    results = [
        slot
        for step, op, own in zip(steps, ops, sums, strict=True)
        for slot in builder.inline(op.body, [*(consts[i] for i in step.input_slots), *own, number])
    ]
    if not builder.shares_work:
        return None
    joined = replace(
        ops[0],
        body=builder.build(results),
        consts=len(consts),
        apart=tuple([on for op in ops for on in op.apart]),
    )
    return ExecInstruction(
        joined,
        tuple(consts),
        tuple([slot for step in steps for slot in step.output_slots]),
        tuple([meta for step in steps for meta in step.output_metas]),
        (),
        steps[0].site,
    )


# Switch joining: switches on the same index become one switch.


@dataclass(frozen=True)
class SwitchJoining(Pass):
    """Joins two switches on one index if the second reads results of the first only directly.

    So the branch that is taken computes the value, its derivative and what the two share in one
    go. What the second reads of the first is then passed on inside the branch.
    """

    name = "switch_joining"
    looks_for = (Switch,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such switches joined, until no pair is left."""
        while (joined := _with_two_switches_joined(program)) is not program:
            program = joined
        return program


def _with_two_switches_joined(program: ExecProgram) -> ExecProgram:
    for first, second in independent_pairs(program, Switch, passed_on=True):
        steps = program.instructions[first], program.instructions[second]
        joined = _joined_switches(*steps)
        if joined is not None:
            return with_joined(program, first, second, joined)
    return program


def _joined_switches(first: ExecInstruction, second: ExecInstruction) -> ExecInstruction | None:
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


# While joining: a loop that another loop computes on its way is left out.


@dataclass(frozen=True)
class WhileJoining(Pass):
    """Leaves out a `While` if another one has its carry among its own.

    The tangents of a loop are computed by a loop that carries the values too, so a program of
    values and tangents has both loops.
    """

    name = "while_joining"
    looks_for = (While,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such loops left out, until none is left."""
        while (joined := _with_one_left_out(program)) is not program:
            program = joined
        return program


def _with_one_left_out(program: ExecProgram) -> ExecProgram:
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
