"""Rewriting a program so that the axes of its values lie in the chosen orders."""

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
from tenferro.compiler.target.layout.values import DEPTH, Operand, Pending, Repeated, Value, Written
from tenferro.compiler.target.layout.writers import Writer
from tenferro.exec_ir import ExecInstruction
from tenferro.ops import BroadcastInDim, DotGeneral, Transpose


class LayoutRewrite:
    """Walks the program forward and writes each value in its requested order where it can.

    Orders are chosen for each `DotGeneral`; a `Transpose` renames axes; a `BroadcastInDim` repeats
    a value only where it is read. For any other op, `permuted` returns the op for other orders.
    """

    def __init__(self, requests: Requests, writer: Writer) -> None:
        self.requests = requests
        self.problem = requests.problem
        self.costs = requests.costs
        self.writer = writer
        self.values: dict[int, Value] = {}
        self.moved: dict[tuple[int, Order], int] = {}
        self.copies: dict[int, list[tuple[int, Order]]] = {}
        self.gathered: set[int] = set()
        self.repeated: set[int] = set()
        self.split: set[int] = set()

    def run(self) -> list[int]:
        """Write the whole program; returns the outputs, in their natural orders."""
        program = self.problem.program
        for slot, meta in zip(program.input_slots, program.input_metas, strict=True):
            number = self.writer.input(meta)
            self.values[slot] = Written(number, natural(meta.rank))
            if slot in self.problem.gathered:
                self.gathered.add(number)
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
        """The step on operands in their current orders or a common one, if its op allows that."""
        written = self._in_one_order([self._settled(slot) for slot in step.input_slots])
        permuted = step.op.permuted([x.order for x in written])
        if permuted is None:
            self._in_natural_order(step)
            return
        op, order = permuted
        (number,) = self.writer.other(op, [x.number for x in written], order)
        self.values[step.output_slots[0]] = Written(number, order)

    def _in_one_order(self, written: list[Written]) -> list[Written]:
        """Operands of one rank in the order that most of them have; of several ranks, unchanged."""
        orders = [x.order for x in written]
        if len({len(order) for order in orders}) != 1 or len(set(orders)) == 1:
            return written
        order = max(orders, key=orders.count)
        return [Written(self._as(x, order), order) for x in written]

    def _in_natural_order(self, step: ExecInstruction) -> None:
        """The step on operands whose axes lie in the order in which they are numbered."""
        numbers = [
            self._as(self.values[slot], natural(self.problem.rank(slot)))
            for slot in step.input_slots
        ]
        for slot, number in zip(
            step.output_slots, self.writer.other(step.op, numbers), strict=True
        ):
            self.values[slot] = Written(number, natural(self.problem.rank(slot)))

    def _settled(self, slot: int) -> Written:
        """The value, written; if it was not yet, in the order that is requested."""
        value = self.values[slot]
        if isinstance(value, Written):
            return value
        order = sorted_into(self.requests.groups(slot), value.easiest)
        return Written(self._as(value, order), order)

    def _pointwise(self, step: ExecInstruction, operands: Sequence[Value]) -> Value:
        """The result in the order of most operands, so that few are moved. It stays unwritten if no
        operand is written and it has one reader, which then determines the order."""
        out = step.output_slots[0]
        orders = [x.order for x in operands if isinstance(x, Written)]
        unwritten = tuple(x for x in operands if not isinstance(x, Written))
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
        return Written(self.writer.pointwise(step, numbers), order)

    def _contraction(self, contraction: Contraction) -> Written:
        sides = [contraction.left, contraction.right]
        if contraction.slot in self.requests.swapped:
            sides.reverse()
        values = [
            self._best_copy(self._settled(side.slot), side, number == 0)
            for number, side in enumerate(sides)
        ]
        larger = 1 if sides[1].size > sides[0].size else 0
        value, side = values[larger], sides[larger]
        pairs = _as_it_lies(value, side.contracted)
        groups = self.requests.result_groups[contraction.slot]
        batch = sorted_into(groups, _as_it_lies(value, side.batch))
        first, second = (
            _operand(value, side, batch, pairs, groups)
            for value, side in zip(values, sides, strict=True)
        )
        for fixed, movable in ((second, first), (first, second)):
            if fixed.outer and self._is_better_repeated(contraction, fixed, movable):
                return self._with_repeated(contraction, batch, movable, fixed)
        outer = first.outer_terms(second)
        if outer and self._is_better_split(contraction, first, second, outer):
            return self._split(contraction, batch, first, second, outer)
        return self._product(contraction, batch, first, second)

    def _best_copy(self, x: Written, side: OperandAxes, is_left: bool) -> Written:
        """A value, or a copy of it in another order that a product takes as it lies."""
        if not self.requests.shares_copies:
            return x
        copies = [
            Written(number, tuple([x.order[axis] for axis in perm]))
            for number, perm in self.copies.get(x.number, ())
        ]
        return max((x, *copies), key=lambda each: side.fitness(each.order, is_left))

    def _product(
        self, contraction: Contraction, batch: Order, first: Operand, second: Operand
    ) -> Written:
        """The product of the operands, each with its groups of axes together."""
        lead, trail = self._grouped(first), self._grouped(second)
        plain = contraction.seconds(self.costs)
        slow = self.costs.contracted_first * plain
        excess = plain * self.costs.short_side(first.side.extent, second.side.extent)
        if lead.is_contracted_first:
            gathered = lead.value.number in self.gathered
            if self._moving(contraction, first) < slow and not gathered:
                lead = self._grouped(first, keep=False)
            else:
                excess += slow
        dot = DotGeneral(
            lead.inner_places, trail.inner_places, lead.batch_places, trail.batch_places
        )
        product = self.writer.contract(dot, lead.value.number, trail.value.number, excess)
        return Written(product, (*batch, *lead.into(lead.free), *trail.into(trail.free)))

    def _is_better_repeated(
        self, contraction: Contraction, fixed: Operand, movable: Operand
    ) -> bool:
        """Whether repeating `movable` along the outer axes of `fixed` beats transposing `fixed`.

        Never along an axis that is divided among devices.
        """
        if not self.problem.is_whole(fixed.side.slot, fixed.outer):
            return False
        chosen = self.requests.choice(contraction.slot).repeated
        if chosen is not None:
            return chosen
        times = self._along(fixed, fixed.outer)
        plain = contraction.seconds(self.costs) + self._moving(contraction, fixed)
        batched = contraction.seconds(self.costs, fixed.side, times)
        batched += self.costs.writing(contraction.dtype, times * movable.side.size)
        if movable.is_contracted_first:
            batched += self._moving(contraction, movable)
        return batched < plain

    def _moving(self, contraction: Contraction, x: Operand) -> float:
        """Seconds to move an operand."""
        return self.costs.moving(contraction.dtype, x.side.size, x.side.slot in self.problem.inputs)

    def _with_repeated(
        self, contraction: Contraction, batch: Order, first: Operand, second: Operand
    ) -> Written:
        """A product for each index of the outer axes of the right operand, which is not moved."""
        self.repeated.add(contraction.slot)
        lead = self._grouped(first, keep=False)
        sizes, count = self.writer.shape(lead.value.number), len(batch)
        outer = places(second.value.order, second.outer)
        times = [self.writer.shape(second.value.number)[place] for place in outer]
        shape = (*sizes[:count], *times, *sizes[count:])
        own = range(count + len(times), len(shape))
        spread = self.writer.broadcast(
            lead.value.number, shape, (*range(count), *own), in_memory=True
        )
        leading = tuple(range(count + len(times)))
        last = tuple(range(len(shape) - len(lead.inner), len(shape)))
        excess = contraction.seconds(self.costs, second.side, math.prod(times))
        excess -= contraction.seconds(self.costs)
        dot = DotGeneral(last, second.inner_places, leading, leading)
        product = self.writer.contract(dot, spread, second.value.number, excess)
        inner = tuple(axis for axis in second.free if axis not in second.outer)
        return Written(
            product,
            (*batch, *second.into(second.outer), *lead.into(lead.free), *second.into(inner)),
        )

    def _is_better_split(
        self, contraction: Contraction, first: Operand, second: Operand, outer: int
    ) -> bool:
        """Whether one product for each index of the outer contracted axes beats moving operands."""
        chosen = self.requests.choice(contraction.slot).split
        if chosen is not None:
            return chosen
        count = self._along(first, first.inner[:outer])
        moved = sum(self._moving(contraction, x) for x in (first, second) if not x.is_grouped)
        return contraction.split_excess(self.costs, count) < moved

    def _split(
        self, contraction: Contraction, batch: Order, first: Operand, second: Operand, outer: int
    ) -> Written:
        """The sum of the products for each index of the outer contracted axes."""
        self.split.add(contraction.slot)
        leading = tuple(range(len(batch) + outer))
        dot = DotGeneral(first.inner_places[outer:], second.inner_places[outer:], leading, leading)
        excess = contraction.split_excess(self.costs, self._along(first, first.inner[:outer]))
        product = self.writer.contract(dot, first.value.number, second.value.number, excess)
        total = self.writer.reduce(leading[len(batch) :], product)
        return Written(total, (*batch, *first.into(first.free), *second.into(second.free)))

    def _grouped(self, x: Operand, keep: bool = True) -> Operand:
        """The operand with batch axes first and contracted ones together, moved if it must be.

        A moved operand has its contracted axes last, and its free axes in the order that is
        requested of the result. With `keep`, contracted axes may also come first.
        """
        if x.is_grouped and (keep or not x.is_contracted_first):
            return x
        return x.moved(self._as(x.value, x.best))

    def _along(self, x: Operand, axes: Order) -> int:
        """The product of the sizes of some axes."""
        shape = self.problem.shapes[x.side.slot]
        return math.prod(shape[axis] for axis in axes)

    def _as(self, x: Value, order: Order) -> int:
        """The number of a value with its axes in that order."""
        match x:
            case Repeated():
                return self._spread(x, order)
            case Pending(step=step, operands=operands):
                return self.writer.pointwise(
                    step, [self._as(operand, order) for operand in operands]
                )
            case Written(number=number) if x.order == order:
                return number
            case Written():
                return self._moved(x, order)

    def _moved(self, x: Written, order: Order) -> int:
        perm = places(x.order, order)
        number = self.moved.get((x.number, perm))
        if number is None:
            number = self.moved[x.number, perm] = self.writer.transpose(x.number, perm)
            self.copies.setdefault(x.number, []).append((number, perm))
            if x.number in self.gathered:
                self.gathered.add(number)
        return number

    def _spread(self, x: Repeated, order: Order) -> int:
        """A repeated value written in that order."""
        place = {axis: number for number, axis in enumerate(order)}
        targets = [place[axis] for axis in x.dims]
        source = tuple(sorted(range(len(targets)), key=targets.__getitem__))
        shape = tuple(x.shape[axis] for axis in order)
        return self.writer.broadcast(
            self._as(x.source, source), shape, tuple(sorted(targets)), in_memory=False
        )


def _as_it_lies(x: Written, axes: Order) -> Order:
    """Positions in `axes`, sorted by where the axes lie."""
    return tuple(sorted(range(len(axes)), key=lambda i: x.order.index(axes[i])))


def _operand(
    value: Written, side: OperandAxes, batch: Order, pairs: Order, groups: AxisGroups
) -> Operand:
    """An operand, with the orders of its axes within each group."""
    into = dict(zip(side.free, side.into, strict=True))
    axes = dict(zip(side.into, side.free, strict=True))
    free = tuple(axis for axis in value.order if axis in into)
    return Operand(
        value,
        side,
        tuple(side.batch[i] for i in batch),
        tuple(side.contracted[i] for i in pairs),
        free,
        tuple(axes[axis] for axis in sorted_into(groups, [into[axis] for axis in free])),
    )
