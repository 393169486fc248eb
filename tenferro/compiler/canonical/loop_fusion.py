"""Loop fusion: scans, whiles, switches, lane sums that share work become one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, cast

from tenferro.compiler.passes import Pass
from tenferro.config import config
from tenferro.ir import (
    ExecBuilder,
    ExecInstruction,
    ExecProgram,
    TensorMeta,
    renumber,
    run,
    verify,
)
from tenferro.ops.control_flow import ControlOp, LaneSum, Scan, Switch, While

__all__ = ["LoopFusion"]


@dataclass(frozen=True)
class LoopFusion(Pass):
    """Makes one op of two that hold programs and run in the same iterations.

    * Two `Scan`s of equal length and direction, if the second reads of the first only what it
      stacks, entry by entry: then an iteration reads it from that of the other, and nothing is
      stacked for it. The tangents of a loop so go along with its values. Scans over the same xs of
      which neither needs the other are fused if both bodies compute the same value from arrays. So
      value and gradient of a sliced network contract the network once for each slice. A carry that
      has the same value in both, such as the number of the iteration, is carried once.
    * Two `LaneSum`s of as many iterations and lanes, on the same condition.
    * Two `Switch`es on one index, if the second reads results of the first only directly: these are
      passed on inside the branch. So the branch that is taken computes the value, its derivative
      and what the two share in one go.
    * A `While` is left out if another one has its carry among its own, as the loop of its tangents
      has.

    Works for any extents. Bodies are read once, and compared only where they may share work; each
    pair that is fused takes one walk over the program.

    Attributes:
        ops: the classes of ops that are fused.
    """

    ops: tuple[type[ControlOp], ...] = (Scan, LaneSum, Switch, While)

    switches: ClassVar[Mapping[str, type[ControlOp]]] = {
        "scan_fusion": Scan,
        "lane_sum_fusion": LaneSum,
        "switch_fusion": Switch,
        "while_fusion": While,
    }
    """The options that switch it off for one of the classes."""

    looks_for = (Scan, LaneSum, Switch, While)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such ops fused, until no pair is left."""
        for op_class in self.ops:
            fusion = _FUSIONS[op_class]()
            apart: set[tuple[object, ...]] = set()  # pairs that cannot be fused
            while len(program.ops_of(op_class)) > 1:
                fused = _with_one_pair_fused(program, op_class, fusion, apart)
                if fused is None:
                    break
                program = fused
        return program


class _Fused(NamedTuple):
    """An instruction in the place of two, and what replaces slots that it does not write."""

    step: ExecInstruction
    aliases: Mapping[int, int] = {}


class _Fusion(ABC):
    """How ops of one class are fused."""

    @abstractmethod
    def offers(self, step: ExecInstruction) -> Iterable[Hashable]:
        """What a later op may have in common with this one."""

    def wants(self, step: ExecInstruction) -> Iterable[Hashable]:
        """What an earlier op must offer, one of these, to be fused with this one."""
        return self.offers(step)

    def reads_apart(self, first: ExecInstruction, second: ExecInstruction) -> Sequence[int]:
        """The operands of the second which must not depend on the first."""
        return second.input_slots

    @abstractmethod
    def fused(self, first: ExecInstruction, second: ExecInstruction) -> _Fused | None:
        """One instruction for both; None if they stay apart."""


def _with_one_pair_fused(
    program: ExecProgram,
    op_class: type[ControlOp],
    fusion: _Fusion,
    apart: set[tuple[object, ...]],
) -> ExecProgram | None:
    """The program with the first pair fused that can be; None if there is none.

    The second of a pair needs nothing of the first but what is passed on to it.
    """
    steps = program.instructions
    positions: list[int] = []
    offered: dict[Hashable, list[int]] = {}
    needs: dict[int, int] = {}  # for each slot, as a bit mask, which of these it depends on
    for position, step in enumerate(steps):
        needed = _union(needs, step.input_slots)
        if isinstance(step.op, op_class):
            alike = {number for key in fusion.wants(step) for number in offered.get(key, ())}
            for number in sorted(alike):
                first = steps[positions[number]]
                pair = (first.op, first.input_slots, step.op, step.input_slots)
                if _union(needs, fusion.reads_apart(first, step)) >> number & 1 or pair in apart:
                    continue
                fused = fusion.fused(first, step)
                if fused is not None:
                    return with_fused(program, positions[number], position, *fused)
                apart.add(pair)
            for key in dict.fromkeys(fusion.offers(step)):
                offered.setdefault(key, []).append(len(positions))
            needed |= 1 << len(positions)
            positions.append(position)
        if needed:
            needs.update(dict.fromkeys(step.output_slots, needed))
    return None


