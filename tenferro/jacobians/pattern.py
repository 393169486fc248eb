"""Sparse patterns: which elements of a value depend on which elements of the arguments."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tenferro.exec_ir import Array, Reach
from tenferro.shape import TensorMeta

MOST_ENTRIES = 1 << 25
"""The largest number of entries of a pattern; one with more counts as dense."""


class TooDenseError(Exception):
    """A pattern has more entries than it may have. It does not leave this package."""


class Pattern:
    """Places in a matrix that may differ from zero.

    Args:
        entries: row · columns + column of each place, increasing.
        rows: number of rows.
        columns: number of columns.
        most: the largest number of places, also of patterns that are made of this one.

    Raises:
        TooDenseError: there are more places.
    """

    __slots__ = ("columns", "entries", "most", "rows")

    def __init__(self, entries: Array, rows: int, columns: int, most: int = MOST_ENTRIES) -> None:
        if entries.size > most:
            raise TooDenseError
        self.entries, self.rows, self.columns, self.most = entries, rows, columns, most

    @classmethod
    def units(cls, count: int, first: int, columns: int, most: int = MOST_ENTRIES) -> Pattern:
        """Row i has its only place in column `first` + i."""
        numbers = np.arange(count)
        return cls(numbers * columns + first + numbers, count, columns, most)

    @classmethod
    def dense(cls, rows: int, columns: int) -> Pattern:
        """All places."""
        if rows * columns > MOST_ENTRIES:
            raise TooDenseError
        return cls(np.arange(rows * columns), rows, columns)

    @classmethod
    def union(cls, patterns: Sequence[Pattern], rows: int, columns: int) -> Pattern:
        """The places of any of the patterns, which have one shape."""
        first, *others = patterns or [cls(np.zeros(0, np.int64), rows, columns)]
        if all(other is first for other in others):
            return first  # as of pointwise ops one after another
        found = np.unique(np.concatenate([pattern.entries for pattern in patterns]))
        return cls(found, rows, columns, first.most)

    @classmethod
    def stacked(cls, patterns: Sequence[Pattern], columns: int) -> Pattern:
        """The rows of all patterns, one pattern after the other."""
        starts = np.cumsum([0, *(pattern.rows for pattern in patterns)])
        entries = [
            pattern.entries + start * columns
            for pattern, start in zip(patterns, starts[:-1], strict=True)
        ]
        found = np.concatenate(entries) if entries else np.zeros(0, np.int64)
        return cls(found, int(starts[-1]), columns)

    @property
    def is_identity(self) -> bool:
        """Whether the places are those of the identity matrix."""
        places = self.columns + 1
        return self.rows == self.columns and np.array_equal(
            self.entries, np.arange(self.rows) * places
        )

    @property
    def row_numbers(self) -> Array:
        """The row of each place."""
        return self.entries // max(self.columns, 1)

    @property
    def column_numbers(self) -> Array:
        """The column of each place."""
        return self.entries % max(self.columns, 1)

    @property
    def transposed(self) -> Pattern:
        """The pattern of the transposed matrix."""
        entries = np.sort(self.column_numbers * self.rows + self.row_numbers)
        return Pattern(entries, self.columns, self.rows)

    def blocks(self, inputs: Sequence[TensorMeta], outputs: Sequence[TensorMeta]) -> Blocks:
        """For each output and each input the places of that block, and its pattern.

        The first are positions among the places of the whole pattern.
        """
        rows, columns = self.row_numbers, self.column_numbers
        below = np.cumsum([0, *(meta.known_size for meta in outputs)])
        beside = np.cumsum([0, *(meta.known_size for meta in inputs)])
        found: Blocks = []
        for top, bottom in itertools.pairwise(below.tolist()):
            found.append([])
            for left, right in itertools.pairwise(beside.tolist()):
                inside = (top <= rows) & (rows < bottom) & (left <= columns) & (columns < right)
                chosen = np.flatnonzero(inside)
                entries = (rows[chosen] - top) * (right - left) + columns[chosen] - left
                found[-1].append((chosen, Pattern(entries, bottom - top, right - left)))
        return found

    def starts(self) -> Array:
        """For each row the position of its first place, and at the end the number of places."""
        return np.searchsorted(self.entries, np.arange(self.rows + 1) * self.columns)

    def through(self, reach: Reach | None, rows: int) -> Pattern:
        """The pattern of a value of `rows` elements that depends on this one as `reach` says."""
        if reach is None:
            return self._everywhere(rows)
        grouped = self
        if reach.groups is not None:
            count = rows if reach.read is None else int(reach.groups.max(initial=-1)) + 1
            grouped = self._grouped(reach.groups, count)
        return grouped if reach.read is None else grouped._taken(reach.read)

    def _everywhere(self, rows: int) -> Pattern:
        """Rows that each have the places of all rows."""
        columns = np.unique(self.column_numbers)
        if rows * columns.size > self.most:
            raise TooDenseError
        entries = np.arange(rows)[:, None] * self.columns + columns
        return Pattern(entries.reshape(-1), rows, self.columns, self.most)

    def _grouped(self, groups: Array, count: int) -> Pattern:
        """For each of `count` groups the places of its rows."""
        target = groups[self.row_numbers]
        kept = target >= 0
        entries = np.unique(target[kept] * self.columns + self.column_numbers[kept])
        return Pattern(entries, count, self.columns, self.most)

    def _taken(self, read: Array) -> Pattern:
        """For each number in `read` that row; an empty one for -1 and numbers of no row."""
        starts = self.starts()
        inside = (read >= 0) & (read < self.rows)
        rows = np.where(inside, read, 0)
        starts = starts if self.rows else np.zeros(2, np.int64)
        counts = np.where(inside, (starts[1:] - starts[:-1])[rows], 0)
        if counts.sum() > self.most:
            raise TooDenseError
        first = np.repeat(starts[rows] - np.cumsum(counts) + counts, counts)
        columns = self.column_numbers[first + np.arange(int(counts.sum()))]
        row = np.repeat(np.arange(read.size), counts)
        return Pattern(row * self.columns + columns, read.size, self.columns, self.most)


Blocks = list[list[tuple[Array, Pattern]]]
"""For each output and each input the positions of its places in a pattern, and its own pattern."""
