"""Improve a tree by simulated annealing: a move exchanges two neighbouring contractions.

A node with children (a b) and c may become (a c), b or (c b), a. The change of cost follows from
the labels of a, b, c and the node alone, so a move takes microseconds in a network of any size.

Source: Kalachev, Panteleev, Yung, "Multi-tensor contraction for XEB verification of quantum
circuits", arXiv:2108.05665.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from tenferro.planning.paths import Pairs
from tenferro.planning.subscripts import Label
from tenferro.planning.tree import ContractionTree

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
        self.left, self.right = best_tree
        return self.pairs()

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

    def pairs(self) -> Pairs:
        """The contractions, ordered so that each one comes after the contractions it reads."""
        order: list[int] = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node >= self.count:
                order.append(node)
                stack.extend((self.left[node], self.right[node]))
        number = {node: node for node in range(self.count)}
        pairs: list[tuple[int, int]] = []
        for node in reversed(order):
            number[node] = self.count + len(pairs)
            pairs.append((number[self.left[node]], number[self.right[node]]))
        return tuple(pairs)


def _groups(sizes: Mapping[Label, int], names: list[Label]) -> list[tuple[int, float]]:
    """For each size, the mask of the labels of that size and the base-2 logarithm of the size."""
    groups: dict[int, int] = {}
    for position, label in enumerate(names):
        groups[sizes[label]] = groups.get(sizes[label], 0) | 1 << position
    return [(mask, math.log2(size)) for size, mask in groups.items() if size > 1]
