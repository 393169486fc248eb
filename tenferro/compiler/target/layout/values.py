"""Values on the way through a rewrite: written in some order of their axes, or not yet."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tenferro.compiler.target.layout.contraction import OperandAxes
from tenferro.compiler.target.layout.order import Order, natural, places
from tenferro.exec_ir import ExecInstruction

DEPTH = 50
"""How many steps deep a value may be left unwritten."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a value is: its number at the writer, and the order of its axes there."""

    number: int
    order: Order

    depth = 0

    def renamed(self, perm: Order) -> Placed:
        """The transposed value: the same one under other names."""
        names = {axis: place for place, axis in enumerate(perm)}
        return Placed(self.number, tuple(names[axis] for axis in self.order))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A value that is another one repeated, not yet written: any order will do.

    Axis i of the source is axis `dims[i]` of the value, whose shape is `shape`.
    """

    source: Placed
    dims: Order
    shape: tuple[int, ...]

    depth = 1

    @property
    def weight(self) -> int:
        """How many numbers it matters to read as they lie."""
        return math.prod(self.shape[axis] for axis in self.dims)

    @property
    def easiest(self) -> Order:
        """An order that reads the source as it lies."""
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
    """A pointwise step whose operands are unwritten, and which is so itself: any order will do."""

    step: ExecInstruction
    operands: tuple[Unwritten, ...]
    depth: int

    @property
    def weight(self) -> int:
        """How many numbers it matters to read as they lie."""
        return max(x.weight for x in self.operands)

    @property
    def easiest(self) -> Order:
        """An order that reads the largest source as it lies."""
        return max(self.operands, key=lambda x: x.weight).easiest

    def renamed(self, perm: Order) -> Pending:
        """The transposed value."""
        return Pending(self.step, tuple([x.renamed(perm) for x in self.operands]), self.depth)


Unwritten = Repeated | Pending
Value = Placed | Unwritten


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a contraction, and the orders that were chosen for the result.

    Attributes:
        leading: its batch axes.
        inner: its contracted axes.
        free: its free axes as they lie.
        requested: its free axes in the order to bring them into if it is moved.
    """

    value: Placed
    side: OperandAxes
    leading: Order
    inner: Order
    free: Order
    requested: Order

    def moved(self, number: int) -> Operand:
        """The operand in the order that suits a left one best, under its new number."""
        return replace(self, value=Placed(number, self.best), free=self.requested)

    @property
    def best(self) -> Order:
        """Batch axes first, contracted ones last."""
        return (*self.leading, *self.requested, *self.inner)

    @property
    def outer(self) -> Order:
        """The free axes outside the contracted ones, if these lie together amid the free ones."""
        order, inner, free = self.value.order, self.inner, self.free
        if not inner or order[: len(self.leading)] != self.leading:
            return ()
        count = order.index(inner[0]) - len(self.leading)
        outer, rest = free[:count], free[count:]
        fits = outer and rest and order == (*self.leading, *outer, *inner, *rest)
        return outer if fits else ()

    def outer_terms(self, other: Operand) -> int:
        """How many contracted axes come first in both operands, if that leaves the others together;
        0 if none has to."""
        for count in range(len(self.inner)):
            if all(x._is_grouped_after(count) for x in (self, other)):
                return count
        return 0

    def _is_grouped_after(self, count: int) -> bool:
        outer, inner = self.inner[:count], self.inner[count:]
        start = (*self.leading, *outer)
        return self.value.order in ((*start, *self.free, *inner), (*start, *inner, *self.free))

    @property
    def is_grouped(self) -> bool:
        """Whether batch axes come first, and contracted ones together."""
        return self._is_grouped_after(0)

    @property
    def is_contracted_first(self) -> bool:
        """Whether the contracted axes come before the free ones."""
        return bool(self.side.free and self.inner) and self.value.order[-1] not in self.inner

    @property
    def inner_places(self) -> Order:
        """Where the contracted axes lie."""
        return places(self.value.order, self.inner)

    @property
    def batch_places(self) -> Order:
        """Where the batch axes lie."""
        return places(self.value.order, self.leading)

    def into(self, axes: Order) -> Order:
        """The axes of the result that free axes become."""
        names = dict(zip(self.side.free, self.side.into, strict=True))
        return tuple(names[axis] for axis in axes)
