"""A greedy planner: at each step the pair whose contraction shrinks what is held the most."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping

from tenferro.planning.paths import Pairs
from tenferro.planning.subscripts import Label, Subscripts
from tenferro.planning.tree import entering_labels

Held = dict[int, frozenset[Label]]


def greedy_pairs(
    subscripts: Subscripts,
    sizes: Mapping[Label, int],
    alpha: float = 1.0,
    temperature: float = 0.0,
    seed: int = 0,
) -> Pairs:
    """Contractions chosen one at a time by `size(result) - alpha * (size(left) + size(right))`.

    Only pairs with a common label are considered, as long as there are any; what is left is
    multiplied smallest first. A `temperature` above 0 adds Gumbel noise to the logarithm of the
    score, from a generator of its own, seeded with `seed`.
    """
    return _Greedy(subscripts, sizes, alpha, temperature, seed).run()


class _Greedy:
    def __init__(
        self,
        subscripts: Subscripts,
        sizes: Mapping[Label, int],
        alpha: float,
        temperature: float,
        seed: int,
    ) -> None:
        self.held: Held = {
            number: frozenset(labels) for number, labels in enumerate(entering_labels(subscripts))
        }
        self.kept = frozenset(subscripts.output)
        self.log = {label: math.log2(max(size, 1)) for label, size in sizes.items()}
        self.owners: dict[Label, set[int]] = {}
        for number, labels in self.held.items():
            for label in labels:
                self.owners.setdefault(label, set()).add(number)
        self.alpha = alpha
        self.temperature = temperature
        self.random = random.Random(seed)
        self.heap: list[tuple[float, int, int]] = []
        self.pairs: list[tuple[int, int]] = []
        self.next = len(self.held)

    def run(self) -> Pairs:
        for number in list(self.held):
            self.consider(number, above=number)
        while len(self.held) > 1:
            pair = self.best()
            if pair is None:
                break
            self.contract(*pair)
        self.multiply_rest()
        return tuple(self.pairs)

    def best(self) -> tuple[int, int] | None:
        while self.heap:
            _, a, b = heapq.heappop(self.heap)
            if a in self.held and b in self.held:
                return a, b
        return None

    def consider(self, number: int, above: int = -1) -> None:
        """Score the pairs of a value with those that share a label with it."""
        neighbours = {other for label in self.held[number] for other in self.owners[label]}
        for other in sorted(neighbours):
            if other != number and other > above:
                heapq.heappush(self.heap, (self.score(number, other), number, other))

    def score(self, a: int, b: int) -> float:
        made = self.size(self.result(a, b))
        gain = made - self.alpha * (self.size(self.held[a]) + self.size(self.held[b]))
        if not self.temperature:
            return gain
        noise = -math.log(-math.log(self.random.random() or 0.5))
        return math.copysign(math.log1p(abs(gain)), gain) - self.temperature * noise

    def result(self, a: int, b: int) -> frozenset[Label]:
        both = self.held[a] | self.held[b]
        pair = {a, b}
        return frozenset(
            label for label in both if label in self.kept or not self.owners[label] <= pair
        )

    def size(self, labels: frozenset[Label]) -> float:
        return float(2.0 ** min(sum(self.log[label] for label in labels), 1000.0))

    def contract(self, a: int, b: int) -> None:
        labels = self.result(a, b)
        for number in (a, b):
            for label in self.held.pop(number):
                self.owners[label].discard(number)
        number, self.next = self.next, self.next + 1
        self.held[number] = labels
        for label in labels:
            self.owners[label].add(number)
        self.pairs.append((a, b))
        self.consider(number)

    def multiply_rest(self) -> None:
        """Outer products of what shares no label, the two smallest first."""
        rest = [(self.size(labels), number) for number, labels in self.held.items()]
        heapq.heapify(rest)
        while len(rest) > 1:
            _, a = heapq.heappop(rest)
            _, b = heapq.heappop(rest)
            self.contract(min(a, b), max(a, b))
            number = self.next - 1
            heapq.heappush(rest, (self.size(self.held[number]), number))
