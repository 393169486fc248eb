"""What each contraction asks of the order of its operands, from the outputs down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenferro.compiler.target.costs import DeviceCosts
from tenferro.compiler.target.layout.contraction import Contraction, OperandAxes
from tenferro.compiler.target.layout.order import (
    AxisGroups,
    Order,
    anything,
    exactly,
    natural,
    renamed_by,
    restricted,
    satisfies,
    sorted_into,
)
from tenferro.compiler.target.layout.problem import Problem
from tenferro.exec_ir import ExecInstruction
from tenferro.ops import DotGeneral


@dataclass(frozen=True, slots=True)
class Choice:
    """What is decided about one contraction; None leaves it to the rules.

    Attributes:
        swapped: the right side comes first.
        follows_reader: its free axes are ordered as its reader wants them.
        left_last, right_last: the contracted axes come last in what is then the left operand, and
            in the right one.
        repeated: an operand whose contracted axes lie in the middle stays where it is, the other
            one is repeated along its outer axes.
        split: an operand whose free axes lie amid contracted ones stays where it is; products are
            made for each index of the outer ones, and added.
    """

    swapped: bool | None = None
    follows_reader: bool | None = None
    left_last: bool | None = None
    right_last: bool | None = None
    repeated: bool | None = None
    split: bool | None = None


LOPSIDED = 8
"""How many times larger an operand is than the other if that one is to be moved for it."""

NOTHING_CHOSEN = Choice()


@dataclass(slots=True)
class Request:
    """The order that the most expensive reader of a value asks for."""

    groups: AxisGroups
    weight: float


class Requests:
    """For every value of a program the order that is requested of it, and for every contraction
    whether its sides are exchanged.

    Attributes:
        made: for every contraction the choices that were made, by the rules or given.
        kept: for every contraction what it heeds of the order that is requested of its result.
    """

    def __init__(
        self, problem: Problem, costs: DeviceCosts, choices: Mapping[int, Choice] | None = None
    ) -> None:
        self.problem = problem
        self.costs = costs
        self.choices = choices or {}
        self.requested: dict[int, Request] = {}
        self.swapped: set[int] = set()
        self.made: dict[int, Choice] = {}
        self.kept: dict[int, AxisGroups] = {}
        for slot in problem.program.output_slots:
            self._request(slot, exactly(natural(problem.rank(slot))), math.inf)
        for step in reversed(problem.program.instructions):
            self._visit(step)

    def groups(self, slot: int) -> AxisGroups:
        """The order requested of a value; any, where nobody asks."""
        found = self.requested.get(slot)
        return anything(self.problem.rank(slot)) if found is None else found.groups

    def choice(self, slot: int) -> Choice:
        """What was decided about a contraction."""
        return self.choices.get(slot, NOTHING_CHOSEN)

    def _visit(self, step: ExecInstruction) -> None:
        """Request an order of each operand."""
        out = step.output_slots[0]
        if isinstance(step.op, DotGeneral):
            self._request_for_contraction(self.problem.contractions[out])
            return
        axis_map = self.problem.axis_map(step)
        if axis_map is None:
            for slot in step.input_slots:
                order = exactly(natural(self.problem.rank(slot)))
                self._request(slot, order, self.problem.size(slot))
            return
        request = self.requested.get(out)
        if request is None or not request.weight:
            return
        groups = request.groups
        if sum(not self.problem.is_unwritten(slot) for slot in step.input_slots) > 1:
            groups = exactly(sorted_into(groups, natural(self.problem.rank(out))))
        for slot, into in zip(step.input_slots, axis_map, strict=True):
            self._request(slot, _through(groups, into), request.weight)

    def _request_for_contraction(self, what: Contraction) -> None:
        groups, choice = self.groups(what.slot), self.choice(what.slot)
        agreements = what.agreements(groups)
        swapped = choice.swapped
        if swapped is None:
            swapped = self._is_better_swapped(what, agreements)
        if swapped:
            self.swapped.add(what.slot)
        follows_reader = (
            agreements[swapped] if choice.follows_reader is None else choice.follows_reader
        )
        kept = groups if follows_reader else anything(self.problem.rank(what.slot))
        self.kept[what.slot] = kept
        sides = (what.right, what.left) if swapped else (what.left, what.right)
        last: list[bool] = []
        for side, chosen in zip(sides, (choice.left_last, choice.right_last), strict=True):
            options = self._operand_requests(what, side, kept)
            if chosen is None:
                chosen = not last or self._is_made_so(side.slot, options[0])
            last.append(chosen)
            self._request(side.slot, options[not chosen], float(what.size) * what.terms)
        self.made[what.slot] = Choice(swapped, follows_reader, *last)

    def _operand_requests(
        self, what: Contraction, side: OperandAxes, kept: AxisGroups
    ) -> tuple[AxisGroups, AxisGroups]:
        """What a contraction asks of an operand: contracted axes last, and first.

        Batch and contracted axes must come in one order in both operands. Where one of them will be
        moved, since it is much smaller or cannot be used as it is, the other may have them in any
        order.
        """
        free = dict(zip(side.into, side.free, strict=True))
        batch = dict(zip(what.batch_axes, side.batch, strict=True))
        leading = renamed_by(restricted(kept, what.batch_axes), batch)
        middle = renamed_by(restricted(kept, side.into), free)
        outer = self._split_terms(what)
        if outer:
            pairs = self._contracted_order(what)
            terms = exactly(side.contracted[position] for position in pairs)
            leading = (*leading, *terms[:outer])
            inner = terms[outer:]
            return (*leading, *middle, *inner), (*leading, *inner, *middle)
        inner = (frozenset(side.contracted),)
        if not self._moves_one(what):
            leading = exactly(batch[axis] for axis in sorted_into(kept, what.batch_axes))
            inner = exactly(side.contracted[position] for position in self._contracted_order(what))
        return (*leading, *middle, *inner), (*leading, *inner, *middle)

    def _moves_one(self, what: Contraction) -> bool:
        """Whether one of the operands is likely to be moved whatever the other one is like."""
        left, right = what.left.size, what.right.size
        if max(left, right) >= LOPSIDED * min(left, right):
            return True
        return any(
            side.slot in self.problem.inputs and not side.is_grouped
            for side in (what.left, what.right)
        )

    def _split_terms(self, what: Contraction) -> int:
        """How many contracted axes an input has before its free ones that it is better to make
        products split for than to move it."""
        chosen = self.choice(what.slot).split
        for side in (what.left, what.right):
            count = side.outer_terms if side.slot in self.problem.inputs else 0
            if not count or chosen is False:
                continue
            shape = self.problem.shapes[side.slot]
            indices = math.prod(shape[axis] for axis in sorted(side.contracted)[:count])
            moved = self.costs.moving(what.dtype, side.size, loaded=True)
            if chosen or what.split_excess(self.costs, indices) < moved:
                return count
        return 0

    def _is_better_swapped(self, what: Contraction, agreements: tuple[bool, bool]) -> bool:
        """Whether the right side should come first.

        The longer side should, and the one whose contracted axes are last, unless moving the
        result costs more than that gains.
        """
        straight, exchanged = agreements
        left, right, costs = what.left, what.right, self.costs
        seconds = what.seconds(costs)
        moved = costs.moving(what.dtype, what.size)
        as_is = seconds * costs.short_side(left.extent, right.extent)
        as_is += self._contracted_first_cost(what, left, seconds)
        swapped = seconds * costs.short_side(right.extent, left.extent)
        swapped += self._contracted_first_cost(what, right, seconds)
        return swapped + moved * (not exchanged) < as_is + moved * (not straight)

    def _contracted_first_cost(self, what: Contraction, side: OperandAxes, seconds: float) -> float:
        """What it costs that a left operand that cannot be made otherwise has its contracted axes
        first: a slow product, or moving the operand."""
        is_contracted_first = (
            side.slot in self.problem.inputs
            and side.free
            and side.contracted
            and max(side.free) > min(side.contracted)
        )
        if not is_contracted_first:
            return 0.0
        moved = self.costs.moving(what.dtype, side.size, loaded=True)
        return min(self.costs.contracted_first * seconds, moved)

    def _is_made_so(self, slot: int, option: AxisGroups) -> bool:
        """Whether a right operand is made in that order with the longer side on the left."""
        if slot in self.problem.inputs:
            return satisfies(natural(self.problem.rank(slot)), option)
        maker = self.problem.contractions.get(slot)
        return maker is None or maker.agreements(option)[maker.left.extent < maker.right.extent]

    def _contracted_order(self, what: Contraction) -> Order:
        """Which matched pair of axes comes first: as they lie in the operand that is harder to
        move, an input of the program before a computed one, the larger before the smaller."""
        left, right = (
            (side.slot in self.problem.inputs, side.size) for side in (what.left, what.right)
        )
        inner = what.left.contracted if left >= right else what.right.contracted
        return tuple(sorted(range(len(inner)), key=inner.__getitem__))

    def _request(self, slot: int, groups: AxisGroups, weight: float) -> None:
        held = self.requested.get(slot)
        if held is None or weight > held.weight:
            self.requested[slot] = Request(groups, weight)


def _through(groups: AxisGroups, into: Sequence[int | None]) -> AxisGroups:
    """The order of an operand from that of the result that its axes become; other axes last."""
    names = {target: axis for axis, target in enumerate(into) if target is not None}
    through = renamed_by(restricted(groups, names), names)
    others = frozenset(axis for axis, target in enumerate(into) if target is None)
    return (*through, others) if others else through
