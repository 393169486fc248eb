"""A binary contraction as a batched matrix product: how operands are brought into that form.

Each operand becomes `[batch, free, contracted, own]`. `own` are labels that only this operand has
and the result lacks. They are summed first, which leaves `[batch, left, contracted]` and `[batch,
contracted, right]`. The first product of a sum is the one with the lowest contracted index, in
row-major order of the labels in the first operand; among these, in each operand, the one with the
lowest index of its own labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tenferro_ext_tropical.subscripts import Labels, sizes_of

BATCH, FREE, CONTRACTED, OWN = range(4)


@dataclass(frozen=True)
class Side:
    """One operand.

    Attributes:
        labels: of its axes.
        shape: its sizes.
        groups: its distinct labels: batch, free, contracted, own.
        sizes: of the labels in each group.
    """

    labels: Labels
    shape: tuple[int, ...]
    groups: tuple[Labels, ...]
    sizes: tuple[tuple[int, ...], ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """The sizes of `[batch, free, contracted, own]`."""
        return tuple([prod(sizes) for sizes in self.sizes])

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def arranged(self, xp: Any, x: Any) -> Any:
        """The operand as `[batch, free, contracted, own]`: a diagonal, a transpose, a reshape."""
        labels = list(self.labels)
        while len(set(labels)) < len(labels):
            label = next(label for label in labels if labels.count(label) > 1)
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = xp.diagonal(x, axis1=first, axis2=second)
            labels = [*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label]
        order = tuple([labels.index(label) for group in self.groups for label in group])
        if order != tuple(range(len(order))):
            x = xp.transpose(x, order)
        return xp.reshape(x, self.extents)

    def offset(self, group: int, index: Any) -> Any:
        """The positions in the flat operand of the elements with that index in a group.

        `index` is any array of integers, or one integer.
        """
        total, inner = 0, self.extents[group]
        for label, size in zip(self.groups[group], self.sizes[group], strict=True):
            inner //= size
            digit = index if inner * size == self.extents[group] else index % (inner * size)
            total = total + (digit if inner == 1 else digit // inner) * self._stride(label)
        return total

    def _stride(self, label: int) -> int:
        """The distance of neighbours along a label; a label that occurs twice counts twice."""
        return sum(
            prod(self.shape[axis + 1 :]) for axis, each in enumerate(self.labels) if each == label
        )


@dataclass(frozen=True)
class Plan:
    """A contraction of two operands of known shapes.

    Attributes:
        lhs, rhs: the operands.
        output_sizes: the sizes of the result's labels, in the order batch, left, right.
        output_order: which of these axes each axis of the result is.
    """

    lhs: Side
    rhs: Side
    output_sizes: tuple[int, ...]
    output_order: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, int, int]:
        """The sizes of `[batch, left, right]`."""
        batch, left = self.lhs.extents[:2]
        return batch, left, self.rhs.extents[FREE]

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return tuple([self.output_sizes[axis] for axis in self.output_order])

    @property
    def is_empty(self) -> bool:
        """Whether there are no products."""
        return not (self.lhs.size and self.rhs.size)

    def result(self, xp: Any, y: Any) -> Any:
        """`[batch, left, right]` in the layout of the result."""
        y = xp.reshape(y, self.output_sizes)
        ordered = self.output_order == tuple(range(len(self.output_order)))
        return y if ordered else xp.transpose(y, self.output_order)

    def canonical(self, xp: Any, y: Any) -> Any:
        """An array in the layout of the result as `[batch, left, right]`."""
        inverse = tuple([self.output_order.index(i) for i in range(len(self.output_order))])
        if inverse != tuple(range(len(inverse))):
            y = xp.transpose(y, inverse)
        return xp.reshape(y, self.extents)


def make_plan(lhs: Labels, rhs: Labels, output: Labels, shapes: Sequence[tuple[int, ...]]) -> Plan:
    """The plan of a contraction.

    Raises:
        ShapeError: axes with one label have different sizes.

    >>> make_plan((0, 1), (1, 2), (2, 0), [(2, 3), (3, 4)]).extents
    (1, 2, 4)
    """
    sizes = sizes_of([lhs, rhs], shapes)
    batch = _kept(lhs, lambda label: label in rhs and label in output)
    contracted = _kept(lhs, lambda label: label in rhs and label not in output)
    sides, free = [], []
    for labels, other, shape in ((lhs, rhs, shapes[0]), (rhs, lhs, shapes[1])):
        alone = _kept(labels, lambda label, other=other: label not in other)
        free.append(_kept(alone, lambda label: label in output))
        own = _kept(alone, lambda label: label not in output)
        groups = (batch, free[-1], contracted, own)
        of_groups = tuple([tuple([sizes[label] for label in group]) for group in groups])
        sides.append(Side(labels, tuple(shape), groups, of_groups))
    axes = (*batch, *free[0], *free[1])
    return Plan(
        sides[0],
        sides[1],
        tuple([sizes[label] for label in axes]),
        tuple([axes.index(label) for label in output]),
    )


def _kept(labels: Labels, keep: Any) -> Labels:
    """The distinct labels for which `keep` is true, in order."""
    return tuple([label for label in dict.fromkeys(labels) if keep(label)])
