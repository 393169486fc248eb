"""Divided differences of scalar functions at all tuples of eigenvalues.

h[x] = h(x), h[x0..xr] = (h[x0..x(r-1)] − h[x1..xr]) / (x0 − xr), and h^(r)(x) / r! where all are
equal. First differences are closed forms. Higher ones divide by the widest gap of the tuple, and
where this is narrow they are a Taylor series at the mean, so no digits cancel.

Source: Higham, Functions of Matrices, appendix B.16 and chapter 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import reduce
from itertools import combinations
from math import factorial
from operator import add, and_

import numpy as np

from tenferro.ir import AnyTensor
from tenferro.linalg.matrix_op import places
from tenferro.ops.functions import analytic, apply, elementwise, indexing, manipulation
from tenferro.ops.functions.elementwise import maximum, minimum, where

# Divided differences of scalar functions at all tuples of eigenvalues.

TableFactors = tuple[AnyTensor | None, AnyTensor | None, AnyTensor | None]
"""Factors P[i, j], Q[j, k] and R[i, k] of a table of order 2; None is 1."""


def on_table_axis(w: AnyTensor, place: int, count: int) -> AnyTensor:
    """w, of shape [..., n], along one of `count` last axes; the others have size 1."""
    axes = tuple(at - count for at in range(count) if at != place)
    return widened(w, axes)


def widened(x: AnyTensor, axes: tuple[int, ...]) -> AnyTensor:
    """x with new axes of size 1."""
    return manipulation.expand_dims(x, axis=axes) if axes else x


def largest(x: AnyTensor) -> AnyTensor:
    """The largest modulus along the last axis, which stays with size 1."""
    return abs(x).max(axis=-1, keepdims=True)


def small_gap(w: AnyTensor) -> float:
    """The gap, relative to the largest value, below which two values count as equal."""
    return float(np.finfo(w.dtype).eps ** 0.75)


class ScalarFunction(ABC):
    """A real function of a real variable, with its divided differences."""

    @abstractmethod
    def value(self, w: AnyTensor) -> AnyTensor:
        """h(w)."""

    @abstractmethod
    def first(self, w: AnyTensor) -> AnyTensor:
        """h[a, b] for all pairs: [..., n, n]."""

    def table(self, w: AnyTensor, order: int) -> AnyTensor:
        """The divided differences of all tuples of order + 1 values: [..., n, n, ...]."""
        if order == 0:
            return self.value(w)
        return self.first(w) if order == 1 else self.higher(w, order)

    @abstractmethod
    def second(self, w: AnyTensor) -> list[TableFactors]:
        """The table of order 2 where w_i ≤ w_k, as a sum of terms P[i, j] Q[j, k] R[i, k].

        Sums over j are then products of matrices.
        """

    @abstractmethod
    def higher(self, w: AnyTensor, order: int) -> AnyTensor:
        """The table of order 2 or more."""

    def domain(self, w: AnyTensor) -> AnyTensor:
        """w with NaN where h is not defined."""
        return w

    def quotients(self, w: AnyTensor, order: int) -> tuple[list[AnyTensor], AnyTensor, AnyTensor]:
        """The points of tuples, their widest gaps, and the quotients by these."""
        points = [on_table_axis(w, place, order + 1) for place in range(order + 1)]
        lower = self.table(w, order - 1)
        without = [widened(lower, (place - order - 1,)) for place in range(order + 1)]
        gap, difference = points[0] - points[1], without[1] - without[0]
        for p, q in list(combinations(range(order + 1), 2))[1:]:
            other = points[p] - points[q]
            wider = abs(other) > abs(gap)
            gap = where(wider, other, gap)
            difference = where(wider, without[q] - without[p], difference)
        return points, abs(gap), difference / where(gap == 0, 1.0, gap)


class ByWidestGap(ScalarFunction):
    """A function whose differences are quotients by the widest gap, unless this is too small."""

    def second(self, w: AnyTensor) -> list[TableFactors]:
        """By the widest gap: of w_i and w_k where w_j is between them, else of w_j and the far end.

        Where this pair is near, all three are: there the terms of `series` hold.
        """
        x, y = pairs(w)
        near, first = self.near(w), self.first(w)
        inverse = where(near, 0.0, 1.0 / where(near, 1.0, x - y))
        rising, falling = (x <= y).astype(w.dtype), (x > y).astype(w.dtype)
        upper, lower = where(x <= y, first, 0.0), where(x > y, first, 0.0)
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
    def near(self, w: AnyTensor) -> AnyTensor:
        """Whether no quotient by the gap of a pair is taken: [..., n, n].

        If it holds for a and b, it holds for all values between them.
        """

    @abstractmethod
    def series(self, w: AnyTensor, near: AnyTensor) -> list[TableFactors]:
        """The terms of the table of order 2 where all pairs are near, and 0 elsewhere."""


class Smooth(ByWidestGap):
    """A function with a Taylor series, whose scale of variation is |w|."""

    @abstractmethod
    def coefficient(self, m: AnyTensor, k: int) -> AnyTensor | float:
        """The derivative of order k at m, divided by k!."""

    def scale(self, mean: AnyTensor) -> AnyTensor:
        """The distance over which the function varies."""
        return abs(mean)

    def higher(self, w: AnyTensor, order: int) -> AnyTensor:
        """By the widest gap; for tuples narrower than ε^(1/5) of the scale by the series."""
        points, widest, quotient = self.quotients(w, order)
        mean = reduce(add, points) * (1 / len(points))
        limit = float(np.finfo(w.dtype).eps ** 0.2)
        return where(widest <= limit * self.scale(mean), self._series(points, mean), quotient)

    def near(self, w: AnyTensor) -> AnyTensor:
        """Gaps of at most ε^(1/4) of the scale at both values."""
        x, y = pairs(w)
        limit = float(np.finfo(w.dtype).eps ** 0.25)
        return abs(x - y) <= minimum(self.scale(x), self.scale(y)) * limit

    def series(self, w: AnyTensor, near: AnyTensor) -> list[TableFactors]:
        """The Taylor series at w_j to the second order, Σ h^(2+p)(w_j)/(2+p)! H_p.

        H_p is the sum of (w_i − w_j)^a (w_k − w_j)^b with a + b = p.
        """
        x, y = pairs(w)
        mask, gap = near.astype(w.dtype), where(near, y - x, 0.0)
        second, third, fourth = (self._bounded(x, k) for k in (2, 3, 4))
        rest = where(near, third + gap * fourth, 0.0)
        return [
            (mask, where(near, second + gap * rest, 0.0), mask),
            (-gap, rest, mask),
            (gap * gap, where(near, fourth + gap * 0, 0.0), mask),
        ]

    def _bounded(self, m: AnyTensor, k: int) -> AnyTensor:
        """The coefficient; beyond the second 0 where the scale is, for there no gap is left."""
        result = m * 0 + self.coefficient(m, k)
        return result if k == 2 else where(self.scale(m) == 0, 0.0, result)

    def _series(self, points: list[AnyTensor], mean: AnyTensor) -> AnyTensor:
        """The Taylor series at the mean m, to the third order.

        h[x0..xr] = Σ_p h^(r+p)(m)/(r+p)! H_p, where H_p is the complete homogeneous polynomial of
        the distances d from m: H_1 = 0, H_2 = Σd²/2, H_3 = Σd³/3.
        """
        order = len(points) - 1
        away = [point - mean for point in points]
        second = reduce(add, [d * d for d in away]) * 0.5
        third = reduce(add, [d * d * d for d in away]) * (1 / 3)
        return (
            mean * 0
            + self.coefficient(mean, order)
            + _product(second, self.coefficient(mean, order + 2))
            + _product(third, self.coefficient(mean, order + 3))
        )

    def by_products(self, w: AnyTensor) -> list[TableFactors]:
        """The table of order 2 by matrices alone: a sum of five terms P[i, j] Q[j, k] R[i, k].

        Where w_i and w_k are apart, h[i, j, k] = (h[i, j] − h[j, k]) / (w_i − w_k). Else it is a
        Taylor series about w_i, Σ_p h[i, …, i, j] (w_k − w_i)^p with p + 2 times i.
        """
        x, y = pairs(w)
        gap = y - x
        near = abs(gap) <= float(np.finfo(w.dtype).eps ** 0.25) * self.scale(x)
        first, inverse = self.first(w), where(near, 0.0, 1.0 / where(near, 1.0, gap))
        terms: list[TableFactors] = [(first, None, -inverse), (None, first, inverse)]
        power = where(near, 1.0, gap * 0.0)
        table = first
        for order in range(1, 4):
            table = self._repeated(table, x, gap, near, order)
            terms.append((table, None, power))
            power = power * gap
        return terms

    def _repeated(
        self, lower: AnyTensor, x: AnyTensor, gap: AnyTensor, near: AnyTensor, order: int
    ) -> AnyTensor:
        """h[x, …, x, y] with order + 1 times x, from the table with one time less."""
        quotient = (lower - self.coefficient(x, order)) / where(near, 1.0, gap)
        series = gap * self.coefficient(x, order + 3) + self.coefficient(x, order + 2)
        series = gap * series + self.coefficient(x, order + 1)
        return where(near, series, quotient)


def _product(x: AnyTensor, factor: AnyTensor | float) -> AnyTensor | float:
    """x · factor, and 0 where x is 0."""
    if isinstance(factor, float):
        return x * factor if factor else 0.0
    return where(x == 0, 0.0, x * where(x == 0, 1.0, factor))


def pairs(w: AnyTensor) -> tuple[AnyTensor, AnyTensor]:
    """The values i and j of pairs: [..., n, 1] and [..., 1, n]."""
    return on_table_axis(w, 0, 2), on_table_axis(w, 1, 2)


class Exponential(Smooth):
    """e^w."""

    second = Smooth.by_products

    def value(self, w: AnyTensor) -> AnyTensor:
        return analytic.exp(w)

    def first(self, w: AnyTensor) -> AnyTensor:
        """e^b (1 − e^(a−b)) / (b − a) for a ≤ b."""
        a, b = pairs(w)
        gap = abs(a - b)
        safe = where(gap > 0, gap, 1.0)
        ratio = where(gap > 0, -analytic.expm1(-safe) / safe, 1.0)
        return self.value(maximum(a, b)) * ratio

    def coefficient(self, m: AnyTensor, k: int) -> AnyTensor:
        """e^m / k!."""
        return self.value(m) * (1 / factorial(k))

    def scale(self, mean: AnyTensor) -> AnyTensor:
        return mean * 0 + 1.0


class Logarithm(Smooth):
    """The natural logarithm; NaN for negative values."""

    second = Smooth.by_products

    def value(self, w: AnyTensor) -> AnyTensor:
        return analytic.log(w)

    def domain(self, w: AnyTensor) -> AnyTensor:
        return where(w < 0, float("nan"), w)

    def first(self, w: AnyTensor) -> AnyTensor:
        """log(1 + (b − a)/a) / (b − a) for a ≤ b."""
        a, b = pairs(w)
        low, gap = minimum(a, b), abs(a - b)
        safe = where(gap > 0, gap, 1.0)
        return where(gap > 0, analytic.log1p(safe / low) / safe, 1.0 / low)

    def coefficient(self, m: AnyTensor, k: int) -> AnyTensor:
        """(−1)^(k−1) / (k m^k); log m for k = 0."""
        return self.value(m) if k == 0 else (1.0 / m) ** k * ((-1.0) ** (k - 1) / k)


# Powers and their relatives, with divided differences.

_ROUNDING = 16.0
"""Values below this times ε of the largest one may be zeros with the error of `eigh`."""


def zeros_cleared(w: AnyTensor) -> AnyTensor:
    """w without the errors of zeros, and NaN for negative values."""
    size = largest(w)
    tiny = abs(w) <= size * (_ROUNDING * small_gap(w) ** (4 / 3))
    barely = (w < 0) & (w >= size * -small_gap(w))
    return where(tiny, w * 0, where(barely, w * 0, where(w < 0, float("nan"), w)))


class Power(Smooth):
    """w^p. For p that is not an integer, NaN for negative values."""

    def __init__(self, exponent: float) -> None:
        self.exponent = exponent
        self.whole = exponent == int(exponent)

    def domain(self, w: AnyTensor) -> AnyTensor:
        """NaN where w is negative, if p is not an integer."""
        if self.whole:
            return w
        return zeros_cleared(w) if self.exponent > 0 else where(w < 0, float("nan"), w)

    def value(self, w: AnyTensor) -> AnyTensor:
        return _raised(w, self.exponent)

    def first(self, w: AnyTensor) -> AnyTensor:
        """a^(p−1) ((1 + t)^p − 1) / t with t = (b − a)/a, for |a| ≤ |b| of one sign."""
        a, b = pairs(w)
        p = self.exponent
        low, high = minimum(abs(a), abs(b)), maximum(abs(a), abs(b))
        t = (high - low) / where(low > 0, low, 1.0)
        safe = where(t > 0, t, 1.0)
        growth = analytic.expm1(analytic.log1p(safe) * p) / safe
        narrow = _raised(where(low > 0, low, 1.0), p - 1) * where(t > 0, growth, p)
        if self.whole and int(p) % 2 == 0:
            narrow = narrow * elementwise.sign(a)
        gap = a - b
        h = self.value(w)
        wide = (on_table_axis(h, 0, 2) - on_table_axis(h, 1, 2)) / where(gap == 0, 1.0, gap)
        wide = where(gap == 0, gap * 0 + self.coefficient(a, 1), wide)
        same = ((a > 0) == (b > 0)) & ((low > 0) & (high <= low * 4))
        return where(same, narrow, wide)

    def scale(self, mean: AnyTensor) -> AnyTensor:
        """|w| / |p|, and at most |w|."""
        return abs(mean) * (1 / max(1.0, abs(self.exponent)))

    def coefficient(self, m: AnyTensor, k: int) -> AnyTensor | float:
        """p (p − 1) … (p − k + 1) / k! · m^(p−k)."""
        binomial = 1.0
        for i in range(k):
            binomial *= (self.exponent - i) / (i + 1)
        return _raised(m, self.exponent - k) * binomial if binomial else 0.0


class SquareRoot(Power):
    """√w. The derivative at 0 is infinite."""

    def __init__(self) -> None:
        super().__init__(0.5)

    def first(self, w: AnyTensor) -> AnyTensor:
        """1 / (√a + √b)."""
        a, b = pairs(self.value(w))
        return 1.0 / (a + b)

    def second(self, w: AnyTensor) -> list[TableFactors]:
        """−1 / ((√a + √b)(√b + √c)(√a + √c))."""
        first = self.first(w)
        return [(first, first, -first)]


class InverseSquareRoot(Power):
    """1/√w."""

    def __init__(self) -> None:
        super().__init__(-0.5)

    def first(self, w: AnyTensor) -> AnyTensor:
        """−1 / (√a √b (√a + √b))."""
        a, b = pairs(analytic.sqrt(w))
        return -1.0 / (a * b * (a + b))

    def second(self, w: AnyTensor) -> list[TableFactors]:
        """(√a + √b + √c) / (√a √b √c (√a + √b)(√b + √c)(√a + √c)).

        The numerator is half of (√a + √b) + (√b + √c) + (√a + √c), of which one cancels.
        """
        a, b = pairs(analytic.sqrt(w))
        m, ones = 1.0 / (a + b), (a + b) * 0 + 0.5
        left, right = 1.0 / (a * b), ones * 2 / b
        return [
            (left, m * right, m * ones),
            (m * left, right, m * ones),
            (m * left, m * right, ones),
        ]


class Reciprocal(Power):
    """1/w."""

    def __init__(self) -> None:
        super().__init__(-1.0)

    def second(self, w: AnyTensor) -> list[TableFactors]:
        """1 / (a b c)."""
        a, b = pairs(w)
        ones = (a + b) * 0 + 1.0
        return [(1.0 / (a * b), ones / b, ones)]

    def table(self, w: AnyTensor, order: int) -> AnyTensor:
        """(−1)^r / (x0 x1 … xr)."""
        result = 1.0 / on_table_axis(w, 0, order + 1)
        for place in range(1, order + 1):
            result = -result / on_table_axis(w, place, order + 1)
        return result


class XLogX(Smooth):
    """w log w, 0 at 0. The derivative at 0 is infinite."""

    def domain(self, w: AnyTensor) -> AnyTensor:
        return zeros_cleared(w)

    def value(self, w: AnyTensor) -> AnyTensor:
        return where(w == 0, 0.0, w * analytic.log(where(w == 0, 1.0, w)))

    def first(self, w: AnyTensor) -> AnyTensor:
        """b log[a, b] + log a for a ≤ b; the quotient where b > 2a."""
        a, b = pairs(w)
        low, high, gap = minimum(a, b), maximum(a, b), a - b
        h = self.value(w)
        wide = (on_table_axis(h, 0, 2) - on_table_axis(h, 1, 2)) / where(gap == 0, 1.0, gap)
        logs = analytic.log(low)
        narrow = where(gap == 0, 1.0, high * Logarithm().first(w)) + logs
        return where(high > low * 2, wide, narrow)

    def coefficient(self, m: AnyTensor, k: int) -> AnyTensor:
        """(−1)^k / (k (k − 1) m^(k−1)) for k ≥ 2."""
        assert k >= 2
        return (-1.0) ** k / (k * (k - 1)) / m ** (k - 1)


def _raised(x: AnyTensor, exponent: float) -> AnyTensor:
    """x to a power, by products if it is an integer."""
    whole = int(exponent) if exponent == int(exponent) else exponent
    return elementwise.pow(x, whole)


# Functions that are constant on both sides of a gap, and their products with w.


class Sided(ByWidestGap):
    """A function that is constant on either side of a gap."""

    def higher(self, w: AnyTensor, order: int) -> AnyTensor:
        """0 for values on one side, else by the widest gap, which crosses."""
        _, _, table = self.quotients(w, order)
        sides = [on_table_axis(self.value(w), place, order + 1) for place in range(order + 1)]
        alike = reduce(and_, [sides[0] == side for side in sides[1:]])
        return where(alike, table * 0, table)

    def first(self, w: AnyTensor) -> AnyTensor:
        """0 for two values on one side, else (h(a) − h(b)) / (a − b); NaN if these are equal."""
        a, b = pairs(w)
        of_a, of_b = pairs(self.value(w))
        gap = a - b
        alike = of_a == of_b
        table = where(alike, 0.0, (of_a - of_b) / where(alike, 1.0, gap))
        undefined = self.undefined(w, a, b, alike)
        return where(undefined, float("nan"), table)

    def near(self, w: AnyTensor) -> AnyTensor:
        """Values on one side."""
        x, y = pairs(self.value(w))
        return x == y

    def series(self, w: AnyTensor, near: AnyTensor) -> list[TableFactors]:
        return []

    @abstractmethod
    def undefined(self, w: AnyTensor, a: AnyTensor, b: AnyTensor, alike: AnyTensor) -> AnyTensor:
        """Where the derivative does not exist."""


class Signum(Sided):
    """The sign of w. No derivative where w = 0."""

    def value(self, w: AnyTensor) -> AnyTensor:
        return elementwise.sign(w)

    def undefined(self, w: AnyTensor, a: AnyTensor, b: AnyTensor, alike: AnyTensor) -> AnyTensor:
        """Where both values are zero."""
        limit = on_table_axis(largest(w), 0, 2) * small_gap(w)
        return (abs(a) <= limit) & (abs(b) <= limit)


class StepFunction(Sided):
    """1 for the k smallest values, or the |k| largest ones if k is negative, and 0 for others.

    No derivative where the k-th and the next value are equal.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def value(self, w: AnyTensor) -> AnyTensor:
        index = places(w, w.shape[-1], w.dtype)
        if self.count >= 0:
            inside = index < self.count
        else:
            size: AnyTensor = apply(indexing.size_value, w, axis=-1)
            inside = index >= size.astype(w.dtype) + self.count
        return inside.astype(w.dtype) + w * 0

    def undefined(self, w: AnyTensor, a: AnyTensor, b: AnyTensor, alike: AnyTensor) -> AnyTensor:
        """Where a value inside and one outside are equal."""
        limit = on_table_axis(largest(w), 0, 2) * small_gap(w)
        return ~alike & (abs(a - b) <= limit)


class Times(ScalarFunction):
    """w times another function, by Leibniz's rule."""

    def __init__(self, other: Sided) -> None:
        self.other = other

    def value(self, w: AnyTensor) -> AnyTensor:
        return w * self.other.value(w)

    def first(self, w: AnyTensor) -> AnyTensor:
        """a h[a, b] + h(b)."""
        return self.higher(w, 1)

    def second(self, w: AnyTensor) -> list[TableFactors]:
        """w_i h[i, j, k] + h[j, k]."""
        x, _ = pairs(w)
        terms = self.other.second(w)
        return [
            *[(p, q, x if r is None else x * r) for p, q, r in terms],
            (None, self.other.first(w), None),
        ]

    def higher(self, w: AnyTensor, order: int) -> AnyTensor:
        """x0 h[x0..xr] + h[x1..xr]."""
        less = self.other.table(w, order - 1)
        table = on_table_axis(w, 0, order + 1) * self.other.table(w, order)
        return table + widened(less, (-order - 1,))
