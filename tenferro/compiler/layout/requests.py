"""Which order each contraction requests of its operands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from tenferro.compiler.cost_model import DeviceCosts
from tenferro.compiler.layout.contractions import (
    AxisGroups,
    Contraction,
    Forms,
    OperandAxes,
    Problem,
    anything,
    exactly,
    natural_order,
    renamed_by,
    restricted,
    satisfies,
    sorted_into,
)
from tenferro.ir import AxisOrder, ExecInstruction
from tenferro.ops import DotGeneral

# What each contraction requests of its operands, by the rules and by what was chosen for it.


@dataclass(frozen=True, slots=True)
class Choice:
    """The choices for one contraction; None leaves a choice to the rules.

    Attributes:
        swapped: the right side comes first.
        follows_reader: its free axes are in the order that its reader requests.
        left_last, right_last: the contracted axes come last in the left operand, and in the right
            one, after swapping.
        repeated: an operand whose contracted axes lie between its free ones is not transposed; the
            other operand is repeated along the outer free axes.
        split: an operand whose free axes lie between contracted ones is not transposed; a product
            is computed for each index of the outer contracted axes, and the products are added.
    """

    swapped: bool | None = None
    follows_reader: bool | None = None
    left_last: bool | None = None
    right_last: bool | None = None
    repeated: bool | None = None
    split: bool | None = None


LOPSIDED = 8
"""How many times larger one operand must be for the other one to be moved."""

NOTHING_CHOSEN = Choice()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one contraction requests.

    Attributes:
        result_groups: the order of its result that it follows.
        operands: for each operand its slot and the order that is requested of it.
        decided: all choices.
    """

    result_groups: AxisGroups
    operands: tuple[tuple[int, AxisGroups], ...]
    decided: Choice


