"""Orders of axes, and the contractions they are chosen for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tenferro.compiler.cost_model import DeviceCosts
from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.ir import AxisMap, DType, ExecInstruction, ExecProgram
from tenferro.ops import BroadcastInDim, DotGeneral, Transpose

__all__ = ["Problem"]


# Orders of axes: complete ones, and partial ones as they are requested.

Order = tuple[int, ...]
"""For each place in memory, outermost first, the axis of the value that lies there."""

AxisGroups = tuple[frozenset[int], ...]
"""An order of groups of axes; within a group any order will do."""


def natural(rank: int) -> Order:
    return tuple(range(rank))


def exactly(order: Iterable[int]) -> AxisGroups:
    return tuple(frozenset((axis,)) for axis in order)


def anything(rank: int) -> AxisGroups:
    return (frozenset(range(rank)),)


def restricted(groups: AxisGroups, axes: Iterable[int]) -> AxisGroups:
    remaining = frozenset(axes)
    return tuple(group & remaining for group in groups if group & remaining)


def renamed_by(groups: AxisGroups, names: Mapping[int, int]) -> AxisGroups:
    return tuple(frozenset(names[axis] for axis in group) for group in groups)


def rank_of(groups: AxisGroups) -> dict[int, int]:
    return {axis: number for number, group in enumerate(groups) for axis in group}


def sorted_into(groups: AxisGroups, axes: Sequence[int]) -> Order:
    """`axes` in the order of their groups; within a group their order does not change."""
    rank = rank_of(groups)
    return tuple(sorted(axes, key=lambda axis: rank.get(axis, len(groups))))


def agree(groups: AxisGroups, blocks: Sequence[Sequence[int]]) -> bool:
    """Whether some order satisfies the groups and has the blocks one after the other."""
    rank = rank_of(groups)
    highest = -1
    for block in blocks:
        if not block:
            continue
        ranks = [rank[axis] for axis in block]
        if min(ranks) < highest:
            return False
        highest = max(highest, *ranks)
    return True


def satisfies(order: Order, groups: AxisGroups) -> bool:
    rank = rank_of(groups)
    ranks = [rank[axis] for axis in order]
    return ranks == sorted(ranks)


def places(order: Order, axes: Iterable[int]) -> tuple[int, ...]:
    """Where in memory the axes lie."""
    return tuple(map(order.index, axes))


# The batch, free and contracted axes of a contraction, and their sizes.


@dataclass(frozen=True, slots=True)
class OperandAxes:
    """One operand: its slot, and its batch, free and contracted axes.

    Attributes:
        into: the axes of the result that the free ones become.
        extent: product of the sizes of the free axes.
        size: number of elements of the operand.
    """

    slot: int
    batch: Order
    free: Order
    contracted: Order
    into: Order
    extent: int
    size: int

    @property
    def rank(self) -> int:
        return len(self.batch) + len(self.free) + len(self.contracted)

    @property
    def is_grouped(self) -> bool:
        """Whether, in its natural order, batch axes come first and contracted ones together."""
        free, contracted = self.free, self.contracted
        together = not (free and contracted) or (
            max(free) < min(contracted) or max(contracted) < min(free)
        )
        return together and set(self.batch) == set(range(len(self.batch)))

    def fitness(self, order: Order, is_left: bool) -> int:
        """How well a product takes the operand in an order.

        It is 0 if the operand must be moved, 1 if it is on the left with its contracted axes first,
        2 otherwise.
        """
        count, terms = len(self.batch), len(self.contracted)
        rest, contracted = order[count:], set(self.contracted)
        if set(order[:count]) != set(self.batch):
            return 0
        if set(rest[len(rest) - terms :]) == contracted:
            return 2
        if set(rest[:terms]) == contracted:
            return 1 if is_left else 2
        return 0

    @property
    def outer_terms(self) -> int:
        """How many contracted axes come before the free ones, if others come after them."""
        if not self.free or set(self.batch) != set(range(len(self.batch))):
            return 0
        count = len([axis for axis in self.contracted if axis < min(self.free)])
        inside = any(min(self.free) < axis < max(self.free) for axis in self.contracted)
        return 0 if inside or count == len(self.contracted) else count


@dataclass(frozen=True, slots=True)
class Contraction:
    """A contraction of a program.

    Attributes:
        batch_axes: batch axes of the result, which come first.
        size: number of elements of the result.
        terms: number of products that each element is the sum of.
    """

    slot: int
    dtype: DType
    left: OperandAxes
    right: OperandAxes
    batch_axes: Order
    size: int
    terms: int

    @property
    def batch(self) -> int:
        return self.size // max(1, self.left.extent * self.right.extent)

    def sides(self, swapped: bool) -> tuple[OperandAxes, OperandAxes]:
        return (self.right, self.left) if swapped else (self.left, self.right)

    def seconds(
        self, costs: DeviceCosts, side: OperandAxes | None = None, times: int = 1, split: int = 1
    ) -> float:
        """Seconds for the product.

        With `side`, its free indices are divided among `times` as many products; with `split`, the
        terms are.
        """
        rows, columns = self.left.extent, self.right.extent
        if side is self.left:
            rows //= max(1, times)
        elif side is self.right:
            columns //= max(1, times)
        batch = self.batch * times * split
        return costs.product(self.dtype, batch, rows, columns, self.terms // max(1, split))

    def split_excess(self, costs: DeviceCosts, count: int) -> float:
        """Additional seconds for `count` products of parts of the terms, and for adding them."""
        more = self.seconds(costs, split=count) - self.seconds(costs)
        return more + 2 * costs.writing(self.dtype, count * self.size)

    def is_best(self, costs: DeviceCosts) -> bool:
        """Whether no order of axes makes the product faster: its operands are matrices as they lie,
        and it has its longer side left."""
        left, right = self.left, self.right
        batch = natural(len(left.batch))
        sides = [
            (*batch, *side.free, *side.contracted) == natural(side.rank)
            or (side is right and (*batch, *side.contracted, *side.free) == natural(side.rank))
            for side in (left, right)
        ]
        in_order = left.batch == right.batch == batch
        return in_order and all(sides) and not costs.short_side(left.extent, right.extent)

    def agreements(self, groups: AxisGroups) -> tuple[bool, bool]:
        """Whether the result can have an order: with its sides as they are, and exchanged."""
        batch, left, right = self.batch_axes, self.left.into, self.right.into
        return agree(groups, (batch, left, right)), agree(groups, (batch, right, left))


def contraction_of(step: ExecInstruction, shapes: list[tuple[int, ...]]) -> Contraction:
    """The axes of a contraction; `shapes` are those of the program's slots."""
    dot = step.op
    assert isinstance(dot, DotGeneral)
    lhs, rhs = (shapes[slot] for slot in step.input_slots)
    free = dot.lhs_free(len(lhs)), dot.rhs_free(len(rhs))
    start, middle = len(dot.lhs_batch), len(dot.lhs_batch) + len(free[0])
    into = tuple(range(start, middle)), tuple(range(middle, middle + len(free[1])))
    axes = ((dot.lhs_batch, free[0], dot.lhs_contract), (dot.rhs_batch, free[1], dot.rhs_contract))
    left, right = (
        OperandAxes(slot, *own, new, math.prod(shape[axis] for axis in own[1]), math.prod(shape))
        for slot, own, new, shape in zip(step.input_slots, axes, into, (lhs, rhs), strict=True)
    )
    (slot,) = step.output_slots
    terms = math.prod(lhs[axis] for axis in dot.lhs_contract)
    batch = tuple(range(start))
    return Contraction(slot, step.dtype, left, right, batch, math.prod(shapes[slot]), terms)


