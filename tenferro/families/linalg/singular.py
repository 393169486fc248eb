"""Clusters of equal singular values, and the cluster of those that are zero.

The singular vectors of zero are a basis of the complement of all others: left ones can be turned
without the right ones. The cluster of zero therefore stands apart from clusters of equal values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, sin

from tenferro.arrays import Expression, analytic, apply, elementwise, rearrange
from tenferro.families.linalg.clusters import (
    Degeneracy,
    both,
    chosen,
    negated,
    reflections,
    single,
)
from tenferro.families.linalg.pieces import columns, rows
from tenferro.ops import Iota
from tenferro.shape import FLOAT64, Dim, is_complex, maximum


@dataclass(frozen=True)
class SingularClusters:
    """Which of the singular values s, in descending order, are equal or zero.

    Attributes:
        degeneracy: what derivatives do there.
        same: whether values i and j are in one cluster, of shape [..., k, k].
        zero: whether a value is in the cluster of zero, of shape [..., k].
    """

    degeneracy: Degeneracy
    same: Expression
    zero: Expression

    @classmethod
    def of(cls, degeneracy: Degeneracy, s: Expression) -> SingularClusters:
        """The clusters of singular values of shape [..., k]; k is not 0."""
        same = degeneracy.same(with_zero(s))
        return cls(degeneracy, same[..., :-1, :-1], same[..., -1, :-1])

    @property
    def zeros(self) -> Expression:
        """Whether values i and j are both zero."""
        return both(rows(self.zero), columns(self.zero))

    @property
    def equal(self) -> Expression:
        """Whether values i and j are in one cluster that is not that of zero."""
        return both(self.same, negated(self.zeros))

    def inverse_gaps(self, s: Expression) -> Expression:
        """1/(s_j − s_i); 0 within clusters."""
        return self.degeneracy.inverse_gaps(s, self.same)

    def inverse_sums(self, s: Expression) -> Expression:
        """1/(s_j + s_i); 0 where both are zero."""
        return self.degeneracy.inverse(columns(s) + rows(s), self.zeros, s)

    def inverse(self, s: Expression) -> Expression:
        """1/s_j, as [..., 1, k]: it scales columns; 0 for zeros."""
        return self.degeneracy.inverse(columns(s), columns(self.zero), s)


@dataclass(frozen=True)
class SimpleValues:
    """The clusters of singular values that all differ and are not zero; see `SingularClusters`."""

    degeneracy: Degeneracy

    def inverse_gaps(self, s: Expression) -> Expression:
        """1/(s_j − s_i); 0 on the diagonal."""
        return self.degeneracy.inverse_gaps(s, single(s))

    def inverse_sums(self, s: Expression) -> Expression:
        """1/(s_j + s_i)."""
        return self.degeneracy.inverse(columns(s) + rows(s), None, s)

    def inverse(self, s: Expression) -> Expression:
        """1/s_j, as [..., 1, k]: it scales columns."""
        return self.degeneracy.inverse(columns(s), None, s)


def with_zero(s: Expression) -> Expression:
    """s, and a zero after it along the last axis."""
    result: Expression = apply(rearrange.pad, s, pad_width=[*[(0, 0)] * (s.ndim - 1), (0, 1)])
    return result


def ties(degeneracy: Degeneracy, s: Expression) -> Expression:
    """Whether singular value i is in one cluster with i + 1, the last one with zero: [..., k]."""
    return degeneracy.tied(with_zero(s))


def order_of(m: Dim, n: Dim) -> int | None:
    """1 if m > n, 0 if they are equal, −1 if m < n; None if it is not known."""
    gap = m - n
    if isinstance(gap, int):
        return (gap > 0) - (gap < 0)
    larger = maximum(m, n)
    if larger == n:
        return -1
    return 1 if larger == m else None


def generic_bases(
    degeneracy: Degeneracy, s: Expression, u: Expression, v: Expression
) -> tuple[Expression, Expression]:
    """U and V with generic bases of their clusters, for a loss that must not depend on the basis.

    Those of equal values are turned together by `reflections`. Those of zero are reflected within
    the whole complement of the other vectors, U and V each by its own reflection: a loss that sees
    a derivative of the value at zero then has a cotangent of that value.
    """
    k = s.shape[-1]
    clusters = SingularClusters.of(degeneracy, s)
    turn = reflections(clusters.same, u.dtype)
    results = []
    for vectors, phase in ((u, 0.7), (v, 1.9)):
        whole = _joined(vectors[..., :k] @ turn, vectors[..., k:])
        results.append(_complement_reflected(whole, clusters.zero, phase))
    return results[0], results[1]


def _joined(left: Expression, right: Expression) -> Expression:
    """Columns of both."""
    if right.shape[-1] == 0:
        return left
    result: Expression = apply(rearrange.concat, left, right, axis=-1)
    return result


def _complement_reflected(x: Expression, zero: Expression, phase: float) -> Expression:
    """The orthonormal columns x, those of the complement reflected by 1 − 2wwᴴ/wᴴw.

    w is a fixed generic vector, projected on the complement of the columns of values that are not
    zero. It differs by `phase`, and from that of `reflections`, so that no two cancel.
    """
    k = zero.shape[-1]
    first = x[..., :k]
    kept = chosen(columns(zero), 0.0, first)
    index = Expression(x.emitter, x.emitter.emit(Iota(FLOAT64, x.shape[-2])))
    generic = apply(analytic.cos, index * 2.39996 + phase) + 2**0.5
    if is_complex(x.dtype):
        angle = index * (1.1 + phase)
        real, imag = apply(analytic.cos, angle), apply(analytic.sin, angle)
        generic = generic * apply(elementwise.complex, real, imag)
    g = rows(generic.astype(x.dtype))
    w = g - kept @ (kept.H @ g)
    size = (w.conj() * w).real.sum(axis=(-2, -1), keepdims=True)
    scale = 2.0 / chosen(size > 1e-8, size, 1.0)
    turned = x - w @ (w.H @ x) * scale
    if is_complex(x.dtype):
        turned = turned * complex(cos(phase), sin(phase))
    moved = chosen(columns(zero), turned[..., :k], first)
    return _joined(moved, turned[..., k:])