def _union(needs: Mapping[int, int], slots: Iterable[int]) -> int:
    """All bits that any of the slots needs."""
    needed = 0
    for slot in slots:
        needed |= needs.get(slot, 0)
    return needed


def with_fused(
    program: ExecProgram,
    first: int,
    second: int,
    fused: ExecInstruction,
    aliases: Mapping[int, int] | None = None,
) -> ExecProgram:
    """The program with `fused` in place of the instructions at the positions `first` and `second`.

    It stands where the first one stood. Instructions between the two come before it if it needs
    them. `aliases` are slots that other slots replace, wherever they are read. If `config.verify`
    is on, the result is verified, since a pass that fuses reads it again before it returns.
    """
    now, steps = aliases or {}, program.instructions
    needed = set(fused.input_slots)
    before: list[ExecInstruction] = []
    after: list[ExecInstruction] = []
    for step in reversed(steps[first + 1 : second]):
        if needed.isdisjoint(step.output_slots):
            after.append(step)
        else:
            needed.update(step.input_slots)
            before.append(step)
    ordered = [*steps[:first], *before[::-1], fused, *after[::-1], *steps[second + 1 :]]
    result = replace(
        program,
        instructions=tuple(
            [
                replace(
                    step,
                    input_slots=tuple([now.get(slot, slot) for slot in step.input_slots]),
                    last_use=(),
                )
                if step.last_use or not now.keys().isdisjoint(step.input_slots)
                else step
                for step in ordered
            ]
        ),
        output_slots=tuple([now.get(slot, slot) for slot in program.output_slots]),
    )
    if config.verify:
        verify(result)
    return result


class _JointBuilder(ExecBuilder):
    """Builds a program of several others, in which each value is computed once.

    Attributes:
        shares_work: whether two of them compute some value with arrays.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shares_work = False
        self._known: dict[tuple[bytes, tuple[int, ...]], tuple[int, ...]] = {}

    def inputs(self, known: dict[int, int], slots: Iterable[int], metas: Iterable[Any]) -> None:
        for slot, meta in zip(slots, metas, strict=True):
            if slot not in known:
                known[slot] = self.input(meta)

    def inline(self, program: ExecProgram, inputs: Sequence[int]) -> list[int]:
        """The results of one of the programs; values that exist already are not computed again."""
        there_before = len(self.metas)

        def joint(step: ExecInstruction, operands: list[int]) -> tuple[int, ...]:
            key = (step.op.identity, _ordered(step, operands))
            if key not in self._known:
                self._known[key] = self.add(step.op, operands, step.site)
            elif self._known[key][0] < there_before and _is_work(
                step, [self.metas[slot] for slot in operands]
            ):
                self.shares_work = True
            return self._known[key]

        return run(program, inputs, joint)


def _ordered(step: ExecInstruction, operands: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(operands) if step.op.commutative else operands)


def _is_work(step: ExecInstruction, operands: Sequence[TensorMeta | None]) -> bool:
    """Whether it computes with arrays, and does not only move or repeat their elements."""
    if step.op.moves or step.op.repeats:
        return False
    return any(meta is not None and meta.rank > 0 for meta in operands)


# Scans over the same entries, or of which one stacks the entries of the other.


class _Loop(NamedTuple):
    """A scan, and its operands and results by their roles."""

    op: Scan
    step: ExecInstruction
    consts: tuple[int, ...]
    starts: tuple[int, ...]
    xs: tuple[int, ...]
    stacks: tuple[int, ...]

    @classmethod
    def of(cls, step: ExecInstruction) -> _Loop:
        """The scan of an instruction."""
        op, slots = cast(Scan, step.op), step.input_slots
        end = op.consts + op.carry
        roles = slots[: op.consts], slots[op.consts : end], slots[end:]
        return cls(op, step, *roles, step.output_slots[op.carry :])

    @property
    def iterations(self) -> tuple[object, ...]:
        return self.op.length, self.op.reverse, self.op.unroll

    def metas(self, start: int, count: int | None = None) -> tuple[TensorMeta, ...]:
        return self.op.body.input_metas[start : None if count is None else start + count]


class _ScanFusion(_Fusion):
    """Reads each body once, and numbers what it computes with arrays."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._work: dict[object, frozenset[int]] = {}

    def offers(self, step: ExecInstruction) -> Iterator[Hashable]:
        loop = _Loop.of(step)
        yield from (("stacked", loop.iterations, slot) for slot in loop.stacks)
        yield from self._computed(loop)

    def wants(self, step: ExecInstruction) -> Iterator[Hashable]:
        loop = _Loop.of(step)
        yield from (("stacked", loop.iterations, slot) for slot in loop.xs)
        yield from self._computed(loop)

    def reads_apart(self, first: ExecInstruction, second: ExecInstruction) -> Sequence[int]:
        """All operands but the xs that iterations of the first stack, if they are the same."""
        one, other = _Loop.of(first), _Loop.of(second)
        fed = one.stacks if one.iterations == other.iterations else ()
        return [*other.consts, *other.starts, *(slot for slot in other.xs if slot not in fed)]

    def _computed(self, loop: _Loop) -> Iterator[Hashable]:
        """Names of the values that its iterations compute with arrays.

        Values of two loops have the same name if the same ops compute them from the same operands;
        carries that start from the same value are assumed to be equal.
        """
        key = loop.op, loop.step.input_slots
        if key not in self._work:
            self._work[key] = frozenset(self._numbered(loop))
        return ((loop.iterations, loop.xs, number) for number in self._work[key])

    def _numbered(self, loop: _Loop) -> Iterator[int]:
        body, count = loop.op.body, dict.fromkeys(loop.starts, 0)
        names: list[object] = [("const", slot) for slot in loop.consts]
        for slot in loop.starts:
            names.append(("carry", slot, count[slot]))
            count[slot] += 1
        names += [("entry", slot) for slot in loop.xs]
        metas = body.slot_metas()
        now = {slot: self._number(n) for slot, n in zip(body.input_slots, names, strict=True)}
        for step in body.instructions:
            operands = _ordered(step, [now[slot] for slot in step.input_slots])
            for place, slot in enumerate(step.output_slots):
                now[slot] = self._number((step.op.identity, operands, place))
            if _is_work(step, [metas[slot] for slot in step.input_slots]):
                yield now[step.output_slots[0]]

    def _number(self, name: object) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def fused(self, first: ExecInstruction, second: ExecInstruction) -> _Fused | None:
        """One body for both loops, in which carries that are equal in every iteration are one.

        Carries that start from the same value are first assumed to be equal. If an iteration
        computes different values of two of them, the body is built again without that assumption.
        """
        one, other = _Loop.of(first), _Loop.of(second)
        leaves: dict[int, list[int]] = {}
        for leaf, slot in enumerate(one.starts):
            leaves.setdefault(slot, []).append(leaf)
        equal = {
            leaf: leaves[slot].pop(0) for leaf, slot in enumerate(other.starts) if leaves.get(slot)
        }
        while True:
            fused, still_equal = _one_scan(one, other, equal)
            if still_equal == equal:
                return fused
            equal = still_equal


