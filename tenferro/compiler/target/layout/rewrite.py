"""Writing a program anew with the axes of its values in the orders that were chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tenferro.compiler.target.layout.contraction import Contraction, OperandAxes
from tenferro.compiler.target.layout.order import (
    AxisGroups,
    Order,
    natural,
    places,
    satisfies,
    sorted_into,
)
from tenferro.compiler.target.layout.requests import Requests
from tenferro.compiler.target.layout.values import DEPTH, Operand, Pending, Placed, Repeated, Value
from tenferro.compiler.target.layout.writers import Writer
from tenferro.exec_ir import ExecInstruction
from tenferro.ops import BroadcastInDim, DotGeneral, Transpose


class LayoutRewrite:
    """Walks the program forward and makes each value in its requested order where it can.

    A `DotGeneral` is what orders are for; a `Transpose` renames axes; a `BroadcastInDim` repeats a
    value only where it is read. Every other op is asked what it becomes in another order.
    """

    def __init__(self, requests: Requests, writer: Writer) -> None:
        self.requests = requests
        self.problem = requests.problem
        self.costs = requests.costs
        self.writer = writer
        self.values: dict[int, Value] = {}
        self.moved: dict[tuple[int, Order], int] = {}
        self.repeated: set[int] = set()
        self.split: set[int] = set()

    def run(self) -> list[int]:
        """Write all of it; returns the outputs, in their natural orders."""
        program = self.problem.program
        for slot, meta in zip(program.input_slots, program.input_metas, strict=True):
            self.values[slot] = Placed(self.writer.input(meta), natural(meta.rank))
        for step in program.instructions:
            self.writer.begin(step)
            self._visit(step)
        return [
            self._as(self.values[slot], natural(self.problem.rank(slot)))
            for slot in program.output_slots
        ]

    def _visit(self, step: ExecInstruction) -> None:
        operands = [self.values[slot] for slot in step.input_slots]
        out = step.output_slots[0]
        if self.problem.is_pointwise(step):
            self.values[out] = self._pointwise(step, operands)
            return
        match step.op:
            case DotGeneral():
                self.values[out] = self._contraction(self.problem.contractions[out])
            case Transpose(perm=perm):
                (x,) = operands
                if isinstance(x, Pending) and not self.problem.is_read_once(out):
                    x = self._settled(step.input_slots[0])
                self.values[out] = x.renamed(perm)
            case BroadcastInDim(dims=dims):
                source = self._settled(step.input_slots[0])
                self.values[out] = Repeated(source, dims, self.problem.shapes[out])
            case _ if self.problem.axis_map(step) is not None:
                self._permuted(step)
            case _:
                self._in_natural_order(step)

    def _permuted(self, step: ExecInstruction) -> None:
        """The step on operands as they lie, or in an order they share, if its op allows that."""
        placed = self._in_one_order([self._settled(slot) for slot in step.input_slots])
        permuted = step.op.permuted([x.order for x in placed])
        if permuted is None:
            self._in_natural_order(step)
            return
        op, order = permuted
        (number,) = self.writer.other(op, [x.number for x in placed], order)
        self.values[step.output_slots[0]] = Placed(number, order)

    def _in_one_order(self, placed: list[Placed]) -> list[Placed]:
        """Operands of one rank in the order that most of them have; others as they are."""
        orders = [x.order for x in placed]
        if len({len(order) for order in orders}) != 1 or len(set(orders)) == 1:
            return placed
        order = max(orders, key=orders.count)
        return [Placed(self._as(x, order), order) for x in placed]

    def _in_natural_order(self, step: ExecInstruction) -> None:
        """The step on operands whose axes lie in the order in which they are numbered."""
        numbers = [
            self._as(self.values[slot], natural(self.problem.rank(slot)))
            for slot in step.input_slots
        ]
        for slot, number in zip(
            step.output_slots, self.writer.other(step.op, numbers), strict=True
        ):
            self.values[slot] = Placed(number, natural(self.problem.rank(slot)))

    def _settled(self, slot: int) -> Placed:
        """The value written, in the order it is requested in if nothing else is known."""
        value = self.values[slot]
        if isinstance(value, Placed):
            return value
        order = sorted_into(self.requests.groups(slot), value.easiest)
        return Placed(self._as(value, order), order)

    def _pointwise(self, step: ExecInstruction, operands: Sequence[Value]) -> Value:
        """In the order of the operands that need not be moved then; left alone if none is written
        and one reader is left to say in which."""
        out = step.output_slots[0]
        orders = [x.order for x in operands if isinstance(x, Placed)]
        unwritten = tuple(x for x in operands if not isinstance(x, Placed))
        depth = 1 + max(x.depth for x in operands)
        if not orders and self.problem.is_read_once(out) and depth < DEPTH:
            return Pending(step, unwritten, depth)
        groups = self.requests.groups(out)
        if orders:
            fitting = [order for order in orders if satisfies(order, groups)]
            order = max(fitting or orders, key=orders.count)
        else:
            order = sorted_into(groups, max(unwritten, key=lambda x: x.weight).easiest)
        numbers = [self._as(x, order) for x in operands]
        return Placed(self.writer.pointwise(step, numbers), order)

    def _contraction(self, what: Contraction) -> Placed:
        sides = [what.left, what.right]
        if what.slot in self.requests.swapped:
            sides.reverse()
        values = [self._settled(side.slot) for side in sides]
        larger = int(sides[1].size > sides[0].size)
        value, side = values[larger], sides[larger]
        pairs = _as_it_lies(value, side.contracted)
        kept = self.requests.kept[what.slot]
        batch = sorted_into(kept, _as_it_lies(value, side.batch))
        first, second = (
            _operand(value, side, batch, pairs, kept)
            for value, side in zip(values, sides, strict=True)
        )
        for middle, other in ((second, first), (first, second)):
            if middle.outer and self._is_better_repeated(what, middle, other):
                return self._with_repeated(what, batch, other, middle)
        outer = first.outer_terms(second)
        if outer and self._is_better_split(what, first, second, outer):
            return self._split(what, batch, first, second, outer)
        return self._product(what, batch, first, second)

    def _product(self, what: Contraction, batch: Order, first: Operand, second: Operand) -> Placed:
        """The operands' groups of axes brought together, then contracted."""
        lead, trail = self._grouped(first), self._grouped(second)
        plain = what.seconds(self.costs)
        slow = self.costs.contracted_first * plain
        excess = plain * self.costs.short_side(first.side.extent, second.side.extent)
        if lead.is_contracted_first:
            if self._moving(what, first) < slow:
                lead = self._grouped(first, keep=False)
            else:
                excess += slow
        dot = DotGeneral(
            lead.inner_places, trail.inner_places, lead.batch_places, trail.batch_places
        )
        made = self.writer.contract(dot, lead.value.number, trail.value.number, excess)
        return Placed(made, (*batch, *lead.into(lead.free), *trail.into(trail.free)))

    def _is_better_repeated(self, what: Contraction, middle: Operand, other: Operand) -> bool:
        """Whether to repeat the other operand along the outer axes of this, and not to move it."""
        chosen = self.requests.choice(what.slot).repeated
        if chosen is not None:
            return chosen
        times = self._along(middle, middle.outer)
        plain = what.seconds(self.costs) + self._moving(what, middle)
        batched = what.seconds(self.costs, middle.side, times)
        batched += self.costs.writing(what.dtype, times * other.side.size)
        if other.is_contracted_first:
            batched += self._moving(what, other)
        return batched < plain

    def _moving(self, what: Contraction, x: Operand) -> float:
        """Seconds to move an operand."""
        return self.costs.moving(what.dtype, x.side.size, x.side.slot in self.problem.inputs)

    def _with_repeated(
        self, what: Contraction, batch: Order, first: Operand, second: Operand
    ) -> Placed:
        """A product for each index of the outer axes of the right operand, which stays as it is."""
        self.repeated.add(what.slot)
        lead = self._grouped(first, keep=False)
        sizes, count = self.writer.shape(lead.value.number), len(batch)
        outer = places(second.value.order, second.outer)
        times = [self.writer.shape(second.value.number)[place] for place in outer]
        shape = (*sizes[:count], *times, *sizes[count:])
        own = range(count + len(times), len(shape))
        spread = self.writer.broadcast(lead.value.number, shape, (*range(count), *own), made=True)
        leading = tuple(range(count + len(times)))
        last = tuple(range(len(shape) - len(lead.inner), len(shape)))
        excess = what.seconds(self.costs, second.side, math.prod(times))
        excess -= what.seconds(self.costs)
        dot = DotGeneral(last, second.inner_places, leading, leading)
        made = self.writer.contract(dot, spread, second.value.number, excess)
        inner = tuple(axis for axis in second.free if axis not in second.outer)
        return Placed(
            made,
            (*batch, *second.into(second.outer), *lead.into(lead.free), *second.into(inner)),
        )

    def _is_better_split(
        self, what: Contraction, first: Operand, second: Operand, outer: int
    ) -> bool:
        """Whether to make products split for the outer contracted axes, not to move operands."""
        chosen = self.requests.choice(what.slot).split
        if chosen is not None:
            return chosen
        count = self._along(first, first.inner[:outer])
        moved = sum(self._moving(what, x) for x in (first, second) if not x.is_grouped)
        return what.split_excess(self.costs, count) < moved

    def _split(
        self, what: Contraction, batch: Order, first: Operand, second: Operand, outer: int
    ) -> Placed:
        """Products for each index of the outer contracted axes, and their sum."""
        self.split.add(what.slot)
        leading = tuple(range(len(batch) + outer))
        dot = DotGeneral(first.inner_places[outer:], second.inner_places[outer:], leading, leading)
        excess = what.split_excess(self.costs, self._along(first, first.inner[:outer]))
        made = self.writer.contract(dot, first.value.number, second.value.number, excess)
        total = self.writer.reduce(leading[len(batch) :], made)
        return Placed(total, (*batch, *first.into(first.free), *second.into(second.free)))

    def _grouped(self, x: Operand, keep: bool = True) -> Operand:
        """The operand with batch axes first and contracted ones together, moved if it must be.

        They come last then; `keep` leaves them first if they are. What is moved anyway gets its
        free axes in the order that is requested of the result.
        """
        if x.is_grouped and (keep or not x.is_contracted_first):
            return x
        return x.moved(self._as(x.value, x.best))

    def _along(self, x: Operand, axes: Order) -> int:
        """How many numbers lie along some axes."""
        shape = self.problem.shapes[x.side.slot]
        return math.prod(shape[axis] for axis in axes)

    def _as(self, x: Value, order: Order) -> int:
        """The number of a value with its axes in that order."""
        match x:
            case Repeated():
                return self._spread(x, order)
            case Pending(step=step, operands=operands):
                return self.writer.pointwise(step, [self._as(each, order) for each in operands])
            case Placed(number=number) if x.order == order:
                return number
            case Placed():
                return self._moved(x, order)

    def _moved(self, x: Placed, order: Order) -> int:
        perm = places(x.order, order)
        found = self.moved.get((x.number, perm))
        if found is None:
            found = self.moved[x.number, perm] = self.writer.transpose(x.number, perm)
        return found

    def _spread(self, x: Repeated, order: Order) -> int:
        """A repeated value written in that order."""
        place = {axis: number for number, axis in enumerate(order)}
        targets = [place[axis] for axis in x.dims]
        source = tuple(sorted(range(len(targets)), key=targets.__getitem__))
        shape = tuple(x.shape[axis] for axis in order)
        return self.writer.broadcast(
            self._as(x.source, source), shape, tuple(sorted(targets)), made=False
        )


def _as_it_lies(x: Placed, axes: Order) -> Order:
    """Which of some axes comes first, second and so on, as positions in `axes`."""
    return tuple(sorted(range(len(axes)), key=lambda i: x.order.index(axes[i])))


def _operand(
    value: Placed, side: OperandAxes, batch: Order, pairs: Order, kept: AxisGroups
) -> Operand:
    """An operand, its groups of axes in the orders that were chosen or as they lie."""
    into = dict(zip(side.free, side.into, strict=True))
    axes = dict(zip(side.into, side.free, strict=True))
    free = tuple(axis for axis in value.order if axis in into)
    return Operand(
        value,
        side,
        tuple(side.batch[i] for i in batch),
        tuple(side.contracted[i] for i in pairs),
        free,
        tuple(axes[axis] for axis in sorted_into(kept, [into[axis] for axis in free])),
    )
