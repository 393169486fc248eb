"""Phases and bases of vectors: how to fix them, and what a loss depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from tenferro.errors import ConfigError, ShapeError
from tenferro.families.linalg import Degeneracy, rows
from tenferro.ir import INT64, AnyTensor, ArrayLike
from tenferro.linalg.arguments import matrix
from tenferro.ops import Iota
from tenferro.ops.functions import array_function, elementwise, emit, reductions
from tenferro.transforms import EagerRuntime

__all__ = ["GaugeReport", "fix_phases", "gauge_report"]

Array = np.ndarray[Any, Any]
_TURNS = 4


@array_function(module="tenferro.linalg")
def fix_phases(v: ArrayLike, /) -> AnyTensor:
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
    place = reductions.argmax(elementwise.abs(x), axis=-2, keepdims=True)
    places: Any = emit(Iota(INT64, x.shape[-2]))
    index = rows(places)
    entry = elementwise.where(index == place, x, 0.0).sum(axis=-2, keepdims=True)
    phase = elementwise.sign(elementwise.where(entry == 0, 1.0, entry))
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
        found = ", ".join(f"{self.values[c[0]]:.6g} ({len(c)} times)" for c in self.clusters)
        zeros = f"; {len(self.zeros)} zero" if self.zeros else ""
        return "\n".join(
            [
                f"equal values: {found or 'none'}{zeros}",
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
        raise ConfigError(f"{text}, got a function of {count} arguments")
    a = np.asarray(x)
    if a.ndim != 2 or (count == 2 and a.shape[0] != a.shape[1]):
        kind = "a square matrix" if count == 2 else "a matrix"
        raise ShapeError(f"gauge_report: takes {kind}, got shape {a.shape}")
    a = a if a.dtype.kind in "fc" else a.astype(float)
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
        x = x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x
        result[np.ix_(group, group)] = np.linalg.qr(x)[0]
    return result


def _skew(x: Array) -> Array:
    result: Array = (x - x.conj().T) / 2
    return result


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0))
