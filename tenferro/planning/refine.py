"""Improve a tree: replace small subtrees by the best trees over the same leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tenferro.planning.paths import Pairs
from tenferro.planning.subscripts import Label, Subscripts
from tenferro.planning.tree import ContractionTree, entering_labels

LEAVES = 8
"""Most leaves of a subtree that is planned again; the work grows as 3 to this power."""

TRAFFIC = 16.0
"""Cost of writing and reading one element of an intermediate, in multiplications."""


def refined(
    tree: ContractionTree, score: Callable[[ContractionTree], float], rounds: int = 4
) -> ContractionTree:
    """The tree after rounds of replacing subtrees; stops at the first without a lower score."""
    best = score(tree)
    for _ in range(rounds):
        candidate = ContractionTree(tree.subscripts, tree.sizes, _round(tree))
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


def _round(tree: ContractionTree) -> Pairs:
    """The pairs after planning the subtree below each node again, from the root down."""
    return _Round(tree).run()


class _Round:
    """Nested pairs, rebuilt node by node. A node is an operand's number or a pair of nodes."""

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
        for node in self._downwards(root):
            if node in self.children:
                self._replan(node)
        return self._pairs(root)

    def _downwards(self, root: int) -> list[int]:
        """The inner nodes, the root first; `run` skips nodes that replanning has removed."""
        return [node for node in self._upwards(root) if node >= self.count][::-1]

    def _upwards(self, root: int) -> list[int]:
        order: list[int] = []
        stack = [root]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(self.children.get(node, ()))
        return order[::-1]

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

    def _pairs(self, root: int) -> Pairs:
        numbers: dict[int, int] = {node: node for node in range(self.count)}
        pairs: list[tuple[int, int]] = []
        for node in self._upwards(root):
            if node in self.children:
                left, right = self.children[node]
                numbers[node] = self.count + len(pairs)
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
