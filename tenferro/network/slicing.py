"""Labels to loop over so that a contraction fits in memory, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tenferro.network.contraction_tree import ContractionTree, Pairs, Step
from tenferro.network.subscripts import Label, Labels, Subscripts

__all__ = ["SlicedTree", "cut_loop", "depends", "find_slices"]


@dataclass(frozen=True)
class SlicedTree:
    """A tree whose contraction is a loop over the values of some labels.

    Values that depend on none of these labels are contracted once, before the loop.
    """

    tree: ContractionTree
    labels: Labels

    @cached_property
    def count(self) -> int:
        """Rounds of the loop."""
        return math.prod(self.tree.sizes[label] for label in self.labels)

    @cached_property
    def inner(self) -> ContractionTree:
        """The tree of one iteration: the sliced labels have size 1."""
        sizes = {**self.tree.sizes, **dict.fromkeys(self.labels, 1)}
        return ContractionTree(self.tree.subscripts, sizes, self.tree.pairs)

    @cached_property
    def dependent(self) -> tuple[bool, ...]:
        """For each value of the tree, whether it differs between iterations of the loop."""
        return depends(self.tree.entering, self.tree.pairs, self.labels)

    @cached_property
    def flops(self) -> int:
        """Multiplications and additions of all iterations and of the steps before the loop."""
        return sum(
            tree.step_flops(step) * iterations
            for step, (tree, iterations) in zip(self.tree.steps, self.runs, strict=True)
        )

    @cached_property
    def runs(self) -> list[tuple[ContractionTree, int]]:
        """For each step, the tree that has its sizes in one run, and how often it runs."""
        return [(self.inner, self.count) if inside else (self.tree, 1) for _, inside in self._steps]

    @cached_property
    def largest(self) -> int:
        """Elements of the largest result of a step, in one iteration of the loop."""
        sizes = [
            tree.size(step.labels)
            for step, (tree, _) in zip(self.tree.steps, self.runs, strict=True)
        ]
        return max(sizes, default=self.tree.largest)

    @cached_property
    def peak(self) -> int:
        """Estimated most elements alive at once: of one round, and of values that outlive it."""
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
    """For each operand and result, whether it is computed from a value with a sliced label."""
    dependent = [any(label in sliced for label in labels) for labels in entering]
    for left, right in pairs:
        dependent.append(dependent[left] or dependent[right])
    return tuple(dependent)


def find_slices(tree: ContractionTree, enough: Callable[[SlicedTree], bool]) -> SlicedTree | None:
    """Slice one label after another, the cheapest first, until `enough` accepts the tree.

    Returns None if all labels are sliced and `enough` still refuses.

    >>> from tenferro.network import Subscripts
    >>> chain = Subscripts.parse("ab,bc,cd->ad")
    >>> tree = ContractionTree.of(chain, [(2, 9), (9, 9), (9, 2)], [(1, 2), (0, 1)])
    >>> sliced = find_slices(tree, lambda candidate: candidate.peak <= 10)
    >>> [chr(label) for label in sliced.labels], sliced.count
    (['b'], 9)
    """
    current = SlicedTree(tree, ())
    while not enough(current):
        candidates = _candidates(current)
        if not candidates:
            return None
        sliced_further = [SlicedTree(tree, (*current.labels, label)) for label in candidates]
        current = min(
            sliced_further,
            key=lambda candidate: (candidate.flops * math.sqrt(candidate.peak), candidate.labels),
        )
    return current


def _candidates(current: SlicedTree) -> list[Label]:
    """Labels of size above 1 of the largest result of an iteration that has any.

    If no result has any, those among the contracted labels of the steps, largest result first.
    """
    inner = current.inner
    by_size = sorted(inner.steps, key=lambda step: inner.size(step.labels), reverse=True)
    for labels in (*(step.labels for step in by_size), *(step.contracted for step in by_size)):
        divisible = sorted({label for label in labels if inner.sizes[label] > 1})
        if divisible:
            return divisible
    return []


def cut_loop(
    subscripts: Subscripts, pairs: Pairs, dependent: Sequence[bool]
) -> tuple[list[int], Pairs]:
    """The part of a tree that differs between iterations of the loop.

    Returns the numbers of the values that the loop reads, and its contractions, in which these
    values have the numbers from 0 on.
    """
    count = len(subscripts.inputs)
    leaves: list[int] = [] if pairs else [0]
    steps = [pair for number, pair in enumerate(pairs, count) if dependent[number]]
    inside = {n: None for n in range(count, count + len(pairs)) if dependent[n]}  # in order
    for pair in steps:
        leaves.extend(value for value in pair if value not in inside)
    position = {value: number for number, value in enumerate([*leaves, *inside])}
    return leaves, tuple((position[a], position[b]) for a, b in steps)
