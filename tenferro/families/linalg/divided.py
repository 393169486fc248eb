"""Divided differences of scalar functions at all tuples of eigenvalues.

h[x] = h(x), h[x0..xr] = (h[x0..x(r-1)] − h[x1..xr]) / (x0 − xr), and h^(r)(x) / r! where all are
equal. First differences are closed forms. Higher ones divide by the widest gap of the tuple, and
where this is narrow they are a Taylor series at the mean, so no digits cancel.

Source: Higham, Functions of Matrices, appendix B.16 and chapter 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import combinations
from math import factorial

import numpy as np

from tenferro.arrays import Expression, analytic, apply, elementwise, rearrange
from tenferro.families.linalg.clusters import absolute, chosen

Term = tuple[Expression | None, Expression | None, Expression | None]
"""Factors P[i, j], Q[j, k] and R[i, k] of a table of order 2; None is 1."""


def spread(w: Expression, place: int, count: int) -> Expression:
    """w, of shape [..., n], along one of `count` last axes; the others have size 1."""
    axes = tuple(at - count for at in range(count) if at != place)
    return widened(w, axes)


def widened(x: Expression, axes: tuple[int, ...]) -> Expression:
    """x with new axes of size 1."""
    result: Expression = apply(rearrange.expand_dims, x, axis=axes) if axes else x
    return result


def largest(x: Expression) -> Expression:
    """The largest modulus along the last axis, which is kept."""
    return absolute(x).max(axis=-1, keepdims=True)


def small_gap(w: Expression) -> float:
    """The gap, relative to the largest value, below which two values count as equal."""
    return float(np.finfo(w.dtype).eps ** 0.75)


class ScalarFunction(ABC):
    """A real function of a real variable, with its divided differences."""

    @abstractmethod
    def value(self, w: Expression) -> Expression:
        """h(w)."""

    @abstractmethod
    def first(self, w: Expression) -> Expression:
        """h[a, b] for all pairs: [..., n, n]."""

    def table(self, w: Expression, order: int) -> Expression:
        """The divided differences of all tuples of order + 1 values: [..., n, n, ...]."""
        if order == 0:
            return self.value(w)
        return self.first(w) if order == 1 else self.higher(w, order)

    @abstractmethod
    def second(self, w: Expression) -> list[Term]:
        """The table of order 2 where w_i ≤ w_k, as a sum of terms P[i, j] Q[j, k] R[i, k].

        Sums over j are then products of matrices.
        """

    @abstractmethod
    def higher(self, w: Expression, order: int) -> Expression:
        """The table of order 2 or more."""

    def domain(self, w: Expression) -> Expression:
        """w with NaN where h is not defined."""
        return w

    def quotients(
        self, w: Expression, order: int
    ) -> tuple[list[Expression], Expression, Expression]:
        """The points of tuples, their widest gaps, and the quotients by these."""
        points = [spread(w, place, order + 1) for place in range(order + 1)]
        lower = self.table(w, order - 1)
        without = [widened(lower, (place - order - 1,)) for place in range(order + 1)]
        gap, difference = points[0] - points[1], without[1] - without[0]
        for p, q in list(combinations(range(order + 1), 2))[1:]:
            other = points[p] - points[q]
            wider = absolute(other) > absolute(gap)
            gap = chosen(wider, other, gap)
            difference = chosen(wider, without[q] - without[p], difference)
        return points, absolute(gap), difference / chosen(gap == 0, 1.0, gap)


class ByWidestGap(ScalarFunction):
    """A function whose differences are quotients by the widest gap, unless this is too small."""

    def second(self, w: Expression) -> list[Term]:
        """By the widest gap: of w_i and w_k where w_j is between them, else of w_j and the far end.

        Where this pair is near, all three are: there the terms of `series` hold.
        """
        x, y = pairs(w)
        near, first = self.near(w), self.first(w)
        inverse = chosen(near, 0.0, 1.0 / chosen(near, 1.0, x - y))
        rising, falling = (x <= y).astype(w.dtype), (x > y).astype(w.dtype)
        upper, lower = chosen(x <= y, first, 0.0), chosen(x > y, first, 0.0)
        return [
            (upper, rising, inverse),
            (rising, upper, -inverse),
            (lower, inverse, None),
            (falling, inverse, -first),
            (inverse, falling, first),
            (inverse, -lower, None),
            *self.series(w, near),
        ]

    @abstractmethod
    def near(self, w: Expression) -> Expression:
        """Whether no quotient by the gap of a pair is taken: [..., n, n].

        If it holds for a and b, it holds for all values between them.
        """

    @abstractmethod
    def series(self, w: Expression, near: Expression) -> list[Term]:
        """The terms of the table of order 2 where all pairs are near, and 0 elsewhere."""


class Smooth(ByWidestGap):
    """A function with a Taylor series, whose scale of variation is |w|."""

    @abstractmethod
    def coefficient(self, m: Expression, k: int) -> Expression | float:
        """The derivative of order k at m, divided by k!."""

    def scale(self, mean: Expression) -> Expression:
        """The distance over which the function varies."""
        return absolute(mean)

    def higher(self, w: Expression, order: int) -> Expression:
        """By the widest gap; for tuples narrower than ε^(1/5) of the scale by the series."""
        points, widest, quotient = self.quotients(w, order)
        mean = _total(points) * (1 / len(points))
        limit = float(np.finfo(w.dtype).eps ** 0.2)
        return chosen(widest <= limit * self.scale(mean), self._series(points, mean), quotient)

    def near(self, w: Expression) -> Expression:
        """Gaps of at most ε^(1/4) of the scale at both values."""
        x, y = pairs(w)
        limit = float(np.finfo(w.dtype).eps ** 0.25)
        return absolute(x - y) <= smaller(self.scale(x), self.scale(y)) * limit

    def series(self, w: Expression, near: Expression) -> list[Term]:
        """The Taylor series at w_j to the second order, Σ h^(2+p)(w_j)/(2+p)! H_p.

        H_p is the sum of (w_i − w_j)^a (w_k − w_j)^b with a + b = p.
        """
        x, y = pairs(w)
        mask, gap = near.astype(w.dtype), chosen(near, y - x, 0.0)
        second, third, fourth = (self._bounded(x, k) for k in (2, 3, 4))
        rest = chosen(near, third + gap * fourth, 0.0)
        return [
            (mask, chosen(near, second + gap * rest, 0.0), mask),
            (-gap, rest, mask),
            (gap * gap, chosen(near, fourth + gap * 0, 0.0), mask),
        ]

    def _bounded(self, m: Expression, k: int) -> Expression:
        """The coefficient; beyond the second 0 where the scale is, for there no gap is left."""
        result = m * 0 + self.coefficient(m, k)
        return result if k == 2 else chosen(self.scale(m) == 0, 0.0, result)

    def _series(self, points: list[Expression], mean: Expression) -> Expression:
        """The Taylor series at the mean m, to the third order.

        h[x0..xr] = Σ_p h^(r+p)(m)/(r+p)! H_p, where H_p is the complete homogeneous polynomial of
        the distances d from m: H_1 = 0, H_2 = Σd²/2, H_3 = Σd³/3.
        """
        order = len(points) - 1
        away = [point - mean for point in points]
        second = _total([d * d for d in away]) * 0.5
        third = _total([d * d * d for d in away]) * (1 / 3)
        return (
            mean * 0
            + self.coefficient(mean, order)
            + _product(second, self.coefficient(mean, order + 2))
            + _product(third, self.coefficient(mean, order + 3))
        )

    def by_products(self, w: Expression) -> list[Term]:
        """The table of order 2 by matrices alone: a sum of five terms P[i, j] Q[j, k] R[i, k].

        Where w_i and w_k are apart, h[i, j, k] = (h[i, j] − h[j, k]) / (w_i − w_k). Else it is a
        Taylor series about w_i, Σ_p h[i, …, i, j] (w_k − w_i)^p with p + 2 times i.
        """
        x, y = pairs(w)
        gap = y - x
        near = absolute(gap) <= float(np.finfo(w.dtype).eps ** 0.25) * self.scale(x)
        first, inverse = self.first(w), chosen(near, 0.0, 1.0 / chosen(near, 1.0, gap))
        terms: list[Term] = [(first, None, -inverse), (None, first, inverse)]
        power = chosen(near, 1.0, gap * 0.0)
        table = first
        for order in range(1, 4):
            table = self._repeated(table, x, gap, near, order)
            terms.append((table, None, power))
            power = power * gap
        return terms

    def _repeated(
        self, lower: Expression, x: Expression, gap: Expression, near: Expression, order: int
    ) -> Expression:
        """h[x, …, x, y] with order + 1 times x, from the table with one time less."""
        quotient = (lower - self.coefficient(x, order)) / chosen(near, 1.0, gap)
        series = gap * self.coefficient(x, order + 3) + self.coefficient(x, order + 2)
        series = gap * series + self.coefficient(x, order + 1)
        return chosen(near, series, quotient)


def _product(x: Expression, factor: Expression | float) -> Expression | float:
    """x · factor, and 0 where x is 0."""
    if isinstance(factor, float):
        return x * factor if factor else 0.0
    return chosen(x == 0, 0.0, x * chosen(x == 0, 1.0, factor))


def _total(terms: list[Expression]) -> Expression:
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def pairs(w: Expression) -> tuple[Expression, Expression]:
    """The values i and j of pairs: [..., n, 1] and [..., 1, n]."""
    return spread(w, 0, 2), spread(w, 1, 2)


def larger(a: Expression, b: Expression) -> Expression:
    """The larger of two values; NaN if one is."""
    result: Expression = apply(elementwise.maximum, a, b)
    return result


def smaller(a: Expression, b: Expression) -> Expression:
    """The smaller of two values; NaN if one is."""
    result: Expression = apply(elementwise.minimum, a, b)
    return result


class Exponential(Smooth):
    """e^w."""

    def value(self, w: Expression) -> Expression:
        """e^w."""
        result: Expression = apply(analytic.exp, w)
        return result

    def first(self, w: Expression) -> Expression:
        """e^b (1 − e^(a−b)) / (b − a) for a ≤ b."""
        a, b = pairs(w)
        gap = absolute(a - b)
        safe = chosen(gap > 0, gap, 1.0)
        ratio = chosen(gap > 0, -apply(analytic.expm1, -safe) / safe, 1.0)
        return self.value(larger(a, b)) * ratio

    def second(self, w: Expression) -> list[Term]:
        """By products."""
        return self.by_products(w)

    def coefficient(self, m: Expression, k: int) -> Expression:
        """e^m / k!."""
        return self.value(m) * (1 / factorial(k))

    def scale(self, mean: Expression) -> Expression:
        """1."""
        return mean * 0 + 1.0


class Logarithm(Smooth):
    """The natural logarithm; NaN for negative values."""

    def value(self, w: Expression) -> Expression:
        """log w."""
        result: Expression = apply(analytic.log, w)
        return result

    def domain(self, w: Expression) -> Expression:
        """NaN where w is negative."""
        return chosen(w < 0, float("nan"), w)

    def first(self, w: Expression) -> Expression:
        """log(1 + (b − a)/a) / (b − a) for a ≤ b."""
        a, b = pairs(w)
        low, gap = smaller(a, b), absolute(a - b)
        safe = chosen(gap > 0, gap, 1.0)
        return chosen(gap > 0, apply(analytic.log1p, safe / low) / safe, 1.0 / low)

    def second(self, w: Expression) -> list[Term]:
        """By products."""
        return self.by_products(w)

    def coefficient(self, m: Expression, k: int) -> Expression:
        """(−1)^(k−1) / (k m^k); log m for k = 0."""
        return self.value(m) if k == 0 else (1.0 / m) ** k * ((-1.0) ** (k - 1) / k)