def _one_scan(
    one: _Loop, other: _Loop, equal: Mapping[int, int]
) -> tuple[_Fused | None, dict[int, int]]:
    """The scan for two, and which leaves of the second carry equal leaves of the first in it.

    `equal` are those that are assumed to. It is None if the bodies share no work and pass nothing
    on.
    """
    builder = _JointBuilder()
    consts: dict[int, int] = {}  # slots of the program to slots of the body
    for loop in (one, other):
        builder.inputs(consts, loop.consts, loop.metas(0, loop.op.consts))
    carry = [builder.input(meta) for meta in one.metas(one.op.consts, one.op.carry)]
    own = [
        carry[equal[leaf]] if leaf in equal else builder.input(meta)
        for leaf, meta in enumerate(other.metas(other.op.consts, other.op.carry))
    ]
    fed = set(one.stacks)
    entries: dict[int, int] = {}  # a loop may read one slot several times
    for loop in (one, other):
        metas = zip(loop.xs, loop.metas(loop.op.consts + loop.op.carry), strict=True)
        rest = dict(pair for pair in metas if pair[0] not in fed)
        builder.inputs(entries, rest, rest.values())
    xs = tuple(entries)

    def results_of(loop: _Loop, state: Sequence[int]) -> list[int]:
        inputs = [*map(consts.__getitem__, loop.consts), *state]
        return builder.inline(loop.op.body, [*inputs, *map(entries.__getitem__, loop.xs)])

    results = results_of(one, carry)
    entries.update(zip(one.stacks, results[one.op.carry :], strict=True))
    further = results_of(other, own)
    still_equal = {j: i for j, i in equal.items() if further[j] == results[i]}
    if not builder.shares_work and fed.isdisjoint(other.xs):
        return None, still_equal

    def in_order(first: Sequence[Any], second: Sequence[Any]) -> tuple[Any, ...]:
        """The carries of both, then the ys of both."""
        rest = [value for j, value in enumerate(second[: other.op.carry]) if j not in equal]
        carries = *first[: one.op.carry], *rest
        return *carries, *first[one.op.carry :], *second[other.op.carry :]

    starts = [slot for leaf, slot in enumerate(other.starts) if leaf not in equal]
    step = ExecInstruction(
        replace(
            one.op,
            body=builder.build(in_order(results, further)),
            consts=len(consts),
            carry=one.op.carry + len(starts),
        ),
        (*consts, *one.starts, *starts, *xs),
        in_order(one.step.output_slots, other.step.output_slots),
        in_order(one.step.output_metas, other.step.output_metas),
        (),
        one.step.site,
    )
    same = {other.step.output_slots[j]: one.step.output_slots[i] for j, i in equal.items()}
    return _Fused(step, same), still_equal


