"""Functions that are constant on both sides of a gap, and their products with w."""

from __future__ import annotations

from abc import abstractmethod

from tenferro.arrays import Expression, apply, elementwise, indexing
from tenferro.families.linalg.clusters import absolute, both, chosen
from tenferro.families.linalg.divided import (
    ByWidestGap,
    ScalarFunction,
    Term,
    largest,
    pairs,
    small_gap,
    spread,
    widened,
)
from tenferro.ops import Iota


class Sided(ByWidestGap):
    """A function that is constant on either side of a gap."""

    def higher(self, w: Expression, order: int) -> Expression:
        """0 for values on one side, else by the widest gap, which crosses."""
        _, _, table = self.quotients(w, order)
        sides = [spread(self.value(w), place, order + 1) for place in range(order + 1)]
        alike = sides[0] == sides[1]
        for side in sides[2:]:
            alike = both(alike, sides[0] == side)
        return chosen(alike, table * 0, table)

    def first(self, w: Expression) -> Expression:
        """0 for two values on one side, else (h(a) − h(b)) / (a − b); NaN if these are equal."""
        a, b = pairs(w)
        of_a, of_b = pairs(self.value(w))
        gap = a - b
        alike = of_a == of_b
        table = chosen(alike, 0.0, (of_a - of_b) / chosen(alike, 1.0, gap))
        undefined = self.undefined(w, a, b, alike)
        return chosen(undefined, float("nan"), table)

    def near(self, w: Expression) -> Expression:
        """Values on one side."""
        x, y = pairs(self.value(w))
        return x == y

    def series(self, w: Expression, near: Expression) -> list[Term]:
        """None: the differences are 0."""
        return []

    @abstractmethod
    def undefined(
        self, w: Expression, a: Expression, b: Expression, alike: Expression
    ) -> Expression:
        """Where the derivative does not exist."""


class Signum(Sided):
    """The sign of w. No derivative where w = 0."""

    def value(self, w: Expression) -> Expression:
        """−1, 0 or 1."""
        result: Expression = apply(elementwise.sign, w)
        return result

    def undefined(
        self, w: Expression, a: Expression, b: Expression, alike: Expression
    ) -> Expression:
        """Where both values are zero."""
        limit = spread(largest(w), 0, 2) * small_gap(w)
        return both(absolute(a) <= limit, absolute(b) <= limit)


class Step(Sided):
    """1 for the k smallest values, or the |k| largest ones if k is negative, and 0 for others.

    No derivative where the k-th and the next value are equal.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def value(self, w: Expression) -> Expression:
        """0 or 1."""
        at = w.emitter
        index = Expression(at, at.emit(Iota(w.dtype, w.shape[-1])))
        if self.count >= 0:
            kept = index < self.count
        else:
            size = apply(indexing.size_value, w, axis=-1)
            kept = index >= size.astype(w.dtype) + self.count
        return kept.astype(w.dtype) + w * 0

    def undefined(
        self, w: Expression, a: Expression, b: Expression, alike: Expression
    ) -> Expression:
        """Where a kept and a discarded value are equal."""
        limit = spread(largest(w), 0, 2) * small_gap(w)
        return both(alike == False, absolute(a - b) <= limit)  # noqa: E712  # an array


class Times(ScalarFunction):
    """w times another function, by Leibniz's rule."""

    def __init__(self, other: Sided) -> None:
        self.other = other

    def value(self, w: Expression) -> Expression:
        """w h(w)."""
        return w * self.other.value(w)

    def first(self, w: Expression) -> Expression:
        """a h[a, b] + h(b)."""
        return self.higher(w, 1)

    def second(self, w: Expression) -> list[Term]:
        """w_i h[i, j, k] + h[j, k]."""
        x, _ = pairs(w)
        terms = self.other.second(w)
        return [
            *[(p, q, x if r is None else x * r) for p, q, r in terms],
            (None, self.other.first(w), None),
        ]

    def higher(self, w: Expression, order: int) -> Expression:
        """x0 h[x0..xr] + h[x1..xr]."""
        less = self.other.table(w, order - 1)
        table = spread(w, 0, order + 1) * self.other.table(w, order)
        return table + widened(less, (-order - 1,))
