"""Runs of equal symbols at a constant distance, found in linear time with array comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tenferro.compiler.canonical.rolling.symbols import Bools, Ints

WINDOW = 6
TRIED = 6
SEARCHES = 3
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """Symbols `start : start + length`, each equal to the one that is `period` further on."""

    start: int
    length: int
    period: int

    @property
    def stop(self) -> int:
        """The place after the last symbol."""
        return self.start + self.length


def find_runs(symbols: Ints, rounds: int, instructions: int) -> list[Run]:
    """Runs of at least so many rounds and instructions that do not overlap, in order.

    Longest runs are taken first; of equally long ones, that of the shorter period. What is left is
    searched again, a constant number of times.
    """
    found: list[Run] = []
    rest = [(0, len(symbols))]
    for _ in range(SEARCHES):
        gaps: list[tuple[int, int]] = []
        for start, stop in rest:
            if stop - start < max(instructions, rounds, 2):
                continue
            taken = _longest_apart(list(_candidates(symbols[start:stop], rounds, instructions)))
            if not taken:
                continue
            moved = [Run(start + run.start, run.length, run.period) for run in taken]
            found += moved
            ends = [start, *[run.stop for run in moved]]
            gaps += list(zip(ends, [*[run.start for run in moved], stop], strict=True))
        rest = gaps
    return sorted(found)


def _longest_apart(candidates: list[Run]) -> list[Run]:
    """Runs that do not overlap, in order; longer ones are taken first."""
    taken: list[Run] = []
    for run in sorted(candidates, key=lambda run: (-run.length, run.period)):
        if all(run.start >= other.stop or run.stop <= other.start for other in taken):
            taken.append(run)
        if len(taken) == 64:
            break
    return sorted(taken)


def _candidates(symbols: Ints, rounds: int, instructions: int) -> Iterator[Run]:
    """All maximal runs of the distances that are tried."""
    for period in _distances(symbols):
        if period * rounds > len(symbols):
            continue
        equal = symbols[:-period] == symbols[period:]
        for start, stop in _stretches(equal):
            length = stop - start + period
            if length >= rounds * period and length >= instructions:
                yield Run(start, length, period)


def _stretches(equal: Bools) -> Iterator[tuple[int, int]]:
    """Where stretches of True start and stop."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]])))
    return zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _distances(symbols: Ints) -> list[int]:
    """The most frequent distances between equal windows that follow one another."""
    count = len(symbols) - WINDOW + 1
    if count < 2:
        return list(range(1, len(symbols)))
    hashes = np.zeros(count, np.uint64)
    for place in range(WINDOW):
        hashes = hashes * _FACTOR + symbols[place : place + count].astype(np.uint64)
        hashes ^= hashes >> np.uint64(29)
    order = np.argsort(hashes, kind="stable")
    again = hashes[order][1:] == hashes[order][:-1]
    distances, times = np.unique(np.diff(order)[again], return_counts=True)
    most = np.argsort(-times, kind="stable")[:TRIED]
    return [int(distance) for distance in distances[most]]
