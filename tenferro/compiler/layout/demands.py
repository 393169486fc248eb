"""What each contraction asks of the order of its operands, from the outputs down."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tenferro.compiler.layout.order import (
    Cells,
    Order,
    agree,
    anything,
    exactly,
    natural,
    renamed,
    renamed_by,
    restricted,
    satisfies,
    sorted_into,
)
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.ops import DotGeneral, Elementwise, ReduceSum, Transpose
from tenferro.shape import TensorMeta

FLOPS = 6e10
"""Multiplications and additions a second of a large product."""

MOVE = 1.5e-9
"""Seconds to move one element of a transpose."""


CONTRACTED_FIRST = 0.6
"""How much longer a product takes, as a part of its time, if the left contracted axes are first."""


def short_side(left: int, right: int) -> float:
    """How much longer a product takes, as a part of its time, if its shorter side is on the left.

    A few rows are slow, many are nearly as good as a square.
    """
    if left >= right:
        return 0.0
    return 0.5 if left < 64 else 0.1


@dataclass(slots=True)
class Demand:
    """The order that the most expensive reader of a value asks for."""

    cells: Cells
    weight: float


@dataclass(frozen=True, slots=True)
class Groups:
    """The axes of a contraction, as axes of its result and of its operands.

    Attributes:
        n_batch, n_left, n_right: how many axes of each kind the result has, in this order.
        left, right: for each operand its batch, free and contracted axes.
    """

    n_batch: int
    n_left: int
    n_right: int
    left: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    right: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """Batch axes of the result."""
        return tuple(range(self.n_batch))

    @property
    def left_axes(self) -> tuple[int, ...]:
        """Axes of the result that come from the left operand alone."""
        return tuple(range(self.n_batch, self.n_batch + self.n_left))

    @property
    def right_axes(self) -> tuple[int, ...]:
        """Axes of the result that come from the right operand alone."""
        start = self.n_batch + self.n_left
        return tuple(range(start, start + self.n_right))

    def agreements(self, cells: Cells) -> tuple[bool, bool]:
        """Whether the result can be made in an order, with its sides as they are and exchanged."""
        batch, left, right = self.batch_axes, self.left_axes, self.right_axes
        return agree(cells, (batch, left, right)), agree(cells, (batch, right, left))


def groups_of(dot: DotGeneral, lhs: TensorMeta, rhs: TensorMeta) -> Groups:
    """The kinds of axes of a contraction."""
    left_free, right_free = dot.lhs_free(lhs.rank), dot.rhs_free(rhs.rank)
    return Groups(
        len(dot.lhs_batch),
        len(left_free),
        len(right_free),
        (dot.lhs_batch, left_free, dot.lhs_contract),
        (dot.rhs_batch, right_free, dot.rhs_contract),
    )


class Demands:
    """For every value of a program the order that is wanted of it, and for every contraction
    whether its sides are exchanged."""

    def __init__(self, program: ExecProgram) -> None:
        self.metas = program.slot_metas()
        self.wanted: dict[int, Demand] = {}
        self.swapped: set[int] = set()
        self.fixed = set(program.input_slots)
        self.made_by = {slot: step for step in program.instructions for slot in step.output_slots}
        for slot in program.output_slots:
            self._want(slot, exactly(natural(self._rank(slot))), math.inf)
        for step in reversed(program.instructions):
            self._visit(step)

    def cells(self, slot: int) -> Cells:
        """The order wanted of a value; any, where nobody asks."""
        found = self.wanted.get(slot)
        return anything(self._rank(slot)) if found is None else found.cells

    def _visit(self, step: ExecInstruction) -> None:
        op = step.op
        match op:
            case DotGeneral():
                self._contraction(step, op)
            case Elementwise():
                self._pass_on(step, self.cells(step.output_slots[0]))
            case Transpose(perm=perm):
                self._pass_on(step, renamed(self.cells(step.output_slots[0]), perm))
            case ReduceSum(axes=axes):
                rank = self._rank(step.input_slots[0])
                kept = [axis for axis in range(rank) if axis not in axes]
                cells = renamed(self.cells(step.output_slots[0]), kept)
                self._pass_on(step, (*cells, frozenset(axes)))
            case _:
                for slot in step.input_slots:
                    self._want(slot, exactly(natural(self._rank(slot))), self._size(slot))

    def _pass_on(self, step: ExecInstruction, cells: Cells) -> None:
        weight = self._weight(step.output_slots[0])
        if weight:
            for slot in step.input_slots:
                self._want(slot, cells, weight)

    def _contraction(self, step: ExecInstruction, dot: DotGeneral) -> None:
        (slot,) = step.output_slots
        lhs, rhs = step.input_slots
        groups = groups_of(dot, self._meta(lhs), self._meta(rhs))
        cells = self.cells(slot)
        agreements = groups.agreements(cells)
        swapped = self._is_better_swapped(slot, groups, agreements, lhs, rhs)
        if swapped:
            self.swapped.add(slot)
        kept = cells if agreements[swapped] else anything(self._rank(slot))
        contracted = self._contracted_order(groups, lhs, rhs)
        weight = float(self._size(slot)) * self._extent(lhs, groups.left[2])
        for operand, own, free, trails in (
            (lhs, groups.left, groups.left_axes, swapped),
            (rhs, groups.right, groups.right_axes, not swapped),
        ):
            batch, outer, inner = own
            names = dict(zip((*groups.batch_axes, *free), (*batch, *outer), strict=True))
            leading = exactly(names[axis] for axis in sorted_into(kept, groups.batch_axes))
            middle = renamed_by(restricted(kept, free), names)
            last = exactly(inner[position] for position in contracted)
            wish = (*leading, *middle, *last)
            if trails and not self._comes_easily(operand, wish):
                wish = (*leading, *last, *middle)
            self._want(operand, wish, weight)

    def _is_better_swapped(
        self, slot: int, groups: Groups, agreements: tuple[bool, bool], lhs: int, rhs: int
    ) -> bool:
        """Whether the right side should come first.

        The longer side should, and the one whose contracted axes are last, unless moving the
        result costs more than that gains.
        """
        straight, exchanged = agreements
        seconds = 2.0 * self._size(slot) * self._extent(lhs, groups.left[2]) / FLOPS
        m, n = self._extent(lhs, groups.left[1]), self._extent(rhs, groups.right[1])
        moved = MOVE * self._size(slot)
        as_is = seconds * short_side(m, n) + self._turning(lhs, groups.left, seconds)
        swapped = seconds * short_side(n, m) + self._turning(rhs, groups.right, seconds)
        return swapped + moved * (not exchanged) < as_is + moved * (not straight)

    def _turning(self, slot: int, axes: tuple[Order, Order, Order], seconds: float) -> float:
        """What it costs that a left operand that cannot be made otherwise has its contracted axes
        first: a slow product, or moving the operand."""
        turned = slot in self.fixed and axes[1] and axes[2] and max(axes[1]) > min(axes[2])
        return min(CONTRACTED_FIRST * seconds, MOVE * self._size(slot)) if turned else 0.0

    def _comes_easily(self, slot: int, wish: Cells) -> bool:
        """Whether a right operand is made in that order with the longer side on the left."""
        step = self.made_by.get(slot)
        if step is None:
            return satisfies(natural(self._rank(slot)), wish)
        if not isinstance(step.op, DotGeneral):
            return True
        lhs, rhs = step.input_slots
        groups = groups_of(step.op, self._meta(lhs), self._meta(rhs))
        longer_right = self._extent(lhs, groups.left[1]) < self._extent(rhs, groups.right[1])
        return groups.agreements(wish)[longer_right]

    def _contracted_order(self, groups: Groups, lhs: int, rhs: int) -> Order:
        """Which matched pair of axes comes first: as they lie in the operand that is harder to
        move, an input of the program before a computed one, the larger before the smaller."""
        left = (lhs in self.fixed, self._size(lhs)) >= (rhs in self.fixed, self._size(rhs))
        inner = groups.left[2] if left else groups.right[2]
        return tuple(sorted(range(len(inner)), key=inner.__getitem__))

    def _want(self, slot: int, cells: Cells, weight: float) -> None:
        held = self.wanted.get(slot)
        if held is None or weight > held.weight:
            self.wanted[slot] = Demand(cells, weight)

    def _weight(self, slot: int) -> float:
        found = self.wanted.get(slot)
        return 0.0 if found is None else found.weight

    def _meta(self, slot: int) -> TensorMeta:
        meta = self.metas[slot]
        assert meta is not None
        return meta

    def _rank(self, slot: int) -> int:
        return self._meta(slot).rank

    def _size(self, slot: int) -> int:
        return self._extent(slot, range(self._rank(slot)))

    def _extent(self, slot: int, axes: Iterable[int]) -> int:
        """Number of elements along some axes."""
        shape = self._meta(slot).static_shape
        assert shape is not None
        return math.prod(shape[axis] for axis in axes)
