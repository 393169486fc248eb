"""Value and gradient of functions of matrices, against `jax.jit(jax.value_and_grad(...))`.

Each row is a loss, written once over `tenferro` and `jax.numpy`, and its inputs for a size n.
Rounds of both are interleaved; the ratio is the median over rounds. Gradients are compared first:
that of tenferro is the conjugate of that of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import (
    Samples,
    arguments,
    environment,
    interleaved,
    note,
    repeated,
    table,
    verdict,
)

import tenferro as tn

Arrays = tuple[np.ndarray[Any, Any], ...]
Loss = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """A loss, made of a library (`tenferro` or `jax.numpy`), and inputs; the first is active."""

    name: str
    loss: Callable[[Any], Loss]
    inputs: Callable[[np.random.Generator, int], Arrays]


def general(rng: np.random.Generator, n: int) -> Arrays:
    return (rng.normal(size=(n, n)) + np.sqrt(n) * np.eye(n), rng.normal(size=(n, n)))


def with_vector(rng: np.random.Generator, n: int) -> Arrays:
    return (*general(rng, n)[:1], rng.normal(size=n))


def positive(rng: np.random.Generator, n: int) -> Arrays:
    a, b = general(rng, n)
    return a @ a.T / n + np.eye(n), b


def positive_with_vector(rng: np.random.Generator, n: int) -> Arrays:
    return (*positive(rng, n)[:1], rng.normal(size=n))


def solve(np_like: Any) -> Loss:
    return lambda a, b: (np_like.linalg.solve(a, b) * b).sum()


def solve_and_slogdet(np_like: Any) -> Loss:
    def loss(a: Any, b: Any) -> Any:
        return (np_like.linalg.solve(a, b) * b).sum() + np_like.linalg.slogdet(a)[1]

    return loss


def slogdet(np_like: Any) -> Loss:
    return lambda a, _: np_like.linalg.slogdet(a)[1]


def det(np_like: Any) -> Loss:
    return lambda a, _: np_like.linalg.det(a / a.shape[0] ** 0.5)


def inv(np_like: Any) -> Loss:
    return lambda a, b: (np_like.linalg.inv(a) * b).sum()


def cholesky(np_like: Any) -> Loss:
    return lambda a, b: (np_like.linalg.cholesky(a) * b).sum()


ROWS = [
    Row("solve, 1 right side", solve, with_vector),
    Row("solve, n right sides", solve, general),
    Row("solve and slogdet", solve_and_slogdet, with_vector),
    Row("slogdet", slogdet, general),
    Row("det", det, general),
    Row("inv", inv, general),
    Row("cholesky", cholesky, positive),
]


def contenders(row: Row, size: int, gradient: bool) -> dict[str, Callable[[], Any]]:
    """Compiled functions of both libraries, on buffers that are ready."""
    inputs = row.inputs(np.random.default_rng(0), size)
    ours, theirs = row.loss(tn), row.loss(jnp)
    if gradient:
        ours, theirs = tn.value_and_grad(ours), jax.value_and_grad(theirs)
    mine, peer = tn.jit(ours), jax.jit(theirs)
    tensors = [tn.asarray(tn.jit(lambda x: x + 0)(array)) for array in inputs]
    with jax.enable_x64(True):
        buffers = [jnp.asarray(array) for array in inputs]
        expected = jax.tree.leaves(peer(*buffers))
    found = jax.tree.leaves(mine(*tensors))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-6, atol=1e-6)

    def run_peer() -> Any:
        with jax.enable_x64(True):
            return jax.block_until_ready(peer(*buffers))

    def run_mine() -> Any:
        return jax.block_until_ready([each.data for each in jax.tree.leaves(mine(*tensors))])

    return {"tenferro": run_mine, "JAX": run_peer}


def timed(row: Row, size: int, gradient: bool, rounds: int) -> dict[str, Samples]:
    calls = max(1, 2048 // size)
    made = contenders(row, size, gradient)
    return interleaved({name: repeated(call, calls) for name, call in made.items()}, rounds)


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 128, 512])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args(argv)
    environment()
    ratios, cells = [], []
    for row in ROWS:
        if options.only not in row.name:
            continue
        for size in options.sizes:
            both = timed(row, size, True, options.rounds)
            value = timed(row, size, False, options.rounds)
            ratio = both["tenferro"].over(both["JAX"])
            forward = value["tenferro"].over(value["JAX"])
            ratios.append(ratio)
            times = [both[name].text(digits=0) for name in ("tenferro", "JAX")]
            cells.append((row.name, size, *times, f"{ratio:.2f}", f"{forward:.2f}"))
    columns = ("function", "n", "tenferro, µs", "JAX, µs", "ratio", "value alone")
    table("Value and gradient, float64", columns, cells)
    note(f"geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.3f}")
    verdict("worst ratio", max(ratios), 1.05, 0.95)


if __name__ == "__main__":
    main()
