"""Clusters of equal eigenvalues or singular values, and what a derivative may depend on in them.

Values whose gap is at most τ times the largest belong to one cluster, and so do chains of such
values. Only the subspace of a cluster is differentiable, not the single vectors and values in it. A
derivative that depends on these is NaN for that matrix: `factor` multiplies it by NaN, so that its
own derivatives are NaN too.

The singular vectors of zero are a basis of the complement of all others: left ones can be turned
without the right ones. The cluster of zero therefore stands apart from clusters of equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from math import cos, sin
from typing import Any

import numpy as np

from tenferro.errors import ConfigError, ShapeError, counted
from tenferro.ir import (
    BOOL,
    INT64,
    AnyTensor,
    ArrayLike,
    Dim,
    DType,
    dtype_kind,
    is_complex,
    maximum,
)
from tenferro.linalg.arguments import matrix, number
from tenferro.linalg.matrix_op import H, columns, concatenated, padded, places, rows
from tenferro.ops.functions import analytic, array_function, elementwise, reductions
from tenferro.ops.functions.elementwise import where
from tenferro.transforms import EagerRuntime

__all__ = ["GaugeReport", "fix_phases", "gauge_report"]

# Clusters of equal eigenvalues or singular values, and what a derivative may depend on in them.


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

    def gap(self, dtype: DType) -> float:
        """τ: the largest gap within a cluster, relative to the largest value."""
        power = 0.5 if self.mode == "project" else 0.75
        return float(np.finfo(dtype).eps ** power)

    @staticmethod
    def tolerance(dtype: DType) -> float:
        """χ: the largest part of a cotangent, relative to the whole, that counts as zero."""
        return float(np.finfo(dtype).eps ** 0.375)

    def tied(self, values: AnyTensor) -> AnyTensor:
        """Whether sorted values i and i + 1 are in one cluster: [..., n − 1]; so NaN are."""
        gaps = abs(values[..., 1:] - values[..., :-1])
        return ~(gaps > largest_of_sorted(values) * self.gap(values.dtype))

    def same(self, values: AnyTensor) -> AnyTensor:
        """Whether values i and j, sorted along the last axis, are in one cluster: [..., n, n]."""
        splits = (~self.tied(values)).astype("int64")
        number = reductions.cumsum(padded(splits, -1, 1, 0), axis=-1)
        return rows(number) == columns(number)

    def slack(self, values: AnyTensor, gaps: AnyTensor, vectors: AnyTensor) -> AnyTensor:
        """How much cotangents of values of a certain gap may differ by rounding: [..., k, k].

        Args:
            values: eigenvalues or singular values, of shape [..., k].
            gaps: differences of values, or values that count as zero.
            vectors: the largest cotangent of vectors, of shape [...].
        """
        largest = rows(largest_of_sorted(values))
        largest = where(largest > 0, largest, 1.0)
        rounding = float(256 * np.finfo(values.dtype).eps) + abs(gaps) * 8.0 / largest
        return rounding * rows(rows(vectors)) / largest

    @staticmethod
    def variation(tied: AnyTensor, cts: AnyTensor) -> AnyTensor:
        """How much cotangents vary in clusters: at least the largest difference of two, [...].

        Args:
            tied: whether values i and i + 1 are in one cluster.
            cts: cotangents of values.
        """
        steps = abs(cts[..., 1:] - cts[..., :-1])
        return where(tied, steps, 0.0).sum(axis=-1)

    def factor(self, allowed: AnyTensor, values: AnyTensor, multiple: AnyTensor) -> AnyTensor:
        """`factor` of values, with its derivative if it is needed."""
        if self.final:
            return factor(allowed, values.dtype)
        return factor(allowed, values.dtype, values, multiple)

    def inverse_gaps(self, values: AnyTensor, same: AnyTensor) -> AnyTensor:
        """1/(v_j − v_i) of pairs of values outside of clusters, 0 within: [..., n, n]."""
        return self.inverse(columns(values) - rows(values), same, values)

    def inverse(self, gaps: AnyTensor, same: AnyTensor | None, values: AnyTensor) -> AnyTensor:
        """1/g of gaps between values, or of values; 0 where `same` holds.

        Its derivative is NaN where −1/g² has lost all but four digits by the rounding of values.
        """
        if self.mode == "broaden":
            return gaps / (gaps * gaps + self.width)
        result = 1.0 / gaps if same is None else where(same, 0.0, 1.0 / where(same, 1.0, gaps))
        if self.final:
            return result
        limit = float(np.finfo(values.dtype).eps ** 0.375)
        close = abs(gaps) <= rows(largest_of_sorted(values)) * limit
        if same is not None:
            close = (~same) & close
        return result + kink(gaps, close)


def kink(x: AnyTensor, condition: AnyTensor) -> AnyTensor:
    """Zeros, whose derivative with respect to x is NaN where the condition holds."""
    root = analytic.sqrt(where(condition, x * 0.0, 1.0))
    return where(condition, root, 0.0)


def largest_of(x: AnyTensor) -> AnyTensor:
    """The largest modulus in each matrix, of shape [...]."""
    return abs(x).max(axis=(-2, -1))


def largest_where(condition: AnyTensor, x: AnyTensor) -> AnyTensor:
    """The largest modulus in each matrix among the elements where the condition holds; or 0."""
    return where(condition, abs(x), 0.0).max(axis=(-2, -1))


def largest_of_sorted(values: AnyTensor) -> AnyTensor:
    """The largest modulus of values that are sorted along the last axis, of shape [..., 1]."""
    first, last = abs(values[..., :1]), abs(values[..., -1:])
    # Sums of one element: that the axes have size 1 is not known while sizes are symbols.
    sums = first.sum(axis=-1, keepdims=True), last.sum(axis=-1, keepdims=True)
    return elementwise.maximum(*sums)


def off_diagonal(same: AnyTensor) -> AnyTensor:
    """The pairs of different places that are in one cluster."""
    return same & ~single(same)


def single(values: AnyTensor) -> AnyTensor:
    """The clusters of values that all differ, as of `Degeneracy.same`: [n, n]."""
    index = places(values, values.shape[-1])
    return rows(index) == columns(index)


def factor(
    allowed: AnyTensor,
    dtype: DType,
    values: AnyTensor | None = None,
    multiple: AnyTensor | None = None,
) -> AnyTensor:
    """1 for each matrix where the condition, of shape [...], holds, else NaN: [..., 1, 1].

    Its derivative with respect to the values, of shape [..., k], is NaN where they are `multiple`,
    of shape [...]: a second derivative needs what no first derivative holds.
    """
    assert allowed.dtype == BOOL
    ones = where(allowed, 1.0, float("nan")).astype(dtype)
    if values is not None and multiple is not None:
        ones = ones + kink(values[..., :1].sum(axis=-1), multiple)
    return rows(rows(ones))


def reflections(same: AnyTensor, dtype: DType) -> AnyTensor:
    """For each cluster of two or more the reflection 1 − 2uuᴴ/uᴴu, for a generic u; else 1.

    The vectors of a cluster, so turned, are not special to the matrix. A loss that depends on the
    basis therefore has a derivative that shows it. u_i = (√2 + cos(2.39996 i)) e^(1.1 i √−1), real
    for a real dtype.
    """
    index = places(same, same.shape[-1])
    size = analytic.cos(index * 2.39996) + 2**0.5
    u = size * _phases(index * 1.1) if is_complex(dtype) else size
    u = u.astype(dtype)
    multiple = same.astype("int64").sum(axis=-1, keepdims=True) > 1
    pairs = where(same & multiple, rows(u) * columns(u.conj()), 0.0)
    norms = where(same, columns(size * size), 0.0).sum(axis=-1)
    identity = (rows(index) == columns(index)).astype(dtype)
    return identity - pairs * (2.0 / rows(norms)).astype(dtype)


def _phases(angle: AnyTensor) -> AnyTensor:
    return elementwise.complex(analytic.cos(angle), analytic.sin(angle))


# Clusters of equal singular values, and the cluster of those that are zero.


@dataclass(frozen=True)
class SingularClusters:
    """Which of the singular values s, in descending order, are equal or zero.

    Attributes:
        degeneracy: what derivatives do there.
        same: whether values i and j are in one cluster, of shape [..., k, k].
        zero: whether a value is in the cluster of zero, of shape [..., k]; None if all differ and
            none is zero.
    """

    degeneracy: Degeneracy
    same: AnyTensor
    zero: Any

    @classmethod
    def of(cls, degeneracy: Degeneracy, s: AnyTensor) -> SingularClusters:
        """The clusters of singular values of shape [..., k]; k is not 0."""
        same = degeneracy.same(with_zero(s))
        return cls(degeneracy, same[..., :-1, :-1], same[..., -1, :-1])

    @classmethod
    def simple(cls, degeneracy: Degeneracy, s: AnyTensor) -> SingularClusters:
        """Those of values that all differ, none of which is zero."""
        return cls(degeneracy, single(s), None)

    @property
    def zeros(self) -> Any:
        """Whether values i and j are both zero."""
        return None if self.zero is None else rows(self.zero) & columns(self.zero)

    @property
    def equal(self) -> AnyTensor:
        """Whether values i and j are in one cluster that is not that of zero."""
        zeros = self.zeros
        return self.same if zeros is None else self.same & ~zeros

    def inverse_gaps(self, s: AnyTensor) -> AnyTensor:
        """1/(s_j − s_i); 0 within clusters."""
        return self.degeneracy.inverse_gaps(s, self.same)

    def inverse_sums(self, s: AnyTensor) -> AnyTensor:
        """1/(s_j + s_i); 0 where both are zero."""
        return self.degeneracy.inverse(columns(s) + rows(s), self.zeros, s)

    def inverse(self, s: AnyTensor) -> AnyTensor:
        """1/s_j, as [..., 1, k]: it scales columns; 0 for zeros."""
        zero = None if self.zero is None else columns(self.zero)
        return self.degeneracy.inverse(columns(s), zero, s)


def with_zero(s: AnyTensor) -> AnyTensor:
    """s, and a zero after it along the last axis."""
    return padded(s, -1, 0, 1)


def ties(degeneracy: Degeneracy, s: AnyTensor) -> AnyTensor:
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
    degeneracy: Degeneracy, s: AnyTensor, u: AnyTensor, v: AnyTensor
) -> tuple[AnyTensor, AnyTensor]:
    """U and V with generic bases of their clusters, for a loss that must not depend on the basis.

    Those of equal values are turned together by `reflections`. Those of zero are reflected within
    the whole complement of the other vectors, U and V each by its own reflection: a loss that sees
    a derivative of the value at zero then has a cotangent of that value.
    """
    k = s.shape[-1]
    clusters = SingularClusters.of(degeneracy, s)
    turn = reflections(clusters.same, u.dtype)
    turned = (_with_others(x[..., :k] @ turn, x[..., k:]) for x in (u, v))
    left, right = (
        _complement_reflected(x, columns(clusters.zero), phase)
        for x, phase in zip(turned, (0.7, 1.9), strict=True)
    )
    return left, right


def _with_others(first: AnyTensor, others: AnyTensor) -> AnyTensor:
    return first if others.shape[-1] == 0 else concatenated(first, others)


def _complement_reflected(x: AnyTensor, zero: AnyTensor, phase: float) -> AnyTensor:
    """The orthonormal columns x, those of the complement reflected by 1 − 2wwᴴ/wᴴw.

    w is a fixed generic vector, projected on the complement of the columns of values that are not
    `zero`. It differs by `phase`, and from that of `reflections`, so that no two cancel.
    """
    k = zero.shape[-1]
    first = x[..., :k]
    others = where(zero, 0.0, first)
    index = places(x, x.shape[-2])
    generic = analytic.cos(index * 2.39996 + phase) + 2**0.5
    if is_complex(x.dtype):
        generic = generic * _phases(index * (1.1 + phase))
    g = rows(generic.astype(x.dtype))
    w = g - others @ (H(others) @ g)
    size = (w.conj() * w).real.sum(axis=(-2, -1), keepdims=True)
    scale = 2.0 / where(size > 1e-8, size, 1.0)
    turned = x - w @ (H(w) @ x) * scale
    if is_complex(x.dtype):
        turned = turned * complex(cos(phase), sin(phase))
    return _with_others(where(zero, turned[..., :k], first), turned[..., k:])


def degeneracy(name: str, degenerate: str, width: float) -> Degeneracy:
    """What derivatives do where values are equal.

    Raises:
        ConfigError: there is no such mode, or the width is not a number of at least 0.
    """
    result = Degeneracy(degenerate, number(name, "width", width))
    if degenerate not in ("nan", "project", "broaden"):
        raise ConfigError(
            f"{name}: degenerate must be 'nan', 'project' or 'broaden', got {degenerate!r}"
        )
    return result


Array = np.ndarray[Any, Any]


_TURNS = 4


@array_function(module="tenferro.linalg")
def fix_phases(v: ArrayLike) -> AnyTensor:
    """The columns of v, each multiplied by the phase that makes its largest entry real positive.

    A loss of eigenvectors or singular vectors so fixed has a derivative, although their phases are
    arbitrary. A column of zeros is returned as it is.

    Args:
        v: matrices, of shape [..., m, n].

    Raises:
        ShapeError: v has fewer than two axes.
        DTypeError: v is of half precision.

    >>> tn.linalg.fix_phases([[1.0, 0.6], [-2.0, 0.8]])
    Tensor([[-1. ,  0.6],
            [ 2. ,  0.8]])
    """
    x = matrix("fix_phases", v)
    if 0 in x.shape:
        return x
    place = reductions.argmax(abs(x), axis=-2, keepdims=True)
    index = rows(places(x, x.shape[-2], INT64))
    entry = where(index == place, x, 0.0).sum(axis=-2, keepdims=True)
    phase = elementwise.sign(where(entry == 0, 1.0, entry))
    return x * phase.conj()


@dataclass(frozen=True)
class GaugeReport:
    """What `gauge_report` finds.

    Attributes:
        values: eigenvalues, or singular values.
        clusters: the places of equal values, for each cluster of two or more.
        zeros: the places of singular values that are zero.
        basis: the largest part of the cotangents of vectors that turns the basis of a cluster, or
            the phase of a single vector, relative to the largest cotangent.
        spread: the largest difference of cotangents of values in a cluster, or cotangent of a zero,
            relative to the largest cotangent.
        change: the largest change of the loss under random turns of these bases, relative to the
            loss or 1; or of the cotangents of vectors, turned back, relative to the largest.
        tolerance: up to this, a number counts as zero.
    """

    values: tuple[float, ...]
    clusters: tuple[tuple[int, ...], ...]
    zeros: tuple[int, ...]
    basis: float
    spread: float
    change: float
    tolerance: float

    @property
    def invariant(self) -> bool:
        """Whether the loss has a derivative that depends on no choice of bases."""
        return max(self.basis, self.spread, self.change) <= self.tolerance

    @property
    def advice(self) -> str:
        """What to do."""
        if self.basis > self.tolerance or self.change > self.tolerance:
            return (
                "the loss depends on the basis or phases of vectors: write it with projectors "
                "V Vᴴ, or fix the phases of single vectors with fix_phases"
            )
        if self.spread > self.tolerance:
            return (
                "the loss is a function of the matrix, not of single values: use eigh_block, "
                "svd_block or funm_hermitian, which are exact at equal values"
            )
        if self.clusters or self.zeros:
            return 'pass degenerate="project"'
        return "the derivative exists as it is"

    def __str__(self) -> str:
        equal = ", ".join(f"{self.values[c[0]]:.6g} ({len(c)} times)" for c in self.clusters)
        zeros = f"; {len(self.zeros)} zero" if self.zeros else ""
        return "\n".join(
            [
                f"equal values: {equal or 'none'}{zeros}",
                f"dependence on bases and phases: {self.basis:.1e}",
                f"dependence on single values of a cluster: {self.spread:.1e}",
                f"change of the loss and its cotangents under turns: {self.change:.1e}",
                f"(up to {self.tolerance:.1e} counts as none)",
                self.advice,
            ]
        )


def gauge_report(loss: Callable[..., Any], x: Any) -> GaugeReport:
    """Whether a loss of factors has a derivative where values are equal, and what to do if not.

    It is computed at once, for one matrix, by NumPy.

    Args:
        loss: takes `(eigenvalues, eigenvectors)` of `eigh`, or `(U, S, Vh)` of
            `svd(x, full_matrices=False)`, as its number of parameters says; returns a real number.
        x: a matrix, of shape [n, n] or [m, n].

    Raises:
        ConfigError: the loss takes neither two nor three arguments.
        ShapeError: x is not one matrix.

    >>> import numpy as np
    >>> report = gauge_report(lambda w, v: v[0, 0] ** 2 * w[0], np.eye(2))
    >>> report.clusters, report.invariant
    (((0, 1),), False)
    """
    if not callable(loss):
        raise ConfigError(f"gauge_report: loss must be a function, got {loss!r}")
    count = len(signature(loss).parameters)
    if count not in (2, 3):
        text = "gauge_report: loss must take (eigenvalues, eigenvectors) or (U, S, Vh)"
        raise ConfigError(f"{text}, got a function of {counted(count, 'argument')}")
    a = np.asarray(x)
    if a.ndim != 2 or (count == 2 and a.shape[0] != a.shape[1]):
        kind = "a square matrix" if count == 2 else "a matrix"
        raise ShapeError(f"gauge_report: takes {kind}, got shape {a.shape}")
    a = a if dtype_kind(a.dtype) in "fc" else a.astype(float)
    return _of_eigh(loss, a) if count == 2 else _of_svd(loss, a)


@dataclass(frozen=True)
class _Look:
    """What a loss depends on in one basis; sizes and `vectors` are those of its cotangents."""

    value: float
    basis: float
    spread: float
    sizes: tuple[float, float]
    vectors: tuple[Array, ...]
    """Turned back to the first basis."""


def _of_eigh(loss: Callable[..., Any], a: Array) -> GaugeReport:
    w, v = np.linalg.eigh((a + a.conj().T) / 2)
    groups = _groups(w, Degeneracy("project").gap(w.dtype))

    def look(turn: Array) -> _Look:
        turned = v @ turn
        value, (w_ct, v_ct) = _cotangents(loss, (w, turned))
        skew = _skew(turned.conj().T @ v_ct)
        basis = max((_largest(skew[np.ix_(g, g)]) for g in groups), default=0.0)
        spread = max((float(np.ptp(w_ct[g])) for g in groups), default=0.0)
        sizes = _largest(v_ct), _largest(w_ct)
        return _Look(value, basis, spread, sizes, (v_ct @ turn.conj().T,))

    rng = np.random.default_rng(0)
    turns = [np.eye(len(w), dtype=v.dtype), *(_turns(rng, groups, v.dtype) for _ in range(_TURNS))]
    return _report(w, groups, [], [look(turn) for turn in turns])


def _of_svd(loss: Callable[..., Any], a: Array) -> GaugeReport:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    *groups, zeros = _groups(np.append(s, 0), Degeneracy("project").gap(s.dtype))
    zeros = zeros[:-1]

    def look(left: Array, right: Array) -> _Look:
        one, other = u @ left, right.conj().T @ vh
        value, (u_ct, s_ct, vh_ct) = _cotangents(loss, (one, s, other))
        of_u, of_v = _skew(one.conj().T @ u_ct), _skew(other @ vh_ct.conj().T)
        basis = max((_largest((of_u + of_v)[np.ix_(g, g)]) for g in groups), default=0.0)
        for part in (of_u, of_v):
            basis = max(basis, _largest(part[np.ix_(zeros, zeros)]))
        spread = max((float(np.ptp(s_ct[g])) for g in groups), default=0.0)
        sizes = max(_largest(u_ct), _largest(vh_ct)), _largest(s_ct)
        vectors = u_ct @ left.conj().T, right @ vh_ct
        return _Look(value, basis, max(spread, _largest(s_ct[zeros])), sizes, vectors)

    rng, unturned = np.random.default_rng(0), np.eye(len(s), dtype=a.dtype)
    turns = [(unturned, unturned)]
    for _ in range(_TURNS):
        both = _turns(rng, groups, a.dtype, len(s))
        left, right = (both @ _turns(rng, [zeros], a.dtype, len(s)) for _ in range(2))
        turns.append((left, right))
    return _report(s, groups, list(zeros), [look(*turn) for turn in turns])


def _report(
    values: Array, groups: Sequence[Array], zeros: Sequence[Any], looks: Sequence[_Look]
) -> GaugeReport:
    """The report, of numbers relative to the sizes of cotangents of vectors and values."""
    first = looks[0]
    vectors = max(look.sizes[0] for look in looks)
    whole = vectors + max(look.sizes[1] for look in looks)
    moved = max(
        _largest(one - other)
        for look in looks
        for one, other in zip(look.vectors, first.vectors, strict=True)
    )
    change = max(abs(look.value - first.value) for look in looks) / max(1.0, abs(first.value))
    return GaugeReport(
        tuple(map(float, values)),
        tuple(tuple(map(int, g)) for g in groups if len(g) > 1),
        tuple(map(int, zeros)),
        max(look.basis for look in looks) / vectors if vectors else 0.0,
        max(look.spread for look in looks) / whole if whole else 0.0,
        max(change, moved / vectors) if vectors else change,
        Degeneracy.tolerance(values.dtype),
    )


def _groups(values: Array, gap: float) -> list[Array]:
    """The places of sorted values, cut where a gap is wide relative to the largest value."""
    wide = np.abs(np.diff(values)) > gap * np.abs(values).max(initial=0)
    return np.split(np.arange(len(values)), np.flatnonzero(wide) + 1)


def _cotangents(loss: Callable[..., Any], factors: Sequence[Array]) -> tuple[float, list[Array]]:
    """The loss and its gradient by each factor; zeros by one that it does not read."""
    runtime = EagerRuntime()
    variables = [runtime.variable(factor) for factor in factors]
    result = loss(*variables)
    result.backward()
    return float(np.real(result.numpy())), [
        np.zeros_like(factor) if variable.grad is None else np.asarray(variable.grad.numpy())
        for factor, variable in zip(factors, variables, strict=True)
    ]


def _turns(
    rng: np.random.Generator, groups: Sequence[Array], dtype: Any, size: int | None = None
) -> Array:
    """A random unitary matrix within each group, and 1 elsewhere."""
    n = size if size is not None else sum(map(len, groups))
    result = np.eye(n, dtype=dtype)
    for group in groups:
        shape = (len(group), len(group))
        x = rng.normal(size=shape)
        x = x + 1j * rng.normal(size=shape) if dtype_kind(np.dtype(dtype)) == "c" else x
        result[np.ix_(group, group)] = np.linalg.qr(x)[0]
    return result


def _skew(x: Array) -> Array:
    result: Array = (x - x.conj().T) / 2
    return result


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0))
