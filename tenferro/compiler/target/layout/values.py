"""Values during a rewrite: written in some order of their axes, or not yet written."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tenferro.compiler.target.layout.contraction import OperandAxes
from tenferro.compiler.target.layout.order import Order, natural, places
from tenferro.exec_ir import ExecInstruction

DEPTH = 50
"""The largest number of steps that may be left unwritten one below the other."""


@dataclass(frozen=True, slots=True)
class Written:
    """A written value: its number in the writer, and the order of its axes."""

    number: int
    order: Order

    depth = 0

    def renamed(self, perm: Order) -> Written:
        """The transposed value: the same one with its axes renamed."""
        names = {axis: place for place, axis in enumerate(perm)}
        return Written(self.number, tuple(names[axis] for axis in self.order))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A value that repeats another one; it is not yet written, and may be in any order.

    Axis i of the source is axis `dims[i]` of the value, whose shape is `shape`.
    """

    source: Written
    dims: Order
    shape: tuple[int, ...]

    depth = 1

    @property
    def weight(self) -> int:
        """Number of elements of the value that should be read in their order in memory."""
        return math.prod(self.shape[axis] for axis in self.dims)

    @property
    def easiest(self) -> Order:
        """An order in which the source is read in its order in memory."""
        order = list(natural(len(self.shape)))
        targets = [self.dims[axis] for axis in self.source.order]
        for place, axis in zip(sorted(targets), targets, strict=True):
            order[place] = axis
        return tuple(order)

    def renamed(self, perm: Order) -> Repeated:
        """The transposed value."""
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
        """Number of elements of the value that should be read in their order in memory."""
        return max(x.weight for x in self.operands)

    @property
    def easiest(self) -> Order:
        """An order in which the largest source is read in its order in memory."""
        return max(self.operands, key=lambda x: x.weight).easiest

    def renamed(self, perm: Order) -> Pending:
        """The transposed value."""
        return Pending(self.step, tuple([x.renamed(perm) for x in self.operands]), self.depth)


Unwritten = Repeated | Pending
Value = Written | Unwritten


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a contraction, and the orders that were chosen for the result.

    Attributes:
        order: the order in which its axes lie.
        leading: its batch axes.
        inner: its contracted axes.
        free: its free axes in their order in memory.
        requested: its free axes in the order that they get if it is moved.
    """

    order: Order
    side: OperandAxes
    leading: Order
    inner: Order
    free: Order
    requested: Order

    def moved(self) -> Operand:
        """The operand after it was moved into its `best` order."""
        return replace(self, order=self.best, free=self.requested)

    @property
    def best(self) -> Order:
        """Batch axes first, contracted ones last."""
        return (*self.leading, *self.requested, *self.inner)

    @property
    def outer(self) -> Order:
        """The free axes before the contracted ones, if these lie together between free axes."""
        order, inner, free = self.order, self.inner, self.free
        if not inner or order[: len(self.leading)] != self.leading:
            return ()
        count = order.index(inner[0]) - len(self.leading)
        outer, rest = free[:count], free[count:]
        fits = outer and rest and order == (*self.leading, *outer, *inner, *rest)
        return outer if fits else ()

    def outer_terms(self, other: Operand) -> int:
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
        """Whether batch axes come first, and contracted ones together."""
        return self._is_grouped_after(0)

    @property
    def is_contracted_first(self) -> bool:
        """Whether the contracted axes come before the free ones."""
        return bool(self.side.free and self.inner) and self.order[-1] not in self.inner

    @property
    def inner_places(self) -> Order:
        """Where the contracted axes lie."""
        return places(self.order, self.inner)

    @property
    def batch_places(self) -> Order:
        """Where the batch axes lie."""
        return places(self.order, self.leading)

    def into(self, axes: Order) -> Order:
        """The axes of the result that free axes become."""
        names = dict(zip(self.side.free, self.side.into, strict=True))
        return tuple(names[axis] for axis in axes)
