"""The batch, free and contracted axes of a contraction, and their sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tenferro.compiler.target.costs import DeviceCosts
from tenferro.compiler.target.layout.order import AxisGroups, Order, agree
from tenferro.exec_ir import ExecInstruction
from tenferro.ops import DotGeneral
from tenferro.shape import DType


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
        """Number of matrices."""
        return self.size // max(1, self.left.extent * self.right.extent)

    def sides(self, swapped: bool) -> tuple[OperandAxes, OperandAxes]:
        """The operands, in their order or exchanged."""
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
