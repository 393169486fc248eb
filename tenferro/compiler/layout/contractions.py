"""Contractions: orders of axes, what a program asks of them, and the forms they are written in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tenferro.compiler.cost_model import DeviceCosts
from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.ir import AxisMap, AxisOrder, DType, ExecInstruction, ExecProgram
from tenferro.ops import BroadcastInDim, DotGeneral, Transpose

__all__ = ["Problem"]


# Orders of axes: complete ones, and partial ones as they are requested.

AxisGroups = tuple[frozenset[int], ...]
"""An order of groups of axes; within a group any order will do."""


def natural_order(rank: int) -> AxisOrder:
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


def sorted_into(groups: AxisGroups, axes: Sequence[int]) -> AxisOrder:
    """`axes` in the order of their groups; within a group their order does not change."""
    rank = rank_of(groups)
    return tuple(sorted(axes, key=lambda axis: rank.get(axis, len(groups))))


def orders_agree(groups: AxisGroups, blocks: Sequence[Sequence[int]]) -> bool:
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


def satisfies(order: AxisOrder, groups: AxisGroups) -> bool:
    rank = rank_of(groups)
    ranks = [rank[axis] for axis in order]
    return ranks == sorted(ranks)


def places(order: AxisOrder, axes: Iterable[int]) -> tuple[int, ...]:
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
    batch: AxisOrder
    free: AxisOrder
    contracted: AxisOrder
    into: AxisOrder
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

    def fitness(self, order: AxisOrder, is_left: bool) -> int:
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
    batch_axes: AxisOrder
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
        batch = natural_order(len(left.batch))
        sides = [
            (*batch, *side.free, *side.contracted) == natural_order(side.rank)
            or (
                side is right and (*batch, *side.contracted, *side.free) == natural_order(side.rank)
            )
            for side in (left, right)
        ]
        in_order = left.batch == right.batch == batch
        return in_order and all(sides) and not costs.short_side(left.extent, right.extent)

    def agreements(self, groups: AxisGroups) -> tuple[bool, bool]:
        """Whether the result can have an order: with its sides as they are, and exchanged."""
        batch, left, right = self.batch_axes, self.left.into, self.right.into
        return orders_agree(groups, (batch, left, right)), orders_agree(
            groups, (batch, right, left)
        )


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
        read_once: the values that one step reads, once, or that are outputs.
        pointwise: the results of pointwise steps, whose operands may lie in any common order.
        unwritten: the values that are computed element by element from repeated ones, in any order.
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
        self.read_once = {slot for slot, times in program.read_counts().items() if times == 1}
        divided = () if self._parts is None else filter(self._parts.is_divided, self.inputs)
        self.gathered = set(divided) - self.read_once
        self._axis_maps: dict[int, AxisMap | None] = {}
        self.pointwise: set[int] = set()
        self.unwritten: set[int] = set()
        for step in program.instructions:
            slot = step.output_slots[0]
            if len(step.output_slots) == 1:
                ranks = [self.rank(operand) for operand in step.input_slots]
                self._axis_maps[slot] = step.op.axis_map(ranks)
            alike = all(self.shapes[operand] == self.shapes[slot] for operand in step.input_slots)
            if step.op.pointwise and alike and len(step.output_slots) == 1:
                self.pointwise.add(slot)
            if self._stays_unwritten(step):
                self.unwritten.update(step.output_slots)

    def _stays_unwritten(self, step: ExecInstruction) -> bool:
        if isinstance(step.op, BroadcastInDim):
            return True
        out = step.output_slots[0]
        if not (isinstance(step.op, Transpose) or out in self.pointwise):
            return False
        return out in self.read_once and all(slot in self.unwritten for slot in step.input_slots)

    def is_best(self, costs: DeviceCosts) -> bool:
        """Whether nothing is moved or repeated, and each product reads its operands as they lie."""
        if self.program.has_op((Transpose, BroadcastInDim)):
            return False
        return all(each.is_best(costs) for each in self.contractions.values())

    def axis_map(self, step: ExecInstruction) -> AxisMap | None:
        """The result axes that a step's operand axes become; None if it needs natural orders."""
        return self._axis_maps.get(step.output_slots[0])

    def is_whole(self, slot: int, axes: Iterable[int]) -> bool:
        """Whether none of these axes of a value is divided among devices."""
        if self._parts is None:
            return True
        counts = self._parts.of(slot)
        return all(counts[axis] == 1 for axis in axes)

    def rank(self, slot: int) -> int:
        """Number of axes of a value."""
        return len(self.shapes[slot])


