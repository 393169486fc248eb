"""Functions that run on tenferro and on JAX, and what JAX makes of them in 64-bit mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import tenferro as tn
from tenferro.transforms import flatten
from tests.in_jax import in_jax as compiled_in_jax
from tests.tolerances import assert_close, rounding


class Pair(NamedTuple):
    a: Any
    b: Any


@tn.tree_util.register_dataclass
@jax.tree_util.register_dataclass
@dataclass
class Layer:
    w: Any
    b: Any


def mlp(xp: Any, params: Any, x: Any) -> Any:
    """A dict of lists of dataclasses, with a None in it."""
    for layer in params["layers"]:
        x = xp.tanh(x @ layer.w + layer.b)
    return xp.sum(x * x) / x.shape[0] + params["scale"] * xp.mean(x)


def mixed(xp: Any, p: Any, y: Any) -> Any:
    """A named tuple, indexing, padding and a maximum."""
    z = xp.stack([p.a[::-1] * y, xp.maximum(p.b, p.a)])
    return xp.sum(xp.exp(-z[:, 1:]) * xp.tril(z[:, :-1])) + xp.prod(y[:2])


def power(xp: Any, x: Any) -> Any:
    return xp.sum(x**3 / (1 + x * x) + xp.sin(x) ** 2)


def vector(xp: Any, x: Any) -> Any:
    """A vector and a tree around it."""
    return {"y": x[:2] * x[1:], "z": (xp.sum(xp.cos(x)), None)}


def norm(xp: Any, z: Any) -> Any:
    """Real, of complex numbers, and not holomorphic."""
    return xp.sum(xp.real(z * xp.conj(z)) * xp.real(xp.exp(z)))


RNG = np.random.default_rng(0)
X3 = np.array([0.5, -1.25, 2.0])
Z2 = np.array([0.5 + 1j, -0.75 - 0.25j])


def mlp_arguments() -> tuple[Any, ...]:
    layers = [
        Layer(RNG.normal(size=(3, 4)), np.zeros(4)),
        Layer(RNG.normal(size=(4, 2)), np.ones(2)),
    ]
    return {"layers": layers, "scale": np.array(0.5), "none": None}, RNG.normal(size=(5, 3))


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "mlp": (mlp, mlp_arguments()),
    "mixed": (mixed, (Pair(X3, X3 + 1), X3 * 2)),
    "power": (power, (X3,)),
    "scalar": (lambda xp, x: xp.sin(x) * xp.exp(x * x), (0.7,)),
    "norm": (norm, (Z2,)),
}


def in_jax(compute: Callable[[Any, Any], Any]) -> Any:
    """What `compute(jax, jax.numpy)` gives in 64-bit mode, as NumPy arrays."""
    return compiled_in_jax(lambda: compute(jax, jnp))


def assert_trees_close(actual: Any, expected: Any, conjugated: bool = False) -> None:
    """Same structure, dtypes, shapes and, up to rounding, elements."""
    leaves, tree = flatten(actual)
    others, other_tree = flatten(expected)
    assert tree == other_tree
    for leaf, other in zip(leaves, others, strict=True):
        other = np.conj(other) if conjugated else np.asarray(other)
        assert isinstance(leaf, tn.Tensor)
        assert (leaf.dtype, leaf.shape) == (other.dtype, other.shape)
        assert_close(np.asarray(leaf), other, rounding(other.dtype))
