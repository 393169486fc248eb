"""First and second derivatives against differences, and the matrices where these are hard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro as tn

Array = np.ndarray[Any, Any]

ERROR = {"first": 1e-8, "second": 1e-6, "modes": 1e-12}
"""The bars, relative to the largest element."""


def unitary(n: int, kind: str, seed: int) -> Array:
    """A random orthogonal matrix for kind "f", a unitary one for "c"."""
    return np.linalg.qr(gaussian((n, n), kind, seed))[0]


def gaussian(shape: tuple[int, ...], kind: str, seed: int) -> Array:
    """Normal numbers, complex for kind "c"."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if kind == "c" else x


def hermitian(values: Any, kind: str, seed: int = 5) -> Array:
    """A Hermitian matrix with these eigenvalues in random directions."""
    q = unitary(len(values), kind, seed)
    a = (q * np.asarray(values)) @ np.conj(q.T)
    return (a + np.conj(a.T)) / 2


def slope(function: Callable[[Array], Array], x: Array, d: Array, step: float = 2e-3) -> Array:
    """The derivative along d, by differences of sixth order."""
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    return (
        sum(
            w * (np.asarray(function(x + k * step * d)) - np.asarray(function(x - k * step * d)))
            for k, w in weights.items()
        )
        / step
    )  # type: ignore[return-value]


class Derivatives:
    """A loss of each matrix of a batch and its derivatives, compiled once."""

    def __init__(self, losses: Callable[[Any], Any], executor: str = "numpy") -> None:
        def total(x: Any) -> Any:
            return tn.sum(losses(x))

        self.value = tn.jit(lambda x: losses(x), executor=executor)
        self.all = tn.jit(
            lambda x, d: (
                tn.grad(total)(x),
                tn.hvp(total, x, d),
                tn.jvp(losses, (x,), (d,))[1],
            ),
            executor=executor,
        )

    def errors(self, x: Array, d: Array) -> dict[str, Array]:
        """For each matrix: first and second order against differences, reverse against forward."""
        gradient, product, forward = (np.asarray(each) for each in self.all(x, d))
        expected = slope(lambda y: np.asarray(self.value(y)), x, d)
        along = np.sum(np.real(np.conj(gradient) * d), (-2, -1))
        size = np.maximum(1.0, np.abs(expected))
        second = slope(lambda y: np.asarray(self.all(y, d)[0]), x, d)
        scale = np.maximum(1.0, np.max(np.abs(second), (-2, -1)))
        return {
            "first": np.abs(along - expected) / size,
            "modes": np.abs(along - forward) / size,
            "second": np.max(np.abs(product - second), (-2, -1)) / scale,
        }


def assert_right(errors: dict[str, Array]) -> None:
    """All below the bars, and none NaN."""
    worst = {order: float(np.max(values)) for order, values in errors.items()}
    assert all(worst[order] <= bar for order, bar in ERROR.items()), errors


def direction(x: Array, kind: str, seed: int = 2) -> Array:
    """A random direction for each matrix, of norm 0.3."""
    d = gaussian(x.shape, kind, seed)
    return d * (0.3 / np.linalg.norm(d, axis=(-2, -1), keepdims=True))


def invariant(y: Any, kind: str) -> Any:
    """A loss of each matrix that takes all its elements and is not linear in them."""
    weights = gaussian(y.shape[-2:], kind, 1)
    return tn.sum(tn.real(weights * y) + tn.real(y * tn.conj(y)) * 0.5, axis=(-2, -1))