# Values during a rewrite: written in some order of their axes, or not yet written.

DEPTH = 50
"""The largest number of steps that may be left unwritten one below the other."""


@dataclass(frozen=True, slots=True)
class Written:
    """A written value: its number in the writer, and the order of its axes."""

    number: int
    order: AxisOrder

    depth = 0

    def renamed(self, perm: AxisOrder) -> Written:
        """The transposed value: the same one with its axes renamed."""
        names = {axis: place for place, axis in enumerate(perm)}
        return Written(self.number, tuple(names[axis] for axis in self.order))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A value that repeats another one; it is not yet written, and may be in any order.

    Axis i of the source is axis `dims[i]` of the value, whose shape is `shape`.
    """

    source: Written
    dims: AxisOrder
    shape: tuple[int, ...]

    depth = 1

    @property
    def weight(self) -> int:
        return math.prod(self.shape[axis] for axis in self.dims)

    @property
    def easiest(self) -> AxisOrder:
        """An order in which the source is read in its order in memory."""
        order = list(natural_order(len(self.shape)))
        targets = [self.dims[axis] for axis in self.source.order]
        for place, axis in zip(sorted(targets), targets, strict=True):
            order[place] = axis
        return tuple(order)

    def renamed(self, perm: AxisOrder) -> Repeated:
        names = {axis: place for place, axis in enumerate(perm)}
        dims = tuple(names[axis] for axis in self.dims)
        return Repeated(self.source, dims, tuple(self.shape[axis] for axis in perm))


@dataclass(frozen=True, slots=True)
class Pending:
    """A pointwise step that is not yet written, on unwritten operands; any order will do."""

    step: ExecInstruction
    operands: tuple[Unwritten, ...]
    depth: int

    @property
    def weight(self) -> int:
        return max(x.weight for x in self.operands)

    @property
    def easiest(self) -> AxisOrder:
        return max(self.operands, key=lambda x: x.weight).easiest

    def renamed(self, perm: AxisOrder) -> Pending:
        return Pending(self.step, tuple([x.renamed(perm) for x in self.operands]), self.depth)


Unwritten = Repeated | Pending
Value = Written | Unwritten


@dataclass(frozen=True, slots=True)
class OrderedOperand:
    """An operand of a contraction, and the orders that were chosen for the result.

    Attributes:
        order: the order in which its axes lie.
        leading: its batch axes.
        inner: its contracted axes.
        free: its free axes in their order in memory.
        requested: its free axes in the order that they get if it is moved.
    """

    order: AxisOrder
    side: OperandAxes
    leading: AxisOrder
    inner: AxisOrder
    free: AxisOrder
    requested: AxisOrder

    def moved(self) -> OrderedOperand:
        return replace(self, order=self.best, free=self.requested)

    @property
    def best(self) -> AxisOrder:
        return (*self.leading, *self.requested, *self.inner)

    @property
    def outer(self) -> AxisOrder:
        """The free axes before the contracted ones, if these lie together between free axes."""
        order, inner, free = self.order, self.inner, self.free
        if not inner or order[: len(self.leading)] != self.leading:
            return ()
        count = order.index(inner[0]) - len(self.leading)
        outer, rest = free[:count], free[count:]
        fits = outer and rest and order == (*self.leading, *outer, *inner, *rest)
        return outer if fits else ()

    def outer_terms(self, other: OrderedOperand) -> int:
        """The fewest contracted axes, leading in both operands, without which the others lie
        together; 0 if there are none."""
        for count in range(len(self.inner)):
            if self._is_grouped_after(count) and other._is_grouped_after(count):
                return count
        return 0

    def _is_grouped_after(self, count: int) -> bool:
        outer, inner = self.inner[:count], self.inner[count:]
        start = (*self.leading, *outer)
        return self.order in ((*start, *self.free, *inner), (*start, *inner, *self.free))

    @property
    def is_grouped(self) -> bool:
        return self._is_grouped_after(0)

    @property
    def is_contracted_first(self) -> bool:
        return bool(self.side.free and self.inner) and self.order[-1] not in self.inner

    @property
    def inner_places(self) -> AxisOrder:
        return places(self.order, self.inner)

    @property
    def batch_places(self) -> AxisOrder:
        return places(self.order, self.leading)

    def into(self, axes: AxisOrder) -> AxisOrder:
        names = dict(zip(self.side.free, self.side.into, strict=True))
        return tuple(names[axis] for axis in axes)


# How each contraction is written, for given orders of its operands.


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the form of a contraction.

    Attributes:
        groups: the order of the result that it follows.
        swapped: the right side comes first.
        repeated, split: as in `Choice`.
        gathered: the operand that comes first is gathered from several devices.
    """

    groups: AxisGroups
    swapped: bool
    repeated: bool | None = None
    split: bool | None = None
    gathered: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """How a contraction is written.

    Attributes:
        first, second: the orders in which the operands are read; they are moved if they lie in
            another one.
        spread: the shape that the first operand is then repeated into, and where its axes go.
        dot: the product of the operands.
        excess: its additional seconds compared to the best form.
        summed: the axes of the product that are then added.
        order: the order of the axes of the result.
        exchanged: the operand that was given second is the first one.
    """

    first: AxisOrder
    second: AxisOrder
    dot: DotGeneral
    excess: float
    order: AxisOrder
    spread: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    summed: AxisOrder = ()
    exchanged: bool = False


