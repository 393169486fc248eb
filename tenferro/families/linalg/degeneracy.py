"""Clusters of equal eigenvalues or singular values, and what a derivative may depend on in them.

Values whose gap is at most τ times the largest belong to one cluster, and so do chains of such
values. Only the subspace of a cluster is differentiable, not the single vectors and values in it. A
derivative that depends on these is NaN for that matrix: `factor` multiplies it by NaN, so that its
own derivatives are NaN too.

The singular vectors of zero are a basis of the complement of all others: left ones can be turned
without the right ones. The cluster of zero therefore stands apart from clusters of equal values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, sin

import numpy as np

from tenferro.errors import ConfigError
from tenferro.families.linalg.matrix_op import columns, joined, rows
from tenferro.ir import BOOL, FLOAT64, Dim, DType, is_complex, maximum
from tenferro.ops import Iota
from tenferro.ops.functions import (
    Expression,
    analytic,
    apply,
    elementwise,
    logical,
    manipulation,
    reductions,
)

__all__ = ["Degeneracy", "generic_bases", "reflections"]


# Clusters of equal eigenvalues or singular values, and what a derivative may depend on in them.

MODES = ("nan", "project", "broaden")


@dataclass(frozen=True)
class Degeneracy:
    """What a derivative does where values are equal.

    Attributes:
        mode: `"nan"`: NaN where the derivative is undefined or cannot be known. `"project"`: the
            derivative of a loss that does not depend on the basis of a cluster, checked.
            `"broaden"`: 1/g becomes g/(g² + width): always finite, and not exact.
        width: of `"broaden"`.
        final: whether the derivative is not differentiated again: no `kink` is needed.
    """

    mode: str = "nan"
    width: float = 1e-12
    final: bool = False

    def checked(self, name: str) -> Degeneracy:
        """Itself.

        Raises:
            ConfigError: there is no such mode.
        """
        if self.mode not in MODES:
            raise ConfigError(
                f"{name}: degenerate must be 'nan', 'project' or 'broaden', got {self.mode!r}"
            )
        return self

    def gap(self, dtype: DType) -> float:
        """τ: the largest gap within a cluster, relative to the largest value."""
        power = 0.5 if self.mode == "project" else 0.75
        return float(np.finfo(dtype).eps ** power)

    @staticmethod
    def tolerance(dtype: DType) -> float:
        """χ: the largest part of a cotangent, relative to the whole, that counts as zero."""
        return float(np.finfo(dtype).eps ** 0.375)

    def tied(self, values: Expression) -> Expression:
        """Whether sorted values i and i + 1 are in one cluster: [..., n − 1]; so NaN are."""
        gaps = absolute(values[..., 1:] - values[..., :-1])
        return negated(gaps > largest_of_sorted(values) * self.gap(values.dtype))

    def same(self, values: Expression) -> Expression:
        """Whether values i and j, sorted along the last axis, are in one cluster: [..., n, n]."""
        splits = negated(self.tied(values)).astype("int64")
        first = apply(manipulation.pad, splits, pad_width=[*[(0, 0)] * (values.ndim - 1), (1, 0)])
        number: Expression = apply(reductions.cumsum, first, axis=-1)
        return rows(number) == columns(number)

    def slack(self, values: Expression, gaps: Expression, vectors: Expression) -> Expression:
        """How much cotangents of values of a certain gap may differ by rounding: [..., k, k].

        Args:
            values: eigenvalues or singular values, of shape [..., k].
            gaps: differences of values, or values that count as zero.
            vectors: the largest cotangent of vectors, of shape [...].
        """
        largest = rows(largest_of_sorted(values))
        largest = chosen(largest > 0, largest, 1.0)
        rounding = float(256 * np.finfo(values.dtype).eps) + absolute(gaps) * 8.0 / largest
        return rounding * rows(rows(vectors)) / largest

    @staticmethod
    def variation(tied: Expression, cts: Expression) -> Expression:
        """How much cotangents vary in clusters: at least the largest difference of two, [...].

        Args:
            tied: whether values i and i + 1 are in one cluster.
            cts: cotangents of values.
        """
        steps = absolute(cts[..., 1:] - cts[..., :-1])
        return chosen(tied, steps, 0.0).sum(axis=-1)

    def factor(self, allowed: Expression, values: Expression, multiple: Expression) -> Expression:
        """`factor` of values, with its derivative if it is needed."""
        if self.final:
            return factor(allowed, values.dtype)
        return factor(allowed, values.dtype, values, multiple)

    def inverse_gaps(self, values: Expression, same: Expression) -> Expression:
        """1/(v_j − v_i) of pairs of values outside of clusters, 0 within: [..., n, n]."""
        return self.inverse(columns(values) - rows(values), same, values)

    def inverse(self, gaps: Expression, same: Expression | None, values: Expression) -> Expression:
        """1/g of gaps between values, or of values; 0 where `same` holds.

        Its derivative is NaN where −1/g² has lost all but four digits by the rounding of values.
        """
        if self.mode == "broaden":
            return gaps / (gaps * gaps + self.width)
        result = 1.0 / gaps if same is None else chosen(same, 0.0, 1.0 / chosen(same, 1.0, gaps))
        if self.final:
            return result
        limit = float(np.finfo(values.dtype).eps ** 0.375)
        close = absolute(gaps) <= rows(largest_of_sorted(values)) * limit
        if same is not None:
            close = both(negated(same), close)
        return result + kink(gaps, close)


def kink(x: Expression, condition: Expression) -> Expression:
    """Zeros, whose derivative with respect to x is NaN where the condition holds."""
    root: Expression = apply(analytic.sqrt, chosen(condition, x * 0.0, 1.0))
    return chosen(condition, root, 0.0)


def chosen(condition: Expression, x: Expression | float, y: Expression | float) -> Expression:
    """x where the condition holds, else y."""
    return apply(elementwise.where, condition, x, y)


def absolute(x: Expression) -> Expression:
    """The moduli."""
    return apply(elementwise.abs, x)


def both(x: Expression, y: Expression) -> Expression:
    """Whether both hold."""
    return apply(logical.logical_and, x, y)


def negated(x: Expression) -> Expression:
    """Whether it does not hold."""
    return apply(logical.logical_not, x)


def largest_of(x: Expression) -> Expression:
    """The largest modulus in each matrix, of shape [...]."""
    return absolute(x).max(axis=(-2, -1))


def largest_where(condition: Expression, x: Expression) -> Expression:
    """The largest modulus in each matrix among the elements where the condition holds; or 0."""
    return chosen(condition, absolute(x), 0.0).max(axis=(-2, -1))


def largest_of_sorted(values: Expression) -> Expression:
    """The largest modulus of values that are sorted along the last axis, of shape [..., 1]."""
    first, last = absolute(values[..., :1]), absolute(values[..., -1:])
    # Sums of one element: that the axes have size 1 is not known while sizes are symbols.
    sums = first.sum(axis=-1, keepdims=True), last.sum(axis=-1, keepdims=True)
    return apply(elementwise.maximum, *sums)


def off_diagonal(same: Expression) -> Expression:
    """The pairs of different places that are in one cluster."""
    index = Expression(same.emitter, same.emitter.emit(Iota(FLOAT64, same.shape[-1])))
    return both(same, rows(index) != columns(index))


def single(values: Expression) -> Expression:
    """The clusters of values that all differ, as of `Degeneracy.same`: [n, n]."""
    index = Expression(values.emitter, values.emitter.emit(Iota(FLOAT64, values.shape[-1])))
    return rows(index) == columns(index)


def exists(condition: Expression, axis: int | tuple[int, ...] = (-2, -1)) -> Expression:
    """Whether the condition holds anywhere in each matrix, or along other axes: [...]."""
    return apply(reductions.any, condition, axis=axis)


def factor(
    allowed: Expression,
    dtype: DType,
    values: Expression | None = None,
    multiple: Expression | None = None,
) -> Expression:
    """1 for each matrix where the condition, of shape [...], holds, else NaN: [..., 1, 1].

    Its derivative with respect to the values, of shape [..., k], is NaN where they are `multiple`,
    of shape [...]: a second derivative needs what no first derivative holds.
    """
    assert allowed.dtype == BOOL
    ones = chosen(allowed, 1.0, float("nan")).astype(dtype)
    if values is not None and multiple is not None:
        ones = ones + kink(values[..., :1].sum(axis=-1), multiple)
    return rows(rows(ones))


def reflections(same: Expression, dtype: DType) -> Expression:
    """For each cluster of two or more the reflection 1 − 2uuᴴ/uᴴu, for a generic u; else 1.

    The vectors of a cluster, so turned, are not special to the matrix. A loss that depends on the
    basis therefore has a derivative that shows it. u_i = (√2 + cos(2.39996 i)) e^(1.1 i √−1), real
    for a real dtype.
    """
    at = same.emitter
    index = Expression(at, at.emit(Iota(FLOAT64, same.shape[-1])))
    size = apply(analytic.cos, index * 2.39996) + 2**0.5
    angle = index * 1.1
    if is_complex(dtype):
        real, imag = apply(analytic.cos, angle), apply(analytic.sin, angle)
        u = size * apply(elementwise.complex, real, imag)
    else:
        u = size
    u = u.astype(dtype)
    pairs = chosen(both(same, exists_pair(same)), rows(u) * columns(u.conj()), 0.0)
    norms = chosen(same, columns(size * size), 0.0).sum(axis=-1)
    identity = (rows(index) == columns(index)).astype(dtype)
    return identity - pairs * (2.0 / rows(norms)).astype(dtype)


def exists_pair(same: Expression) -> Expression:
    """Whether the value i is in a cluster of two or more: [..., n, 1]."""
    return same.astype("int64").sum(axis=-1, keepdims=True) > 1


# Clusters of equal singular values, and the cluster of those that are zero.


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
    return apply(manipulation.pad, s, pad_width=[*[(0, 0)] * (s.ndim - 1), (0, 1)])


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
    return joined(left, right)


def _complement_reflected(x: Expression, zero: Expression, phase: float) -> Expression:
    """The orthonormal columns x, those of the complement reflected by 1 − 2wwᴴ/wᴴw.

    w is a fixed generic vector, projected on the complement of the columns of values that are not
    zero. It differs by `phase`, and from that of `reflections`, so that no two cancel.
    """
    k = zero.shape[-1]
    first = x[..., :k]
    others = chosen(columns(zero), 0.0, first)
    index = Expression(x.emitter, x.emitter.emit(Iota(FLOAT64, x.shape[-2])))
    generic = apply(analytic.cos, index * 2.39996 + phase) + 2**0.5
    if is_complex(x.dtype):
        angle = index * (1.1 + phase)
        real, imag = apply(analytic.cos, angle), apply(analytic.sin, angle)
        generic = generic * apply(elementwise.complex, real, imag)
    g = rows(generic.astype(x.dtype))
    w = g - others @ (others.H @ g)
    size = (w.conj() * w).real.sum(axis=(-2, -1), keepdims=True)
    scale = 2.0 / chosen(size > 1e-8, size, 1.0)
    turned = x - w @ (w.H @ x) * scale
    if is_complex(x.dtype):
        turned = turned * complex(cos(phase), sin(phase))
    moved = chosen(columns(zero), turned[..., :k], first)
    return _joined(moved, turned[..., k:])
