"""Emitting a program anew with the axes of its values in the orders that were chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler.layout.demands import (
    CONTRACTED_FIRST,
    FLOPS,
    MOVE,
    Demands,
    Groups,
    groups_of,
)
from tenferro.compiler.layout.order import (
    Order,
    natural,
    places,
    satisfies,
    sorted_into,
)
from tenferro.exec_ir import ExecBuilder, ExecInstruction, ExecProgram
from tenferro.ops import DotGeneral, Elementwise, ReduceSum, Transpose


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a value is: a slot of the new program, and the order of its axes there."""

    slot: int
    order: Order


class Rewrite:
    """Walks the program forward; each value is made in the order it is wanted in, if it can be."""

    def __init__(self, program: ExecProgram, demands: Demands) -> None:
        self.program = program
        self.demands = demands
        self.builder = ExecBuilder()
        self.values: dict[int, Placed] = {}
        self.site: str | None = None
        self.moved: dict[tuple[int, Order], int] = {}

    def run(self) -> ExecProgram:
        """The rewritten program, its inputs and outputs as they were."""
        for slot, meta in zip(self.program.input_slots, self.program.input_metas, strict=True):
            self.values[slot] = Placed(self.builder.input(meta), natural(meta.rank))
        for step in self.program.instructions:
            self.site = step.site
            self._visit(step)
        outputs = [self.values[slot] for slot in self.program.output_slots]
        return self.builder.build([self._as(value, natural(len(value.order))) for value in outputs])

    def _visit(self, step: ExecInstruction) -> None:
        operands = [self.values[slot] for slot in step.input_slots]
        op = step.op
        match op:
            case DotGeneral():
                made = self._contraction(step, op, operands)
            case Elementwise():
                made = self._elementwise(step, operands)
            case Transpose(perm=perm):
                (x,) = operands
                names = {axis: place for place, axis in enumerate(perm)}
                made = Placed(x.slot, tuple(names[axis] for axis in x.order))
            case ReduceSum(axes=axes):
                made = self._sum(axes, operands[0])
            case _:
                plain = [self._as(x, natural(len(x.order))) for x in operands]
                slots = self.builder.add(op, plain, self.site)
                for slot, new in zip(step.output_slots, slots, strict=True):
                    rank = self.builder.metas[new].rank
                    self.values[slot] = Placed(new, natural(rank))
                return
        self.values[step.output_slots[0]] = made

    def _elementwise(self, step: ExecInstruction, operands: Sequence[Placed]) -> Placed:
        """In the order of the operands that need not be moved then."""
        cells = self.demands.cells(step.output_slots[0])
        orders = [x.order for x in operands]
        fitting = [order for order in orders if satisfies(order, cells)]
        order = max(fitting or orders, key=orders.count)
        slots = [self._as(x, order) for x in operands]
        return Placed(self.builder.add(step.op, slots, self.site)[0], order)

    def _sum(self, axes: Sequence[int], x: Placed) -> Placed:
        kept = [axis for axis in range(len(x.order)) if axis not in axes]
        names = {axis: place for place, axis in enumerate(kept)}
        order = tuple(names[axis] for axis in x.order if axis in names)
        op = ReduceSum(tuple(sorted(places(x.order, axes))))
        return Placed(self.builder.add(op, [x.slot], self.site)[0], order)

    def _contraction(
        self, step: ExecInstruction, dot: DotGeneral, operands: Sequence[Placed]
    ) -> Placed:
        lhs, rhs = operands
        metas = [self.demands.metas[slot] for slot in step.input_slots]
        left, right = metas
        assert left is not None
        assert right is not None
        groups = groups_of(dot, left, right)
        (slot,) = step.output_slots
        if slot in self.demands.swapped:
            return self._dot(slot, rhs, lhs, groups.right, groups.left, groups, exchanged=True)
        return self._dot(slot, lhs, rhs, groups.left, groups.right, groups, exchanged=False)

    def _dot(
        self,
        slot: int,
        first: Placed,
        second: Placed,
        own: tuple[Order, Order, Order],
        other: tuple[Order, Order, Order],
        groups: Groups,
        exchanged: bool,
    ) -> Placed:
        cells = self.demands.cells(slot)
        batch = sorted_into(cells, groups.batch_axes)
        pairs = self._contracted(first, second, own[2], other[2])
        seconds = 2.0 * self._elements(first) / FLOPS  # for each column of the right operand
        seconds *= self._extent(second, other[1])
        lead = self._moved(first, own, batch, pairs)
        if self._is_turned(lead, own) and MOVE * self._elements(lead) < CONTRACTED_FIRST * seconds:
            lead = self._turned(lead, own)
        trail = self._moved(second, other, batch, pairs)
        dot = DotGeneral(
            places(lead.order, [own[2][i] for i in pairs]),
            places(trail.order, [other[2][i] for i in pairs]),
            places(lead.order, [own[0][i] for i in batch]),
            places(trail.order, [other[0][i] for i in batch]),
        )
        (made,) = self.builder.add(dot, [lead.slot, trail.slot], self.site)
        axes = (groups.right_axes, groups.left_axes)
        free, rest = axes if exchanged else axes[::-1]
        names = dict(zip(own[1], free, strict=True))
        others = dict(zip(other[1], rest, strict=True))
        order = (
            *batch,
            *(names[axis] for axis in lead.order if axis in names),
            *(others[axis] for axis in trail.order if axis in others),
        )
        return Placed(made, order)

    def _contracted(
        self, first: Placed, second: Placed, own: Order, other: Order
    ) -> tuple[int, ...]:
        """The order of the contracted pairs: as they lie in the operand that is larger."""
        sizes = [self._elements(first), self._elements(second)]
        order, inner = (first.order, own) if sizes[0] >= sizes[1] else (second.order, other)
        return tuple(sorted(range(len(inner)), key=lambda i: order.index(inner[i])))

    def _moved(
        self,
        x: Placed,
        axes: tuple[Order, Order, Order],
        batch: Order,
        pairs: Sequence[int],
    ) -> Placed:
        """The operand with batch axes first and contracted ones together, moved if it must be."""
        leading = tuple(axes[0][i] for i in batch)
        inner = tuple(axes[2][i] for i in pairs)
        middle = tuple(axis for axis in x.order if axis in axes[1])
        last, first = (*leading, *middle, *inner), (*leading, *inner, *middle)
        if x.order in (last, first):
            return x
        return Placed(self._as(x, last), last)

    def _is_turned(self, x: Placed, axes: tuple[Order, Order, Order]) -> bool:
        """Whether the contracted axes of an operand come before its free ones."""
        return bool(axes[1]) and bool(axes[2]) and x.order[-1] not in axes[2]

    def _turned(self, x: Placed, axes: tuple[Order, Order, Order]) -> Placed:
        """The operand with its contracted axes moved to the end."""
        inner = [axis for axis in x.order if axis in axes[2]]
        order = (*(axis for axis in x.order if axis not in axes[2]), *inner)
        return Placed(self._as(x, order), order)

    def _as(self, x: Placed, order: Order) -> int:
        """The slot of a value with its axes in that order."""
        if x.order == order:
            return x.slot
        perm = places(x.order, order)
        found = self.moved.get((x.slot, perm))
        if found is None:
            (found,) = self.builder.add(Transpose(perm), [x.slot], self.site)
            self.moved[x.slot, perm] = found
        return found

    def _elements(self, x: Placed) -> int:
        return math.prod(self.builder.metas[x.slot].static_shape or ())

    def _extent(self, x: Placed, axes: Sequence[int]) -> int:
        shape = self.builder.metas[x.slot].static_shape or ()
        return math.prod(shape[place] for place in places(x.order, axes))
