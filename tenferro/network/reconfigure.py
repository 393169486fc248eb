"""Improve a tree: replan small subtrees, anneal, and stop when a search no longer pays.

`refined` replaces small subtrees by the best trees over the same leaves. `annealed` exchanges two
neighbouring contractions: a node with children (a b) and c may become (a c), b or (c b), a. The
change of cost follows from the labels of a, b, c and the node alone, so a move takes microseconds
in a network of any size. `Effort` bounds what a search may spend.

Source of `annealed`: Kalachev, Panteleev, Yung, "Multi-tensor contraction for XEB verification of
quantum circuits", arXiv:2108.05665.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from tenferro.network.contraction_tree import ContractionTree, Pairs, entering_labels
from tenferro.network.subscripts import Label, Subscripts

LEAVES = 8
"""Most leaves of a subtree that is planned again; the work grows as 3 to this power."""

TRAFFIC = 16.0
"""Cost of writing and reading one element of an intermediate, in multiplications."""


def refined(
    tree: ContractionTree, score: Callable[[ContractionTree], float], iterations: int = 4
) -> ContractionTree:
    """The tree after iterations of replacing subtrees; stops at the first without a lower score."""
    best = score(tree)
    for _ in range(iterations):
        candidate = ContractionTree(tree.subscripts, tree.sizes, _Replanning(tree).run())
        candidate_score = score(candidate)
        if not candidate_score < best:
            break
        tree, best = candidate, candidate_score
    return tree


def exact_pairs(subscripts: Subscripts, sizes: Mapping[Label, int]) -> Pairs:
    """The cheapest of all trees; for few operands."""
    entering = [frozenset(labels) for labels in entering_labels(subscripts)]
    best = _Subsets(entering, frozenset(subscripts.output), sizes)
    pairs: list[tuple[int, int]] = []

    def number(subset: int) -> int:
        if subset & (subset - 1) == 0:
            return subset.bit_length() - 1
        part = best.split[subset]
        pairs.append((number(part), number(subset ^ part)))
        return len(entering) + len(pairs) - 1

    number((1 << len(entering)) - 1)
    return tuple(pairs)


class _Replanning:
    """The subtree below each node is planned again, from the root down.

    A node is an operand's number or a pair of nodes.
    """

    def __init__(self, tree: ContractionTree) -> None:
        self.tree = tree
        self.count = len(tree.subscripts.inputs)
        self.labels: dict[int, frozenset[Label]] = {
            number: frozenset(labels) for number, labels in enumerate(tree.value_labels)
        }
        self.children: dict[int, tuple[int, int]] = {
            self.count + k: pair for k, pair in enumerate(tree.pairs)
        }
        self.next = self.count + len(tree.pairs)

    def run(self) -> Pairs:
        root = self.count + len(self.tree.pairs) - 1
        for node in reversed(_upwards(self.children, root)):
            if node in self.children:  # replanning may have removed it
                self._replan(node)
        return _pairs(self.children, root, self.count)

    def _replan(self, node: int) -> None:
        """Replace a small subtree at `node` by the best tree over the leaves of that subtree."""
        leaves = self._frontier(node)
        if len(leaves) < 3:
            return
        best = _Subsets([self.labels[leaf] for leaf in leaves], self.labels[node], self.tree.sizes)
        self._adopt(node, leaves, best)

    def _frontier(self, node: int) -> list[int]:
        """Up to `LEAVES` nodes below `node`: repeatedly replace the largest by its children."""
        leaves = list(self.children[node])
        while len(leaves) < LEAVES:
            inner = [leaf for leaf in leaves if leaf in self.children]
            if not inner:
                break
            largest = max(inner, key=lambda leaf: (self._size(leaf), leaf))
            leaves.remove(largest)
            leaves.extend(self.children[largest])
        return leaves

    def _size(self, node: int) -> int:
        return self.tree.size(tuple(self.labels[node]))

    def _adopt(self, node: int, leaves: list[int], best: _Subsets) -> None:
        stack = [(node, (1 << len(leaves)) - 1)]
        while stack:
            parent, whole = stack.pop()
            part = best.split[whole]
            pair: list[int] = []
            for half in (part, whole ^ part):
                if half & (half - 1) == 0:
                    pair.append(leaves[half.bit_length() - 1])
                    continue
                child, self.next = self.next, self.next + 1
                self.labels[child] = best.labels(half)
                pair.append(child)
                stack.append((child, half))
            self.children[parent] = (pair[0], pair[1])


def _upwards(children: Mapping[int, tuple[int, int]], root: int) -> list[int]:
    """The inner nodes of a tree, each after those below it."""
    order: list[int] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node in children:
            order.append(node)
            stack.extend(children[node])
    return order[::-1]


def _pairs(children: Mapping[int, tuple[int, int]], root: int, count: int) -> Pairs:
    """The contractions of a tree whose leaves are the operands, of which there are `count`."""
    numbers = {node: node for node in range(count)}
    pairs: list[tuple[int, int]] = []
    for node in _upwards(children, root):
        left, right = children[node]
        numbers[node] = count + len(pairs)
        pairs.append((numbers[left], numbers[right]))
    return tuple(pairs)


class _Subsets:
    """The cheapest tree over every subset of a few values, by dynamic programming.

    Subsets and sets of labels are bit masks. `split` maps each subset to the left operand, itself a
    subset, of the last contraction of its cheapest tree.
    """

    def __init__(
        self,
        leaves: list[frozenset[Label]],
        result: frozenset[Label],
        sizes: Mapping[Label, int],
    ) -> None:
        names = sorted(frozenset().union(result, *leaves))
        bit = {label: 1 << position for position, label in enumerate(names)}
        self._names = names
        self._sizes = [float(max(sizes[label], 1)) for label in names]
        self._size: dict[int, float] = {0: 1.0}
        leaf_masks = [sum(bit[label] for label in labels) for labels in leaves]
        outside = sum(bit[label] for label in result)
        everything = (1 << len(leaves)) - 1
        union = [0] * (everything + 1)
        for subset in range(1, everything + 1):
            low = subset & -subset
            union[subset] = union[subset ^ low] | leaf_masks[low.bit_length() - 1]
        self._result_labels = [
            union[subset] & (outside | union[everything ^ subset])
            for subset in range(everything + 1)
        ]
        for position, mask in enumerate(leaf_masks):
            self._result_labels[1 << position] = mask
        self.split: dict[int, int] = {}
        self._plan(everything)

    def labels(self, subset: int) -> frozenset[Label]:
        """Labels of the contraction of a subset."""
        mask = self._result_labels[subset]
        return frozenset(name for i, name in enumerate(self._names) if mask >> i & 1)

    def _plan(self, everything: int) -> None:
        result_labels = self._result_labels
        cost = [0.0] * (everything + 1)
        for subset in range(1, everything + 1):
            if subset & (subset - 1) == 0:
                continue
            top = 1 << (subset.bit_length() - 1)
            lowest, chosen = float("inf"), 0
            part = (subset - 1) & subset
            while part:
                if part & top:  # visits each split once, not once per side
                    rest = subset ^ part
                    total = cost[part] + cost[rest]
                    if total < lowest:
                        total += self._elements(result_labels[part] | result_labels[rest])
                        if total < lowest:
                            lowest, chosen = total, part
                part = (part - 1) & subset
            cost[subset] = lowest + TRAFFIC * self._elements(result_labels[subset])
            self.split[subset] = chosen

    def _elements(self, mask: int) -> float:
        elements = self._size.get(mask)
        if elements is None:
            elements = 1.0
            for position, size in enumerate(self._sizes):
                if mask >> position & 1:
                    elements *= size
            self._size[mask] = elements
        return elements


# Improve a tree by simulated annealing: a move exchanges two neighbouring contractions.

WARMEST = 2.0
COLDEST = 8.0
"""Inverse temperatures of the first and last sweep; they scale differences of log cost."""


def annealed(tree: ContractionTree, seed: int, traffic: float, sweeps: int) -> Pairs:
    """The cheapest order that the annealing visits.

    The cost is the number of multiplications plus `traffic` times the number of elements of all
    results. A sweep tries one move at each contraction. Equal arguments give equal orders.

    >>> from tenferro.network import Subscripts
    >>> network = Subscripts.parse("ab,bc,cd,de->ae")
    >>> chain = ContractionTree.of(network, [(9, 2), (2, 9), (9, 2), (2, 9)], [(0, 1)] * 3)
    >>> better = ContractionTree(network, chain.sizes, annealed(chain, 0, 16.0, 20))
    >>> chain.flops, better.flops
    (2106, 468)
    """
    return _Annealing(tree, seed, traffic).run(sweeps)


class _Annealing:
    """Node numbers are those of the tree's values; sets of labels are bit masks."""

    def __init__(self, tree: ContractionTree, seed: int, traffic: float) -> None:
        self.random = random.Random(seed)
        self.traffic = traffic
        self.count = len(tree.subscripts.inputs)
        names = sorted(tree.sizes)
        self.groups = _groups(tree.sizes, names)
        bit = {label: 1 << position for position, label in enumerate(names)}
        self.masks = [sum(bit[label] for label in labels) for labels in tree.value_labels]
        self.left = [0] * self.count + [pair[0] for pair in tree.pairs]
        self.right = [0] * self.count + [pair[1] for pair in tree.pairs]
        self.root = len(self.masks) - 1
        self.known: dict[int, float] = {}

    def run(self, sweeps: int) -> Pairs:
        best = total = self.total()
        best_tree = (self.left[:], self.right[:])
        for number in range(sweeps):
            self.sweep(WARMEST + (COLDEST - WARMEST) * number / sweeps)
            if number % 4 == 3 or number == sweeps - 1:
                total = self.total()
                if total < best:
                    best, best_tree = total, (self.left[:], self.right[:])
        left, right = best_tree
        children = {node: (left[node], right[node]) for node in range(self.count, self.root + 1)}
        return _pairs(children, self.root, self.count)

    def sweep(self, beta: float) -> None:
        """Try a move at each contraction, from the root down."""
        left, right, count = self.left, self.right, self.count
        uniform = self.random.random
        stack = [self.root]
        while stack:
            node = stack.pop()
            a, b = left[node], right[node]
            if a >= count and (b < count or uniform() < 0.5):
                self.move(node, a, b, beta, uniform())
            elif b >= count:
                self.move(node, b, a, beta, uniform())
            a, b = left[node], right[node]
            if a >= count:
                stack.append(a)
            if b >= count:
                stack.append(b)

    def move(self, node: int, inner: int, c: int, beta: float, chance: float) -> None:
        """Exchange a child of `inner` with `c`; `inner` and `c` are the children of `node`."""
        masks = self.masks
        fixed, moved = self.left[inner], self.right[inner]
        if chance < 0.5:
            fixed, moved = moved, fixed
        fixed_mask, moved_mask, c_mask, inner_mask = (
            masks[fixed],
            masks[moved],
            masks[c],
            masks[inner],
        )
        changed = (fixed_mask | c_mask) & (moved_mask | masks[node])
        size = self.size
        old = (
            size(fixed_mask | moved_mask)
            + size(inner_mask | c_mask)
            + self.traffic * size(inner_mask)
        )
        new = size(fixed_mask | c_mask) + size(changed | moved_mask) + self.traffic * size(changed)
        if new > old and self.random.random() >= (old / new) ** beta:
            return
        masks[inner] = changed
        self.left[inner], self.right[inner] = fixed, c
        self.left[node], self.right[node] = inner, moved

    def size(self, mask: int) -> float:
        elements = self.known.get(mask)
        if elements is None:
            exponent = sum((mask & group).bit_count() * log for group, log in self.groups)
            elements = self.known[mask] = 2.0 ** min(exponent, 1000.0)
        return elements

    def total(self) -> float:
        """The cost of all contractions."""
        cost, masks = 0.0, self.masks
        for node in range(self.count, len(masks)):
            cost += self.size(masks[self.left[node]] | masks[self.right[node]])
            cost += self.traffic * self.size(masks[node])
        return cost


