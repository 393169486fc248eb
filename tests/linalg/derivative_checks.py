"""First and second derivatives against differences, and the matrices where these are hard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro as tn

Array = np.ndarray[Any, Any]

ERROR = {"first": 1e-8, "second": 1e-6}
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
    return sum(
        w * (np.asarray(function(x + k * step * d)) - np.asarray(function(x - k * step * d)))
        for k, w in weights.items()
    ) / step  # type: ignore[return-value]


class Derivatives:
    """A loss and its derivatives, compiled for one executor."""

    def __init__(self, loss: Callable[[Any], Any], executor: str = "numpy") -> None:
        self.value = tn.jit(lambda x: loss(x), executor=executor)
        self.gradient = tn.jit(lambda x: tn.grad(loss)(x), executor=executor)
        self.both = tn.jit(lambda x, d: tn.hvp(loss, x, d), executor=executor)
        self.forward = tn.jit(lambda x, d: tn.jvp(loss, (x,), (d,))[1], executor=executor)

    def errors(self, x: Array, d: Array) -> dict[str, float]:
        """Of first and second order against differences, and of reverse against forward."""
        gradient = np.asarray(self.gradient(x))
        expected = slope(lambda y: np.asarray(self.value(y)), x, d)
        along = np.sum(np.real(np.conj(gradient) * d))
        forward = float(np.asarray(self.forward(x, d)))
        size = max(1.0, abs(float(expected)))
        product = np.asarray(self.both(x, d))
        second = slope(lambda y: np.asarray(self.gradient(y)), x, d)
        return {
            "first": abs(along - float(expected)) / size,
            "modes": abs(along - forward) / size,
            "second": float(np.max(np.abs(product - second)) / max(1.0, np.max(np.abs(second)))),
        }
