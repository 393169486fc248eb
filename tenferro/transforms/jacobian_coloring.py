"""Color columns so that one unit vector computes several.

Columns without a place have colour -1. Sets of colours are the bits of integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.compiler import JACOBIAN
from tenferro.core import Emitter, GlobalValKey, V
from tenferro.ir import NumpyArray, TensorMeta
from tenferro.ops import Constant
from tenferro.transforms.jacobian_sparsity import Pattern
from tenferro.transforms.linear_part import Basis, one_hot

# Colours of columns, such that columns of one colour can share a unit vector.


@dataclass(frozen=True, slots=True)
class Colouring:
    """Colours of the columns of a matrix, and where its entries are in the compressed matrix.

    The compressed matrix has for each colour the sum of the columns of that colour.

    Attributes:
        colours: for each column its colour.
        count: the number of colours.
        rows: for each place of the pattern its row in the compressed matrix.
        columns: for each place its column there, a colour.
    """

    colours: NumpyArray
    count: int
    rows: NumpyArray
    columns: NumpyArray


def coloured(pattern: Pattern) -> Colouring:
    """Columns that have a place in a common row get different colours.

    They are coloured in the order of their numbers, each with the first colour that is free.

    Source: Gebremedhin, Manne, Pothen, "What color is your Jacobian?", SIAM Review 47 (2005).
    """
    used = [0] * pattern.rows
    colours = np.full(pattern.columns, -1)
    for column, rows in _members(pattern.transposed):
        colours_used = 0
        for row in rows:
            colours_used |= used[row]
        colour = _first_free(colours_used)
        colours[column] = colour
        for row in rows:
            used[row] |= 1 << colour
    count = int(colours.max(initial=-1)) + 1
    return Colouring(colours, count, pattern.row_numbers, colours[pattern.column_numbers])


def star_coloured(pattern: Pattern) -> Colouring:
    """The same for a symmetric matrix, of which one of two equal entries is enough.

    Neighbours get different colours, and a path of four columns has at least three. Then each
    entry, or the one that is equal to it, is alone in its place of the compressed matrix.

    Source: Coleman and Moré, "Estimation of sparse Hessian matrices and graph coloring problems",
    Mathematical Programming 28 (1984).
    """
    star = _Star(pattern)
    for column in star.order():
        star.colour(column)
    rows, columns = pattern.row_numbers, pattern.column_numbers
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    turned = np.fromiter((star.is_shared(*pair) for pair in pairs), bool, rows.size)
    rows, columns = np.where(turned, columns, rows), np.where(turned, rows, columns)
    colours = np.array(star.colours, np.int64)
    return Colouring(colours, int(colours.max(initial=-1)) + 1, rows, colours[columns])


class _Star:
    def __init__(self, pattern: Pattern) -> None:
        size = pattern.columns
        self.colours = [-1] * size
        self._neighbours: list[list[int]] = [[] for _ in range(size)]
        self._has_places = [False] * size
        for column, rows in _members(pattern):
            self._neighbours[column] = [row for row in rows if row != column]
            self._has_places[column] = True
        self._counts: list[Counter[int]] = [Counter() for _ in range(size)]
        self._around = [0] * size
        self._ends = [0] * size

    def order(self) -> list[int]:
        """The columns that have places; those with most neighbours first."""
        columns = [column for column, has in enumerate(self._has_places) if has]
        return sorted(columns, key=lambda column: -len(self._neighbours[column]))

    def is_shared(self, row: int, column: int) -> bool:
        """Whether other entries of the row are added to this one in the compressed matrix."""
        return row != column and self._counts[row][self.colours[column]] > 1

    def colour(self, column: int) -> None:
        """Give a column the first colour that is allowed."""
        neighbours, counts = self._neighbours[column], self._counts[column]
        used = self._around[column]
        for other in neighbours:
            if self.colours[other] >= 0:
                used |= self._ends[other]  # column - other - x - y, y coloured as other
                if counts[self.colours[other]] > 1:
                    used |= self._around[other]  # x - column - other - y, x coloured as other
        colour = self.colours[column] = _first_free(used)
        for other in neighbours:
            self._met(other, column, colour)
        for shared in [each for each, count in counts.items() if count > 1]:
            for other in neighbours:
                if self.colours[other] == shared:
                    self._ends[other] |= 1 << colour

    def _met(self, other: int, column: int, colour: int) -> None:
        self._around[other] |= 1 << colour
        counts = self._counts[other]
        counts[colour] += 1
        own = self.colours[other]
        if own < 0 or counts[colour] < 2:
            return
        ends = [column]
        if counts[colour] == 2:
            ends = [each for each in self._neighbours[other] if self.colours[each] == colour]
        for each in ends:
            self._ends[each] |= 1 << own


def _members(pattern: Pattern) -> Iterator[tuple[int, list[int]]]:
    starts, columns = pattern.starts().tolist(), pattern.column_numbers.tolist()
    for row in range(pattern.rows):
        if starts[row] < starts[row + 1]:
            yield row, columns[starts[row] : starts[row + 1]]


def _first_free(used: int) -> int:
    """The smallest number that is not in a set."""
    return (~used & (used + 1)).bit_length() - 1


# Sparse Jacobians: the pattern of a linear part, and one unit vector for each colour of it.

Key = GlobalValKey
Metas = Sequence[TensorMeta]


@dataclass(frozen=True, slots=True)
class SparsePlan:
    """How a sparse Jacobian is computed.

    Attributes:
        forward: whether unit vectors are those of the arguments.
        pattern: its pattern.
        colouring: the colours of its columns; if not `forward`, of its rows.
    """

    forward: bool
    pattern: Pattern
    colouring: Colouring

    def __str__(self) -> str:
        mode = "forward" if self.forward else "reverse"
        return f"{mode} {self.colouring.count}"

    def in_words(self) -> str:
        """What a report says of it."""
        total = self.pattern.rows * self.pattern.columns
        return f"{JACOBIAN}{self} by colours ({self.pattern.entries.size} of {total} entries)"


def sparse_plans(
    pattern: Pattern, forward: bool, reverse: bool, symmetric: bool
) -> list[SparsePlan]:
    """Plans of the directions that are possible, those of few colours first."""
    plans: list[SparsePlan] = []
    if forward:
        plans.append(SparsePlan(True, pattern, coloured(pattern)))
    if reverse:
        by_row = coloured(pattern.transposed)
        rows, columns = pattern.row_numbers, pattern.column_numbers
        compressed = Colouring(by_row.colours, by_row.count, columns, by_row.colours[rows])
        plans.append(SparsePlan(False, pattern, compressed))
    if symmetric:
        both = Pattern.union([pattern, pattern.transposed], pattern.rows, pattern.columns)
        plans.append(SparsePlan(True, both, star_coloured(both)))
    return sorted(plans, key=lambda plan: plan.colouring.count)


class ColourBasis(Basis):
    """For each colour the sum of the unit vectors of that colour."""

    def __init__(self, metas: Metas, read: Sequence[bool], colouring: Colouring) -> None:
        super().__init__(metas, read)
        self.size = colouring.count
        ends = np.cumsum([meta.known_size for meta in metas])
        self._colours = np.split(colouring.colours, ends[:-1])

    def rows(self, at: Emitter[V], first: V | int, count: int) -> list[V | None]:
        """For each leaf the sums of `count` colours from number `first` on, `[count, *shape]`."""
        number = self.numbers(at, first, count)
        return [
            one_hot(at, number, at.emit(Constant(colours)), meta) if on else None
            for colours, meta, on in zip(self._colours, self._metas, self._read, strict=True)
        ]

    def identity(self, rows: Sequence[V | None]) -> V | None:
        """None: a colour may have several elements."""
        return None