class Forms:
    """The forms of the contractions of a program, by the costs of a device.

    A form depends on nothing but the orders of the operands and on what is asked. A search asks for
    the same again and again; it is computed once.
    """

    def __init__(self, problem: Problem, costs: DeviceCosts) -> None:
        self.problem = problem
        self.costs = costs
        self._forms: dict[tuple[int, AxisOrder, AxisOrder, Asked], Form] = {}

    def form(
        self, contraction: Contraction, first: AxisOrder, second: AxisOrder, asked: Asked
    ) -> Form:
        """The form for operands that lie in these orders, after exchanging sides."""
        key = (contraction.slot, first, second, asked)
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = self._decided(contraction, (first, second), asked)
        return form

    def _decided(
        self, contraction: Contraction, orders: tuple[AxisOrder, AxisOrder], asked: Asked
    ) -> Form:
        sides = contraction.sides(asked.swapped)
        larger = 1 if sides[1].size > sides[0].size else 0
        order, side, groups = orders[larger], sides[larger], asked.groups
        pairs = _as_it_lies(order, side.contracted)
        batch = sorted_into(groups, _as_it_lies(order, side.batch))
        first, second = (
            _operand(order, side, batch, pairs, groups)
            for order, side in zip(orders, sides, strict=True)
        )
        for fixed, movable in ((second, first), (first, second)):
            if fixed.outer and self._is_better_repeated(contraction, fixed, movable, asked):
                form = self._with_repeated(contraction, batch, movable, fixed)
                return replace(form, exchanged=fixed is first)
        outer = first.outer_terms(second)
        if outer and self._is_better_split(contraction, first, second, outer, asked):
            return self._split(contraction, batch, first, second, outer)
        return self._product(contraction, batch, first, second, asked.gathered)

    def _product(
        self,
        contraction: Contraction,
        batch: AxisOrder,
        first: OrderedOperand,
        second: OrderedOperand,
        gathered: bool,
    ) -> Form:
        """The product of the operands, each with its groups of axes together."""
        lead, trail = _grouped(first), _grouped(second)
        plain = contraction.seconds(self.costs)
        slow = self.costs.packing(plain, first.side.size)
        excess = plain * self.costs.short_side(first.side.extent, second.side.extent)
        if lead.is_contracted_first:
            if self._moving(contraction, first) < slow and not gathered:
                lead = first.moved()
            else:
                excess += slow
        dot = DotGeneral(
            lead.inner_places, trail.inner_places, lead.batch_places, trail.batch_places
        )
        order = (*batch, *lead.into(lead.free), *trail.into(trail.free))
        return Form(lead.order, trail.order, dot, excess, order)

    def _is_better_repeated(
        self, contraction: Contraction, fixed: OrderedOperand, movable: OrderedOperand, asked: Asked
    ) -> bool:
        """Whether repeating `movable` along the outer axes of `fixed` beats transposing `fixed`.

        Never along an axis that is divided among devices.
        """
        if not self.problem.is_whole(fixed.side.slot, fixed.outer):
            return False
        if asked.repeated is not None:
            return asked.repeated
        times = self._along(fixed, fixed.outer)
        plain = contraction.seconds(self.costs) + self._moving(contraction, fixed)
        batched = contraction.seconds(self.costs, fixed.side, times)
        batched += self.costs.writing(contraction.dtype, times * movable.side.size)
        if movable.is_contracted_first:
            batched += self._moving(contraction, movable)
        return batched < plain

    def _with_repeated(
        self,
        contraction: Contraction,
        batch: AxisOrder,
        first: OrderedOperand,
        second: OrderedOperand,
    ) -> Form:
        """A product for each index of the outer axes of the right operand, which is not moved."""
        lead = _grouped(first, keep=False)
        sizes, count = self._sizes(lead, lead.order), len(batch)
        times = self._sizes(second, second.outer)
        shape = (*sizes[:count], *times, *sizes[count:])
        own = range(count + len(times), len(shape))
        leading = tuple(range(count + len(times)))
        last = tuple(range(len(shape) - len(lead.inner), len(shape)))
        excess = contraction.seconds(self.costs, second.side, math.prod(times))
        excess -= contraction.seconds(self.costs)
        dot = DotGeneral(last, second.inner_places, leading, leading)
        inner = tuple(axis for axis in second.free if axis not in second.outer)
        order = (
            *batch,
            *second.into(second.outer),
            *lead.into(lead.free),
            *second.into(inner),
        )
        spread = (shape, (*range(count), *own))
        return Form(lead.order, second.order, dot, excess, order, spread)

    def _is_better_split(
        self,
        contraction: Contraction,
        first: OrderedOperand,
        second: OrderedOperand,
        outer: int,
        asked: Asked,
    ) -> bool:
        """Whether one product for each index of the outer contracted axes beats moving operands."""
        if asked.split is not None:
            return asked.split
        count = self._along(first, first.inner[:outer])
        moved = sum(self._moving(contraction, x) for x in (first, second) if not x.is_grouped)
        return contraction.split_excess(self.costs, count) < moved

    def _split(
        self,
        contraction: Contraction,
        batch: AxisOrder,
        first: OrderedOperand,
        second: OrderedOperand,
        outer: int,
    ) -> Form:
        """The sum of the products for each index of the outer contracted axes."""
        leading = tuple(range(len(batch) + outer))
        dot = DotGeneral(first.inner_places[outer:], second.inner_places[outer:], leading, leading)
        excess = contraction.split_excess(self.costs, self._along(first, first.inner[:outer]))
        order = (*batch, *first.into(first.free), *second.into(second.free))
        summed = leading[len(batch) :]
        return Form(first.order, second.order, dot, excess, order, summed=summed)

    def _moving(self, contraction: Contraction, x: OrderedOperand) -> float:
        return self.costs.moving(contraction.dtype, x.side.size)

    def _sizes(self, x: OrderedOperand, axes: AxisOrder) -> tuple[int, ...]:
        shape = self.problem.shapes[x.side.slot]
        return tuple([shape[axis] for axis in axes])

    def _along(self, x: OrderedOperand, axes: AxisOrder) -> int:
        return math.prod(self._sizes(x, axes))


def _grouped(x: OrderedOperand, keep: bool = True) -> OrderedOperand:
    """The operand with batch axes first and contracted ones together, moved if it must be.

    A moved operand has its contracted axes last, and its free axes in the order that is requested
    of the result. With `keep`, contracted axes may also come first.
    """
    if x.is_grouped and (keep or not x.is_contracted_first):
        return x
    return x.moved()


def _as_it_lies(order: AxisOrder, axes: AxisOrder) -> AxisOrder:
    return tuple(sorted(range(len(axes)), key=lambda i: order.index(axes[i])))


def _operand(
    order: AxisOrder, side: OperandAxes, batch: AxisOrder, pairs: AxisOrder, groups: AxisGroups
) -> OrderedOperand:
    """An operand, with the orders of its axes within each group."""
    into = dict(zip(side.free, side.into, strict=True))
    axes = dict(zip(side.into, side.free, strict=True))
    free = tuple(axis for axis in order if axis in into)
    return OrderedOperand(
        order,
        side,
        tuple(side.batch[i] for i in batch),
        tuple(side.contracted[i] for i in pairs),
        free,
        tuple(axes[axis] for axis in sorted_into(groups, [into[axis] for axis in free])),
    )