# The facts about a program that the choice of orders uses.


class Problem:
    """A program of constant extents, and facts about it that are computed once.

    Attributes:
        inputs: the slots of the inputs, whose order is not chosen here.
        gathered: the inputs that devices may have to gather, since they are divided, and that are
            read several times: a copy in another order would be gathered too.
        sizes: how many elements of each value one device holds.
        contractions: the contractions, by the slot of their result.
    """

    def __init__(self, program: ExecProgram, pinned: PartitionedAxes | None = None) -> None:
        self.program = program
        self.shapes = [(meta.static_shape or ()) if meta else () for meta in program.slot_metas()]
        self._parts = None if pinned is None else pinned.parts(program)
        local = self.shapes
        if self._parts is not None:
            local = [self._parts.local(slot, shape) for slot, shape in enumerate(self.shapes)]
        self.sizes = [math.prod(shape) for shape in local]
        self.inputs = set(program.input_slots)
        self.contractions: dict[int, Contraction] = {
            step.output_slots[0]: contraction_of(step, local)
            for step in program.steps_of(DotGeneral)
        }
        self._once = {slot for slot, times in program.read_counts().items() if times == 1}
        divided = () if self._parts is None else filter(self._parts.is_divided, self.inputs)
        self.gathered = set(divided) - self._once
        self._axis_maps: dict[int, AxisMap | None] = {}
        self._pointwise: set[int] = set()
        self._unwritten: set[int] = set()
        for step in program.instructions:
            slot = step.output_slots[0]
            if len(step.output_slots) == 1:
                ranks = [self.rank(operand) for operand in step.input_slots]
                self._axis_maps[slot] = step.op.axis_map(ranks)
            if self._is_pointwise(step):
                self._pointwise.add(slot)
            if self._stays_unwritten(step):
                self._unwritten.update(step.output_slots)

    def _stays_unwritten(self, step: ExecInstruction) -> bool:
        if isinstance(step.op, BroadcastInDim):
            return True
        out = step.output_slots[0]
        if not (isinstance(step.op, Transpose) or out in self._pointwise):
            return False
        return out in self._once and all(slot in self._unwritten for slot in step.input_slots)

    def _is_pointwise(self, step: ExecInstruction) -> bool:
        shape = self.shapes[step.output_slots[0]]
        alike = all(self.shapes[slot] == shape for slot in step.input_slots)
        return step.op.pointwise and alike and len(step.output_slots) == 1

    def is_best(self, costs: DeviceCosts) -> bool:
        """Whether nothing is moved, and each product reads its operands as they lie."""
        if self.program.has_op(Transpose):
            return False
        return all(each.is_best(costs) for each in self.contractions.values())

    def axis_map(self, step: ExecInstruction) -> AxisMap | None:
        """The result axes that a step's operand axes become; None if it needs natural orders."""
        return self._axis_maps.get(step.output_slots[0])

    def is_pointwise(self, step: ExecInstruction) -> bool:
        """Whether a step is pointwise, so that its operands may lie in any common order."""
        return step.output_slots[0] in self._pointwise

    def is_read_once(self, slot: int) -> bool:
        """Whether one step reads a value, once, or it is an output."""
        return slot in self._once

    def is_unwritten(self, slot: int) -> bool:
        """Whether a value is computed element by element from repeated ones, in any order."""
        return slot in self._unwritten

    def is_whole(self, slot: int, axes: Iterable[int]) -> bool:
        """Whether none of these axes of a value is divided among devices."""
        if self._parts is None:
            return True
        counts = self._parts.of(slot)
        return all(counts[axis] == 1 for axis in axes)

    def rank(self, slot: int) -> int:
        """Number of axes of a value."""
        return len(self.shapes[slot])

    def size(self, slot: int) -> int:
        """Number of elements of a value that one device holds."""
        return self.sizes[slot]
