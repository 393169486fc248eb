"""Lanes: how the rounds of a sliced network are shared out, and added in one order.

A *lane* is a run of neighbouring rounds that one worker adds up. The number of lanes depends on the
number of rounds, and lanes are added in a fixed binary tree over their numbers; so the bits of the
sum do not depend on the number of workers, nor on the order in which they finish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Value = TypeVar("Value")

FEWEST_ROUNDS = 8
"""A lane has at least so many rounds, where there are more than `FEWEST_LANES`."""
FEWEST_LANES = 16
"""There are at least so many lanes, if there are as many rounds."""
MOST_LANES = 64


def lane_count(total: int, workers: int = 1) -> int:
    """How many lanes `total` rounds make: a power of two, 64 at most.

    It depends on `total` alone as long as there are no more workers than lanes. With more lanes
    than rounds the bits of the sum are the same for every number of lanes.

    >>> lane_count(64), lane_count(256), lane_count(3), lane_count(10**6)
    (16, 32, 4, 64)
    >>> lane_count(64, workers=24)
    32
    """
    lanes = 1
    while lanes < min(total, FEWEST_LANES):
        lanes *= 2
    while lanes < MOST_LANES and 2 * lanes * FEWEST_ROUNDS <= total:
        lanes *= 2
    while lanes < workers:
        lanes *= 2
    return lanes


def lane_bounds(lane: int, lanes: int, total: int) -> tuple[int, int]:
    """The first round of a lane, and the one after its last.

    >>> [lane_bounds(lane, 4, 10) for lane in range(4)]
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    """
    return lane * total // lanes, (lane + 1) * total // lanes


class TreeSum(Generic[Value]):
    """Adds values that come in the order of their numbers, as the leaves of a binary tree.

    It holds one value a level, as a binary counter does. Where the count is a power of two, runs
    of 2ᵏ neighbours that start at a multiple of 2ᵏ may be added apart and give the same bits.

    Args:
        add: the sum of two values; called with the earlier one first.

    >>> tree = TreeSum(lambda a, b: f"({a}+{b})")
    >>> for leaf in "abcde":
    ...     tree.push(leaf)
    >>> tree.result()
    '(((a+b)+(c+d))+e)'
    """

    def __init__(self, add: Callable[[Value, Value], Value]) -> None:
        self._add = add
        self._levels: list[tuple[int, Value]] = []

    def push(self, value: Value) -> None:
        """Add the next leaf."""
        level = 0
        while self._levels and self._levels[-1][0] == level:
            value = self._add(self._levels.pop()[1], value)
            level += 1
        self._levels.append((level, value))

    def result(self) -> Value:
        """The sum of all leaves.

        Raises:
            IndexError: there is no leaf.
        """
        pending: Iterator[Value] = (value for _, value in reversed(self._levels))
        total = next(pending, None)
        if total is None:
            raise IndexError("TreeSum: there is no leaf to add")
        for earlier in pending:
            total = self._add(earlier, total)
        return total
