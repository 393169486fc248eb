"""Slicing: which labels to loop over so that a contraction fits in memory, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tenferro.planning.subscripts import Label, Labels, Subscripts
from tenferro.planning.tree import ContractionTree, Step


@dataclass(frozen=True)
class SlicedTree:
    """A tree whose contraction is a loop over the values of some labels.

    What depends on none of them is contracted before the loop, once.
    """

    tree: ContractionTree
    labels: Labels

    @cached_property
    def count(self) -> int:
        """Rounds of the loop."""
        return math.prod(self.tree.sizes[label] for label in self.labels)

    @cached_property
    def inner(self) -> ContractionTree:
        """The tree of one round: the sliced labels have size 1."""
        sizes = {**self.tree.sizes, **dict.fromkeys(self.labels, 1)}
        return ContractionTree(self.tree.subscripts, sizes, self.tree.pairs)

    @cached_property
    def dependent(self) -> tuple[bool, ...]:
        """For each value of the tree whether it differs from round to round."""
        return depends(self.tree.entering, self.tree.pairs, self.labels)

    @cached_property
    def flops(self) -> int:
        """Multiplications and additions of all rounds, and of what is done before."""
        return sum(
            self.inner.step_flops(step) * self.count if inside else self.tree.step_flops(step)
            for step, inside in self._steps
        )

    @cached_property
    def peak(self) -> int:
        """Elements that are alive at once, about: results of a round, and those that stay."""
        count = len(self.tree.subscripts.inputs)
        leaves = {
            value
            for step, inside in self._steps
            if inside
            for value in (step.left, step.right)
            if value >= count and not self.dependent[value]
        }
        before = sum(self.tree.size(self.tree.value_labels[value]) for value in leaves)
        result = self.tree.size(tuple(dict.fromkeys(self.tree.subscripts.output)))
        return max(self._outer_peak, before + result + self.inner.peak)

    @property
    def _steps(self) -> list[tuple[Step, bool]]:
        count = len(self.tree.subscripts.inputs)
        return list(zip(self.tree.steps, self.dependent[count:], strict=True))

    @property
    def _outer_peak(self) -> int:
        outside = [self.tree.size(step.labels) for step, inside in self._steps if not inside]
        return max(outside, default=0)


def depends(
    entering: Sequence[Labels], pairs: Sequence[tuple[int, int]], sliced: Labels
) -> tuple[bool, ...]:
    """For operands and results whether anything that they are made of has a sliced label."""
    found = [any(label in sliced for label in labels) for labels in entering]
    for left, right in pairs:
        found.append(found[left] or found[right])
    return tuple(found)


def find_slices(tree: ContractionTree, enough: Callable[[SlicedTree], bool]) -> SlicedTree | None:
    """The tree with labels sliced one after the other, the cheapest each time, until it is enough.

    None where no labels are left.

    >>> from tenferro.network import Subscripts
    >>> chain = Subscripts.parse("ab,bc,cd->ad")
    >>> tree = ContractionTree.of(chain, [(2, 9), (9, 9), (9, 2)], [(1, 2), (0, 1)])
    >>> found = find_slices(tree, lambda sliced: sliced.peak <= 10)
    >>> [chr(label) for label in found.labels], found.count
    (['b'], 9)
    """
    current = SlicedTree(tree, ())
    while not enough(current):
        candidates = _candidates(current)
        if not candidates:
            return None
        tried = [SlicedTree(tree, (*current.labels, label)) for label in candidates]
        current = min(tried, key=lambda each: (each.flops * math.sqrt(each.peak), each.labels))
    return current


def _candidates(current: SlicedTree) -> list[Label]:
    """Labels of the largest result of a round that can be sliced, and of the step that makes it."""
    inner = current.inner
    by_size = sorted(inner.steps, key=lambda step: inner.size(step.labels), reverse=True)
    for labels in (*(step.labels for step in by_size), *(step.contracted for step in by_size)):
        found = sorted({label for label in labels if inner.sizes[label] > 1})
        if found:
            return found
    return []


@dataclass(frozen=True, slots=True)
class Loop:
    """A network cut in two: what is contracted before a loop, and the network of the loop.

    Attributes:
        leaves: numbers of the values that the loop reads.
        pairs: contractions of the loop, in which the leaves are numbered from 0 on.
    """

    leaves: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]


def cut_loop(
    subscripts: Subscripts, pairs: Sequence[tuple[int, int]], dependent: Sequence[bool]
) -> Loop:
    """The part of a tree that differs from round to round."""
    count = len(subscripts.inputs)
    leaves: list[int] = [] if pairs else [0]
    steps = [pair for number, pair in enumerate(pairs, count) if dependent[number]]
    inside = {number for number in range(count, count + len(pairs)) if dependent[number]}
    for pair in steps:
        leaves.extend(value for value in pair if value not in inside)
    position = {value: number for number, value in enumerate(leaves)}
    position.update({value: len(leaves) + k for k, value in enumerate(sorted(inside))})
    return Loop(tuple(leaves), tuple((position[a], position[b]) for a, b in steps))
