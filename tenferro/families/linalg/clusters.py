"""Clusters of equal eigenvalues or singular values, and what a derivative may depend on in them.

Values whose gap is at most τ times the largest belong to one cluster, and so do chains of such
values. Only the subspace of a cluster is differentiable, not the single vectors and values in it. A
derivative that depends on these is NaN for that matrix: `factor` multiplies it by NaN, so that its
own derivatives are NaN too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenferro.arrays import (
    Expression,
    analytic,
    apply,
    elementwise,
    logical,
    rearrange,
    reductions,
    scans,
)
from tenferro.errors import ConfigError
from tenferro.families.linalg.pieces import columns, rows
from tenferro.ops import Iota
from tenferro.shape import BOOL, FLOAT64, DType, is_complex

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
        first = apply(rearrange.pad, splits, pad_width=[*[(0, 0)] * (values.ndim - 1), (1, 0)])
        number: Expression = apply(scans.cumsum, first, axis=-1)
        return rows(number) == columns(number)

    def slack(self, values: Expression, gaps: Expression, vectors: Expression) -> Expression:
        """How much cotangents of values whose gap is given may differ by rounding: [..., k, k].

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
    result: Expression = apply(elementwise.where, condition, x, y)
    return result


def absolute(x: Expression) -> Expression:
    """The moduli."""
    result: Expression = apply(elementwise.abs, x)
    return result


def both(x: Expression, y: Expression) -> Expression:
    """Whether both hold."""
    result: Expression = apply(logical.logical_and, x, y)
    return result


def negated(x: Expression) -> Expression:
    """Whether it does not hold."""
    result: Expression = apply(logical.logical_not, x)
    return result


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
    result: Expression = apply(elementwise.maximum, *sums)
    return result


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
    result: Expression = apply(reductions.any, condition, axis=axis)
    return result


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
