"""A greedy planner: each step contracts the pair that reduces the memory in use the most."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping

from tenferro.planning.paths import Pairs
from tenferro.planning.subscripts import Label, Subscripts
from tenferro.planning.tree import entering_labels

Live = dict[int, frozenset[Label]]

CROWD = 48
"""Most values that a label brings as partners of another: the smallest of those that have it.

Where many values share a label, scoring every pair of them would take quadratic time.
"""


def greedy_pairs(
    subscripts: Subscripts,
    sizes: Mapping[Label, int],
    alpha: float = 1.0,
    temperature: float = 0.0,
    seed: int = 0,
) -> Pairs:
    """Contractions chosen one at a time by `size(result) - alpha * (size(left) + size(right))`.

    Only pairs with a common label are considered while such pairs exist; the remaining values are
    then multiplied, smallest first. A label that all operands have does not count as common: it
    says nothing about the order. A `temperature` above 0 adds Gumbel noise to the logarithm of
    the score; `seed` seeds the generator of the noise.
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
        self.live: Live = {
            number: frozenset(labels) for number, labels in enumerate(entering_labels(subscripts))
        }
        self.output = frozenset(subscripts.output)
        self.log = {label: math.log2(max(size, 1)) for label, size in sizes.items()}
        self.owners: dict[Label, set[int]] = {}
        for number, labels in self.live.items():
            for label in labels:
                self.owners.setdefault(label, set()).add(number)
        count = len(self.live)
        shared = {label for label, owners in self.owners.items() if len(owners) == count > 2}
        if shared:
            self.live = {number: labels - shared for number, labels in self.live.items()}
        self.sizes = {number: self.size(labels) for number, labels in self.live.items()}
        self.crowds = {
            label: sorted((self.sizes[number], number) for number in owners)
            for label, owners in self.owners.items()
            if len(owners) > CROWD and label not in shared
        }
        self.alpha = alpha
        self.temperature = temperature
        self.random = random.Random(seed)
        self.heap: list[tuple[float, int, int]] = []
        self.pairs: list[tuple[int, int]] = []
        self.next = len(self.live)

    def run(self) -> Pairs:
        while len(self.live) > 1:
            pair = self.best()
            if pair is not None:
                self.contract(*pair)
                continue
            for number in list(self.live):
                self.consider(number, above=number)
            if not self.heap:  # no two values have a common label
                break
        self.multiply_rest()
        return tuple(self.pairs)

    def best(self) -> tuple[int, int] | None:
        while self.heap:
            _, a, b = heapq.heappop(self.heap)
            if a in self.live and b in self.live:
                return a, b
        return None

    def consider(self, number: int, above: int = -1) -> None:
        """Score the pairs of a value with those that share a label with it."""
        neighbours: set[int] = set()
        for label in self.live[number]:
            crowd = self.crowds.get(label)
            if crowd is not None:
                neighbours.update(self.smallest(crowd))
            else:
                neighbours.update(owner for owner in self.owners[label] if owner > above)
        neighbours.discard(number)
        for neighbour in sorted(neighbours):
            heapq.heappush(self.heap, (self.score(number, neighbour), number, neighbour))

    def smallest(self, crowd: list[tuple[float, int]]) -> list[int]:
        """The smallest values of a heap that have not been contracted."""
        found: list[tuple[float, int]] = []
        while crowd and len(found) <= CROWD:
            entry = heapq.heappop(crowd)
            if entry[1] in self.live:
                found.append(entry)
        for entry in found:
            heapq.heappush(crowd, entry)
        return [number for _, number in found]

    def score(self, a: int, b: int) -> float:
        result_size = self.size(self.result(a, b))
        gain = result_size - self.alpha * (self.sizes[a] + self.sizes[b])
        if not self.temperature:
            return gain
        noise = -math.log(-math.log(self.random.random() or 0.5))
        return math.copysign(math.log1p(abs(gain)), gain) - self.temperature * noise

    def result(self, a: int, b: int) -> frozenset[Label]:
        labels = self.live[a] | self.live[b]
        pair = {a, b}
        return frozenset(
            label for label in labels if label in self.output or not self.owners[label] <= pair
        )

    def size(self, labels: frozenset[Label]) -> float:
        return float(2.0 ** min(sum(self.log[label] for label in labels), 1000.0))

    def contract(self, a: int, b: int) -> None:
        labels = self.result(a, b)
        for number in (a, b):
            for label in self.live.pop(number):
                self.owners[label].discard(number)
        number, self.next = self.next, self.next + 1
        self.live[number] = labels
        self.sizes[number] = self.size(labels)
        for label in labels:
            self.owners[label].add(number)
            if label in self.crowds:
                heapq.heappush(self.crowds[label], (self.sizes[number], number))
        self.pairs.append((a, b))
        self.consider(number)

    def multiply_rest(self) -> None:
        """Outer products of the values that share no label, the two smallest first."""
        rest = [(self.sizes[number], number) for number in self.live]
        heapq.heapify(rest)
        while len(rest) > 1:
            _, a = heapq.heappop(rest)
            _, b = heapq.heappop(rest)
            self.contract(min(a, b), max(a, b))
            number = self.next - 1
            heapq.heappush(rest, (self.sizes[number], number))