class ContractionRules:
    """The rules for the contractions of a program, by the costs of a device.

    What one contraction requests depends on nothing but the order that is requested of its result
    and the choices for it. A search asks for the same again and again; it is computed once.

    Attributes:
        forms: how contractions are then written.
    """

    def __init__(self, problem: Problem, costs: DeviceCosts) -> None:
        self.problem = problem
        self.costs = costs
        self.forms = Forms(problem, costs)
        self._passed_on: dict[tuple[int, AxisGroups], tuple[AxisGroups, ...]] = {}
        self._wanted: dict[tuple[int, AxisGroups, Choice], Wanted] = {}

    def wanted(self, contraction: Contraction, groups: AxisGroups, choice: Choice) -> Wanted:
        """What a contraction requests whose result is requested in the order `groups`."""
        key = (contraction.slot, groups, choice)
        wanted = self._wanted.get(key)
        if wanted is None:
            wanted = self._wanted[key] = self._decided(contraction, groups, choice)
        return wanted

    def passed_on(self, step: ExecInstruction, groups: AxisGroups) -> tuple[AxisGroups, ...]:
        """For each operand of a step that does not mix its axes, the order that gives the order
        `groups` of the result."""
        key = (step.output_slots[0], groups)
        requests = self._passed_on.get(key)
        if requests is None:
            requests = self._passed_on[key] = self._through(step, groups)
        return requests

    def _through(self, step: ExecInstruction, groups: AxisGroups) -> tuple[AxisGroups, ...]:
        axis_map = self.problem.axis_map(step)
        assert axis_map is not None, f"{step.op.name} mixes its axes"
        written = [slot for slot in step.input_slots if slot not in self.problem.unwritten]
        if len(written) > 1:
            rank = self.problem.rank(step.output_slots[0])
            groups = exactly(sorted_into(groups, natural_order(rank)))
        shapes = [self.problem.shapes[slot] for slot in step.input_slots]
        return tuple(map(_through, repeat(groups), axis_map, shapes))

    def _decided(self, contraction: Contraction, groups: AxisGroups, choice: Choice) -> Wanted:
        agreements = contraction.agreements(groups)
        swapped = choice.swapped
        if swapped is None:
            swapped = self._is_better_swapped(contraction, agreements)
        follows_reader = choice.follows_reader
        if follows_reader is None:
            straight, exchanged = agreements
            follows_reader = exchanged if swapped else straight
        result_groups = groups if follows_reader else anything(self.problem.rank(contraction.slot))
        last: list[bool] = []
        operands: list[tuple[int, AxisGroups]] = []
        chosen_last = (choice.left_last, choice.right_last)
        for side, chosen in zip(contraction.sides(swapped), chosen_last, strict=True):
            if_last, if_first = self._operand_requests(
                contraction, side, result_groups, choice.split
            )
            if chosen is None:
                chosen = not last or self._is_written_so(side.slot, if_last)
            last.append(chosen)
            operands.append((side.slot, if_last if chosen else if_first))
        return Wanted(result_groups, tuple(operands), Choice(swapped, follows_reader, *last))

    def _operand_requests(
        self,
        contraction: Contraction,
        side: OperandAxes,
        result_groups: AxisGroups,
        split: bool | None,
    ) -> tuple[AxisGroups, AxisGroups]:
        """Two requests for an operand: with its contracted axes last, and with them first.

        Batch and contracted axes must have the same order in both operands. If one operand will be
        moved, since it is much smaller or cannot be used as it is, the other one may have them in
        any order.
        """
        free = dict(zip(side.into, side.free, strict=True))
        batch = dict(zip(contraction.batch_axes, side.batch, strict=True))
        leading = renamed_by(restricted(result_groups, contraction.batch_axes), batch)
        middle = renamed_by(restricted(result_groups, side.into), free)
        outer = self._split_terms(contraction, split)
        if outer:
            pairs = self._contracted_order(contraction)
            terms = exactly(side.contracted[position] for position in pairs)
            leading = (*leading, *terms[:outer])
            inner = terms[outer:]
            return (*leading, *middle, *inner), (*leading, *inner, *middle)
        inner = (frozenset(side.contracted),)
        if not self._moves_one(contraction):
            leading = exactly(
                batch[axis] for axis in sorted_into(result_groups, contraction.batch_axes)
            )
            inner = exactly(
                side.contracted[position] for position in self._contracted_order(contraction)
            )
        return (*leading, *middle, *inner), (*leading, *inner, *middle)

    def _moves_one(self, contraction: Contraction) -> bool:
        """Whether one operand is likely to be moved, whatever the order of the other one."""
        left, right = contraction.left.size, contraction.right.size
        if max(left, right) >= LOPSIDED * min(left, right):
            return True
        return any(
            side.slot in self.problem.inputs and not side.is_grouped
            for side in (contraction.left, contraction.right)
        )

    def _split_terms(self, contraction: Contraction, split: bool | None) -> int:
        """Number of leading contracted axes of an input for which computing separate products and
        adding them is cheaper than transposing the input."""
        for side in (contraction.left, contraction.right):
            count = side.outer_terms if side.slot in self.problem.inputs else 0
            if not count or split is False:
                continue
            shape = self.problem.shapes[side.slot]
            indices = math.prod(shape[axis] for axis in sorted(side.contracted)[:count])
            moved = self.costs.moving(contraction.dtype, side.size)
            if split or contraction.split_excess(self.costs, indices) < moved:
                return count
        return 0

    def _is_better_swapped(self, contraction: Contraction, agreements: tuple[bool, bool]) -> bool:
        """Whether the right side should come first.

        The longer side should, and the one whose contracted axes are last, unless moving the
        result costs more than that gains.
        """
        straight, exchanged = agreements
        left, right, costs = contraction.left, contraction.right, self.costs
        seconds = contraction.seconds(costs)
        moved = costs.moving(contraction.dtype, contraction.size)
        as_is = seconds * costs.short_side(left.extent, right.extent)
        as_is += self._contracted_first_cost(contraction, left, seconds)
        swapped = seconds * costs.short_side(right.extent, left.extent)
        swapped += self._contracted_first_cost(contraction, right, seconds)
        if not straight:
            as_is += moved
        if not exchanged:
            swapped += moved
        return swapped < as_is

    def _contracted_first_cost(
        self, contraction: Contraction, side: OperandAxes, seconds: float
    ) -> float:
        """Additional seconds if `side` is on the left and is an input with its contracted axes
        first: for a slow product, or for moving the operand."""
        is_contracted_first = (
            side.slot in self.problem.inputs
            and side.free
            and side.contracted
            and max(side.free) > min(side.contracted)
        )
        if not is_contracted_first:
            return 0.0
        moved = self.costs.moving(contraction.dtype, side.size)
        return min(self.costs.packing(seconds, side.size), moved)

    def _is_written_so(self, slot: int, option: AxisGroups) -> bool:
        """Whether a right operand has that order if its own longer side is on the left."""
        if slot in self.problem.inputs:
            return satisfies(natural_order(self.problem.rank(slot)), option)
        maker = self.problem.contractions.get(slot)
        if maker is None:
            return True
        straight, exchanged = maker.agreements(option)
        return exchanged if maker.left.extent < maker.right.extent else straight

    def _contracted_order(self, contraction: Contraction) -> AxisOrder:
        """The order of the matched pairs of axes: that of the operand that is harder to move, which
        is an input of the program rather than a computed value, or else the larger one."""
        left, right = (
            (side.slot in self.problem.inputs, side.size)
            for side in (contraction.left, contraction.right)
        )
        inner = contraction.left.contracted if left >= right else contraction.right.contracted
        return tuple(sorted(range(len(inner)), key=inner.__getitem__))


