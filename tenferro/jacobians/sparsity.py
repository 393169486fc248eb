"""Sparse Jacobians: the pattern of a linear part, and one unit vector for each colour of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.chainrules import Emitter, V
from tenferro.compiler import JACOBIAN
from tenferro.computegraph import GlobalValKey
from tenferro.derivatives import Basis, one_hot
from tenferro.jacobians.colours import Colouring, coloured, star_coloured
from tenferro.jacobians.pattern import Pattern
from tenferro.ops import (
    Constant,
)  # fmt: skip
from tenferro.shape import TensorMeta

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
