"""Gradients of any order against differences along one direction, real and complex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tenferro as tn

Array = np.ndarray[Any, Any]


def random(rng: np.random.Generator, shape: Sequence[int], dtype: str = "d") -> Array:
    """Normal numbers."""
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if dtype in "FD" else x, dtype)


def weighted(y: Any, weights: Array) -> Any:
    """The inner product Re Σ conj(w) y, which is real."""
    return tn.sum(tn.real(tn.conj(weights.astype(complex)) * y))


def slope(function: Callable[..., Any], at: Sequence[Array], along: Sequence[Array]) -> float:
    """The derivative of a number along a direction, by differences of fourth order."""

    def value(t: float) -> float:
        return float(np.asarray(function(*[x + t * d for x, d in zip(at, along, strict=True)])))

    h = 1e-3
    return (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)


def assert_derivatives(
    function: Callable[..., Any], inputs: Sequence[Array], tolerance: float = 1e-7
) -> None:
    """The gradient and the Hessian along a direction agree with differences."""
    rng = np.random.default_rng(7)
    dtypes = ["D" if np.iscomplexobj(x) else "d" for x in inputs]
    along = [random(rng, x.shape, dtype) / 4 for x, dtype in zip(inputs, dtypes, strict=True)]
    gradient = tn.grad(function, tuple(range(len(inputs))))

    def directional(*xs: Any) -> Any:
        parts = [weighted(g, d) for g, d in zip(gradient(*xs), along, strict=True)]
        return tn.sum(tn.stack(parts))

    found = float(np.asarray(directional(*inputs)))
    np.testing.assert_allclose(
        found, slope(function, inputs, along), rtol=tolerance, atol=tolerance
    )
    second = tn.grad(directional, tuple(range(len(inputs))))(*inputs)
    total = sum(
        float(np.sum((np.conj(np.asarray(g)) * d).real)) for g, d in zip(second, along, strict=True)
    )
    np.testing.assert_allclose(
        total, slope(directional, inputs, along), rtol=10 * tolerance, atol=10 * tolerance
    )