def _through(groups: AxisGroups, into: Sequence[int | None], shape: tuple[int, ...]) -> AxisGroups:
    """The order of an operand that gives the order `groups` of the result; other axes last.

    Another axis of size 1 follows the axis before it, so that it does not become the innermost one,
    over which XLA would vectorize.
    """
    names = {target: axis for axis, target in enumerate(into) if target is not None}
    through = list(renamed_by(restricted(groups, names), names))
    others = [axis for axis, target in enumerate(into) if target is None]
    for axis in [axis for axis in others if shape[axis] == 1 and through]:
        place = next((n for n, group in enumerate(through) if axis - 1 in group), 0)
        through[place] |= {axis}
        others.remove(axis)
    return (*through, frozenset(others)) if others else tuple(through)


# The orders of axes that contractions request for their operands, from the outputs down.


@dataclass(slots=True)
class Request:
    """The order that the most expensive reader of a value requests."""

    groups: AxisGroups
    weight: float


class Requests:
    """For every value of a program the order that is requested.

    Attributes:
        wanted: for every contraction what it requests and what was decided for it.
        shares_copies: whether a contraction that cannot read an operand as it lies reads a copy
            that was made for another one, if there is one that it can read.
    """

    def __init__(
        self,
        rules: ContractionRules,
        choices: Mapping[int, Choice] | None = None,
        shares_copies: bool = False,
    ) -> None:
        self.rules = rules
        self.problem = problem = rules.problem
        self.shares_copies = shares_copies
        self.choices = choices or {}
        self.requested: dict[int, Request] = {}
        self.wanted: dict[int, Wanted] = {}
        for slot in problem.program.output_slots:
            self._request(slot, exactly(natural_order(problem.rank(slot))), math.inf)
        for step in reversed(problem.program.instructions):
            self._visit(step)

    def groups(self, slot: int) -> AxisGroups:
        """The order requested of a value; any order if there is no request."""
        request = self.requested.get(slot)
        return anything(self.problem.rank(slot)) if request is None else request.groups

    def choice(self, slot: int) -> Choice:
        return self.choices.get(slot, NOTHING_CHOSEN)

    def _visit(self, step: ExecInstruction) -> None:
        """Request an order of each operand."""
        out = step.output_slots[0]
        if isinstance(step.op, DotGeneral):
            self._request_for_contraction(self.problem.contractions[out])
            return
        if self.problem.axis_map(step) is None:
            for slot in step.input_slots:
                order = exactly(natural_order(self.problem.rank(slot)))
                self._request(slot, order, self.problem.sizes[slot])
            return
        request = self.requested.get(out)
        if request is None or not request.weight:
            return
        passed_on = self.rules.passed_on(step, request.groups)
        for slot, groups in zip(step.input_slots, passed_on, strict=True):
            self._request(slot, groups, request.weight)

    def _request_for_contraction(self, contraction: Contraction) -> None:
        slot = contraction.slot
        wanted = self.rules.wanted(contraction, self.groups(slot), self.choice(slot))
        self.wanted[slot] = wanted
        weight = float(contraction.size) * contraction.terms
        for operand, groups in wanted.operands:
            self._request(operand, groups, weight)

    def _request(self, slot: int, groups: AxisGroups, weight: float) -> None:
        request = self.requested.get(slot)
        if request is None or weight > request.weight:
            self.requested[slot] = Request(groups, weight)