def _groups(sizes: Mapping[Label, int], names: list[Label]) -> list[tuple[int, float]]:
    """For each size, the mask of the labels of that size and the base-2 logarithm of the size."""
    groups: dict[int, int] = {}
    for position, label in enumerate(names):
        groups[sizes[label]] = groups.get(sizes[label], 0) | 1 << position
    return [(mask, math.log2(size)) for size, mask in groups.items() if size > 1]


# What a search may spend, in predicted seconds, so that equal networks get equal plans.

LEAST = 0.02
"""Seconds that any search may take."""

OPERAND = 1e-3
"""Seconds that a search may take for each operand: a part of what its compilation takes."""

GREEDY = 35e-6
"""Seconds of a greedy planner for each operand."""

MOVE = 1.5e-6
"""Seconds of a move of annealing."""

CANDIDATES = 0.25
"""The part of a bound that is for candidates; the rest is for what improves them."""

REPLAN = 5e-4
"""Seconds for planning the subtree below a node again."""


class Effort:
    """A bound in proportion to the predicted run time of the best plan so far.

    Args:
        factor: the number of runs that planning may cost.
        operands: the number of operands of the network.
    """

    def __init__(self, factor: float, operands: int) -> None:
        self._factor = factor
        self._operands = operands
        self._spent = 0.0

    def spend(self, seconds: float) -> None:
        """Count what has been done, for each operand."""
        self._spent += seconds * self._operands

    def part_spent(self, run: float) -> float:
        """What part of the bound has been spent, if `run` is the run time of the best plan."""
        return self._spent / self._allowed(run)

    def left(self, run: float, each: float) -> int | None:
        """How often something that takes `each` second for each operand may still be done.

        `run` is the predicted run time of the best plan. None if there is no bound.
        """
        allowed = self._allowed(run)
        if allowed == math.inf:
            return None
        return max(0, int((allowed - self._spent) / (each * self._operands)))

    def _allowed(self, run: float) -> float:
        return max(LEAST, OPERAND * self._operands, self._factor * run)
