"""Powers and their relatives, with divided differences."""

from __future__ import annotations

from tenferro.arrays import Expression, analytic, apply, elementwise
from tenferro.families.linalg.clusters import absolute, both, chosen
from tenferro.families.linalg.divided import (
    Logarithm,
    Smooth,
    Term,
    larger,
    largest,
    pairs,
    small_gap,
    smaller,
    spread,
)

_ROUNDING = 16.0
"""Values below this times ε of the largest one may be zeros with the error of `eigh`."""


def zeros_cleared(w: Expression) -> Expression:
    """w without the errors of zeros, and NaN for negative values."""
    size = largest(w)
    tiny = absolute(w) <= size * (_ROUNDING * small_gap(w) ** (4 / 3))
    barely = both(w < 0, w >= size * -small_gap(w))
    return chosen(tiny, w * 0, chosen(barely, w * 0, chosen(w < 0, float("nan"), w)))


class Power(Smooth):
    """w^p. For p that is not an integer, NaN for negative values."""

    def __init__(self, exponent: float) -> None:
        self.exponent = exponent
        self.whole = exponent == int(exponent)

    def domain(self, w: Expression) -> Expression:
        """NaN where w is negative, if p is not an integer."""
        if self.whole:
            return w
        return zeros_cleared(w) if self.exponent > 0 else chosen(w < 0, float("nan"), w)

    def value(self, w: Expression) -> Expression:
        """w^p."""
        return _raised(w, self.exponent)

    def first(self, w: Expression) -> Expression:
        """a^(p−1) ((1 + t)^p − 1) / t with t = (b − a)/a, for |a| ≤ |b| of one sign."""
        a, b = pairs(w)
        p = self.exponent
        low, high = smaller(absolute(a), absolute(b)), larger(absolute(a), absolute(b))
        t = (high - low) / chosen(low > 0, low, 1.0)
        safe = chosen(t > 0, t, 1.0)
        growth = apply(analytic.expm1, apply(analytic.log1p, safe) * p) / safe
        narrow = _raised(chosen(low > 0, low, 1.0), p - 1) * chosen(t > 0, growth, p)
        if self.whole and int(p) % 2 == 0:
            narrow = narrow * apply(elementwise.sign, a)
        gap = a - b
        h = self.value(w)
        wide = (spread(h, 0, 2) - spread(h, 1, 2)) / chosen(gap == 0, 1.0, gap)
        wide = chosen(gap == 0, gap * 0 + self.coefficient(a, 1), wide)
        same = both((a > 0) == (b > 0), both(low > 0, high <= low * 4))
        return chosen(same, narrow, wide)

    def scale(self, mean: Expression) -> Expression:
        """|w| / |p|, and at most |w|."""
        return absolute(mean) * (1 / max(1.0, abs(self.exponent)))

    def coefficient(self, m: Expression, k: int) -> Expression | float:
        """p (p − 1) … (p − k + 1) / k! · m^(p−k)."""
        binomial = 1.0
        for i in range(k):
            binomial *= (self.exponent - i) / (i + 1)
        return _raised(m, self.exponent - k) * binomial if binomial else 0.0


class SquareRoot(Power):
    """√w. The derivative at 0 is infinite."""

    def __init__(self) -> None:
        super().__init__(0.5)

    def first(self, w: Expression) -> Expression:
        """1 / (√a + √b)."""
        a, b = pairs(self.value(w))
        return 1.0 / (a + b)

    def second(self, w: Expression) -> list[Term]:
        """−1 / ((√a + √b)(√b + √c)(√a + √c))."""
        first = self.first(w)
        return [(first, first, -first)]


class InverseSquareRoot(Power):
    """1/√w."""

    def __init__(self) -> None:
        super().__init__(-0.5)

    def first(self, w: Expression) -> Expression:
        """−1 / (√a √b (√a + √b))."""
        a, b = pairs(apply(analytic.sqrt, w))
        return -1.0 / (a * b * (a + b))

    def second(self, w: Expression) -> list[Term]:
        """(√a + √b + √c) / (√a √b √c (√a + √b)(√b + √c)(√a + √c)).

        The numerator is half of (√a + √b) + (√b + √c) + (√a + √c), of which one cancels.
        """
        a, b = pairs(apply(analytic.sqrt, w))
        m, ones = 1.0 / (a + b), (a + b) * 0 + 0.5
        left, right = 1.0 / (a * b), ones * 2 / b
        return [
            (left, m * right, m * ones),
            (m * left, right, m * ones),
            (m * left, m * right, ones),
        ]


class Inverse(Power):
    """1/w."""

    def __init__(self) -> None:
        super().__init__(-1.0)

    def second(self, w: Expression) -> list[Term]:
        """1 / (a b c)."""
        a, b = pairs(w)
        ones = (a + b) * 0 + 1.0
        return [(1.0 / (a * b), ones / b, ones)]

    def table(self, w: Expression, order: int) -> Expression:
        """(−1)^r / (x0 x1 … xr)."""
        result = 1.0 / spread(w, 0, order + 1)
        for place in range(1, order + 1):
            result = -result / spread(w, place, order + 1)
        return result


class XLogX(Smooth):
    """w log w, 0 at 0. The derivative at 0 is infinite."""

    def domain(self, w: Expression) -> Expression:
        """NaN where w is negative."""
        return zeros_cleared(w)

    def value(self, w: Expression) -> Expression:
        """w log w."""
        return chosen(w == 0, 0.0, w * apply(analytic.log, chosen(w == 0, 1.0, w)))

    def first(self, w: Expression) -> Expression:
        """b log[a, b] + log a for a ≤ b; the quotient where b > 2a."""
        a, b = pairs(w)
        low, high, gap = smaller(a, b), larger(a, b), a - b
        h = self.value(w)
        wide = (spread(h, 0, 2) - spread(h, 1, 2)) / chosen(gap == 0, 1.0, gap)
        logs = apply(analytic.log, low)
        narrow = chosen(gap == 0, 1.0, high * Logarithm().first(w)) + logs
        return chosen(high > low * 2, wide, narrow)

    def coefficient(self, m: Expression, k: int) -> Expression:
        """(−1)^k / (k (k − 1) m^(k−1)) for k ≥ 2."""
        assert k >= 2
        return (-1.0) ** k / (k * (k - 1)) / m ** (k - 1)


def _raised(x: Expression, exponent: float) -> Expression:
    """x to a power, by products if it is an integer."""
    whole = int(exponent) if exponent == int(exponent) else exponent
    result: Expression = apply(elementwise.pow, x, whole)
    return result