# Sums over the same iterations whose bodies share work.


class _LaneFusion(_Fusion):
    def offers(self, step: ExecInstruction) -> Iterator[Hashable]:
        op = cast(LaneSum, step.op)
        return ((op.total, op.lanes, slot) for slot in step.input_slots)

    def fused(self, first: ExecInstruction, second: ExecInstruction) -> _Fused | None:
        """One sum for both; None if their bodies share no work."""
        builder, steps = _JointBuilder(), (first, second)
        ops = [cast(LaneSum, step.op) for step in steps]
        consts: dict[int, int] = {}  # slots of the program to slots of the body
        for step, op in zip(steps, ops, strict=True):
            builder.inputs(consts, step.input_slots, op.body.input_metas[: op.consts])
        sums = [[builder.input(meta) for meta in op.sum_metas] for op in ops]
        number = builder.input(ops[0].body.input_metas[-1])
        results = [
            slot
            for step, op, own in zip(steps, ops, sums, strict=True)
            for slot in builder.inline(
                op.body, [*(consts[i] for i in step.input_slots), *own, number]
            )
        ]
        if not builder.shares_work:
            return None
        apart = tuple([on for op in ops for on in op.apart])
        op = replace(ops[0], body=builder.build(results), consts=len(consts), apart=apart)
        return _Fused(_in_place_of(first, second, op, tuple(consts)))


def _in_place_of(
    first: ExecInstruction, second: ExecInstruction, op: ControlOp, operands: tuple[int, ...]
) -> ExecInstruction:
    """The instruction that writes the results of both."""
    slots = (*first.output_slots, *second.output_slots)
    metas = (*first.output_metas, *second.output_metas)
    return ExecInstruction(op, operands, slots, metas, (), first.site)


# Switches on the same index.


class _SwitchFusion(_Fusion):
    def offers(self, step: ExecInstruction) -> Iterable[Hashable]:
        return [(step.input_slots[0], len(cast(Switch, step.op).branches))]

    def reads_apart(self, first: ExecInstruction, second: ExecInstruction) -> Sequence[int]:
        return [slot for slot in second.input_slots if slot not in first.output_slots]

    def fused(self, first: ExecInstruction, second: ExecInstruction) -> _Fused:
        one, other = cast(Switch, first.op), cast(Switch, second.op)
        metas = dict(zip(first.input_slots[1:], one.branches[0].input_metas, strict=True))
        for slot, meta in zip(second.input_slots[1:], other.branches[0].input_metas, strict=True):
            if slot not in first.output_slots:
                metas.setdefault(slot, meta)
        branches = []
        for left, right in zip(one.branches, other.branches, strict=True):
            builder = _JointBuilder()
            now = {slot: builder.input(meta) for slot, meta in metas.items()}
            results = builder.inline(left, [now[slot] for slot in first.input_slots[1:]])
            now.update(zip(first.output_slots, results, strict=True))
            further = builder.inline(right, [now[slot] for slot in second.input_slots[1:]])
            branches.append(builder.build([*results, *further]))
        op = replace(one, branches=tuple(branches))
        return _Fused(_in_place_of(first, second, op, (first.input_slots[0], *metas)))


# A while that another one computes on its way.


class _WhileFusion(_Fusion):
    def offers(self, step: ExecInstruction) -> Iterable[Hashable]:
        return _starts(step)

    def fused(self, first: ExecInstruction, second: ExecInstruction) -> _Fused | None:
        """The one that has the carry of the other among its own."""
        for part, whole in ((first, second), (second, first)):
            aliases = _aliases(part, whole)
            if aliases is not None:
                return _Fused(whole, aliases)
        return None


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
    op = cast(While, step.op)
    return step.input_slots[op.cond_consts + op.body_consts :]


def _programs(step: ExecInstruction) -> tuple[object, ...]:
    """What identifies the op of a loop, however the slots in its programs are numbered."""
    op = cast(While, step.op)
    programs = (renumber(op.cond).identity, renumber(op.body).identity)
    return (*programs, op.cond_consts, op.body_consts, op.max_steps)


_FUSIONS: dict[type[ControlOp], type[_Fusion]] = {
    Scan: _ScanFusion,
    LaneSum: _LaneFusion,
    Switch: _SwitchFusion,
    While: _WhileFusion,
}
