"""Losses at points where eigenvalues, singular values or pivots are degenerate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(7)
S = RNG.normal(size=(4, 4))
S = S + S.T
Q = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
T = RNG.normal(size=(4, 3))


def symmetric(*values: float) -> Array:
    """The matrix with these eigenvalues, in a general basis."""
    return (Q * np.array(values)) @ Q.T


def rectangular(*values: float) -> Array:
    """A 4 × 3 matrix with these singular values."""
    right = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0]
    return (Q[:, :3] * np.array(values)) @ right


@dataclass(frozen=True)
class Point:
    """A loss and a point.

    Attributes:
        text: the loss.
        at: the point.
        loss: the loss with the functions of a library, of which it uses those it has in common with
            `jax.numpy`.
        ours: the loss with the functions of tenferro that are made for it.
        exact: the gradient. None if there is none.
    """

    text: str
    at: Array
    loss: Callable[[Any, Any], Any]
    ours: Callable[[Any], Any] | None
    exact: Array | None


def differences(f: Callable[[Array], float], x: Array, step: float = 1e-3) -> Array:
    """The gradient by differences of fourth order."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        unit = np.zeros_like(x)
        unit[index] = step
        one, two = f(x + unit) - f(x - unit), f(x + 2 * unit) - f(x - 2 * unit)
        gradient[index] = (8 * one - two) / (12 * step)
    return gradient


def of_hermitian(h: Callable[[Array], Array]) -> Callable[[Array], float]:
    """tr(S h(x)), by NumPy."""

    def value(x: Array) -> float:
        w, v = np.linalg.eigh((x + x.T) / 2)
        return float(np.sum(S * ((v * h(w)) @ v.T)))

    return value


def through_eigh(h: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """tr(S V h(w) Vᵀ) by the eigenvalues and eigenvectors of a library."""

    def loss(xp: Any, x: Any) -> Any:
        w, v = xp.linalg.eigh((x + x.T) / 2)
        return xp.sum(xp.asarray(S) * ((v * h(xp, w)) @ v.T))

    return loss


def project_two(xp: Any, x: Any) -> Any:
    v = xp.linalg.eigh((x + x.T) / 2)[1][:, :2]
    return xp.sum(xp.asarray(S) * (v @ v.T))


def exact_projector(x: Array) -> float:
    v = np.linalg.eigh((x + x.T) / 2)[1][:, :2]
    return float(np.sum(S * (v @ v.T)))


def rank_two(xp: Any, x: Any) -> Any:
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return xp.sum(xp.asarray(T) * ((u[:, :2] * s[:2]) @ vh[:2]))


def polar(xp: Any, x: Any) -> Any:
    u, _, vh = xp.linalg.svd(x, full_matrices=False)
    return xp.sum(xp.asarray(T) * (u @ vh))


def eigenvalues(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda xp, x: f(xp, xp.linalg.eigvalsh((x + x.T) / 2))


def triangular(xp: Any, x: Any) -> Any:
    return xp.sum(xp.asarray(np.ones((3, 3))) * xp.abs(xp.linalg.qr(x)[1]))


def points(tn: Any = None) -> list[Point]:
    """The losses; with those that are made of tenferro's own functions, if it is given."""
    one, pairs = np.eye(4), symmetric(1, 1, 3, 3)
    few = rectangular(2, 2, 1)
    corank = symmetric(0, 1, 2, 3)
    values = [
        ("Σ w² (eigvalsh)", one, eigenvalues(lambda xp, w: xp.sum(w**2)), None, 2 * one),
        (
            "energies of a pair, w₁ + w₂",
            pairs,
            eigenvalues(lambda xp, w: w[0] + w[1]),
            None,
            Q[:, :2] @ Q[:, :2].T,
        ),
        ("the lowest w₁ of a pair", pairs, eigenvalues(lambda xp, w: w[0]), None, None),
        (
            "projector on a pair",
            pairs,
            project_two,
            lambda x: tn.sum(S * _square(tn.linalg.eigh_block(x, 2).V)),
            differences(exact_projector, pairs),
        ),
        (
            "entropy −Σ w log w, mixed",
            one / 4,
            eigenvalues(lambda xp, w: -xp.sum(w * xp.log(w))),
            None,
            -(1 + np.log(0.25)) * one,
        ),
        (
            "tr(S √A) through eigh",
            one,
            through_eigh(lambda xp, w: xp.sqrt(w)),
            lambda x: tn.sum(S * tn.linalg.sqrtm(x, assume_a="her")),
            S / 2,
        ),
        (
            "tr(S log A) through eigh",
            pairs,
            through_eigh(lambda xp, w: xp.log(w)),
            lambda x: tn.sum(S * tn.linalg.logm(x, assume_a="her")),
            differences(of_hermitian(np.log), pairs),
        ),
        (
            "tr(S exp A) through eigh",
            one,
            through_eigh(lambda xp, w: xp.exp(w)),
            lambda x: tn.sum(S * tn.linalg.expm(x, assume_a="her")),
            np.e * S,
        ),
        (
            "Σ s² (svdvals)",
            few,
            lambda xp, x: xp.sum(xp.linalg.svd(x, full_matrices=False)[1] ** 2),
            lambda x: tn.sum(tn.linalg.svdvals(x) ** 2),
            2 * few,
        ),
        (
            "nearest of rank 2, s = 2, 2, 1",
            few,
            rank_two,
            lambda x: tn.sum(T * tn.linalg.low_rank(x, 2)),
            differences(lambda x: float(rank_two(np, x)), few),
        ),
        (
            "nearest of rank 2, s = 2, 1, 1",
            rectangular(2, 1, 1),
            rank_two,
            lambda x: tn.sum(T * tn.linalg.low_rank(x, 2)),
            None,
        ),
        (
            "polar factor U Vᵀ",
            few,
            polar,
            lambda x: tn.sum(T * tn.linalg.polar(x).U),
            differences(lambda x: float(polar(np, x)), few),
        ),
        (
            "nuclear norm",
            few,
            lambda xp, x: xp.sum(xp.linalg.svd(x, full_matrices=False)[1]),
            lambda x: tn.linalg.matrix_norm(x, ord="nuc"),
            polar_factor(few),
        ),
        (
            "det, corank 1",
            corank,
            lambda xp, x: xp.linalg.det(x),
            None,
            6 * np.outer(Q[:, 0], Q[:, 0]),
        ),
        ("det, corank 2", symmetric(0, 0, 2, 3), lambda xp, x: xp.linalg.det(x), None, 0 * one),
        (
            "sum of the moduli in R of QR, rank 2",
            np.outer([1.0, 2, 3, 4], [1.0, 1, 0]) + np.outer([0.0, 1, 0, 1], [0.0, 0, 1]),
            triangular,
            None,
            None,
        ),
    ]
    return [Point(*value) for value in values]


def _square(v: Any) -> Any:
    return v @ v.mT


def polar_factor(x: Array) -> Array:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return np.asarray(u @ vh)


def verdict(found: Array, point: Point) -> str:
    """What is to say of a gradient."""
    if not np.isfinite(found).all():
        return "NaN"
    if point.exact is None:
        return "**finite; none exists**"
    scale = max(float(np.abs(point.exact).max()), 1e-3)
    error = float(np.abs(found - point.exact).max()) / scale
    return "right" if error < 1e-6 else f"**wrong by {error:.0%}**"
