"""Random matrices for tests of linear algebra, and derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.tolerances import assert_close

Array = np.ndarray[Any, Any]
STEP = 1e-4


def random(rng: np.random.Generator, *shape: int, dtype: Any = float) -> Array:
    """Normal numbers."""
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def hermitian(rng: np.random.Generator, n: int, dtype: Any = float) -> Array:
    """A Hermitian matrix."""
    x = random(rng, n, n, dtype=dtype)
    return x + adjoint(x)


def unitary(rng: np.random.Generator, n: int, dtype: Any = float) -> Array:
    """A unitary matrix."""
    return np.linalg.qr(random(rng, n, n, dtype=dtype))[0]


def adjoint(x: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return np.conj(x.swapaxes(-1, -2))


def inner(x: Array, y: Array) -> float:
    """Re Σ conj(x) y."""
    return float(np.real(np.vdot(x, y)))


def difference(f: Callable[[Array], Any], at: Array, along: Array) -> Any:
    """The derivative along a direction, by differences of the fourth order."""
    near = [np.asarray(f(at + step * STEP * along)) for step in (1, -1)]
    far = [np.asarray(f(at + step * STEP * along)) for step in (2, -2)]
    return (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * STEP)


def kink(f: Callable[[Array], Any], at: Array, along: Array) -> float:
    """By how much the slope jumps there: what second differences have in common at two steps."""
    here = float(f(at))
    jumps = [
        (float(f(at + step * along)) - 2 * here + float(f(at - step * along))) / step
        for step in (STEP, STEP / 2)
    ]
    return abs(2 * jumps[1] - jumps[0])


def with_singular_values(
    rng: np.random.Generator, m: int, n: int, s: Sequence[float], dtype: Any = float
) -> Array:
    """A matrix with random vectors and these singular values."""
    k = min(m, n)
    left, right = unitary(rng, m, dtype)[:, :k], unitary(rng, n, dtype)[:, :k]
    return (left * np.asarray(s)) @ adjoint(right)


def assert_orthonormal(x: Array, tolerance: float) -> None:
    """The columns of each matrix are orthonormal."""
    product = adjoint(x) @ x
    assert_close(product, np.zeros_like(product) + np.eye(x.shape[-1]), tolerance)
