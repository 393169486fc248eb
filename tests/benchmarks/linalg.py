"""Values, gradients and Hessian-vector products of functions of matrices, against `jax.jit`.

Parts: `gradients` (value and gradient), `second` (value, gradient and Hessian-vector product),
`batches` (10⁴ tiny matrices, values alone). Each row is a loss, written once over `tenferro` and
`jax.numpy`, and its inputs for a size n. Rounds of both are interleaved; the ratio is the median
over rounds, and the ratio of the least times is given besides. Results are compared first.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from support.harness import (
    Samples,
    arguments,
    environment,
    figure,
    geometric_mean,
    interleaved,
    note,
    repeated,
    table,
    verdict,
)

import tenferro as tn

Arrays = tuple[np.ndarray[Any, Any], ...]
Loss = Callable[..., Any]
BATCH = 10_000


@dataclass(frozen=True)
class Row:
    """A loss, made of a library (`tenferro` or `jax.numpy`), and inputs; the first is active."""

    name: str
    loss: Callable[[Any], Loss]
    inputs: Callable[[np.random.Generator, int], Arrays]


def general(rng: np.random.Generator, n: int) -> Arrays:
    return (rng.normal(size=(n, n)) + np.sqrt(n) * np.eye(n), rng.normal(size=(n, n)))


def tall(rng: np.random.Generator, n: int) -> Arrays:
    return rng.normal(size=(2 * n, n)), rng.normal(size=(2 * n, n))


def with_vector(rng: np.random.Generator, n: int) -> Arrays:
    return (*general(rng, n)[:1], rng.normal(size=n))


def positive(rng: np.random.Generator, n: int) -> Arrays:
    a, b = general(rng, n)
    return a @ a.T / n + np.eye(n), b


def positive_with_vector(rng: np.random.Generator, n: int) -> Arrays:
    return (*positive(rng, n)[:1], rng.normal(size=n))


def many(make: Callable[[np.random.Generator, int], Arrays]) -> Any:
    """Inputs of a batch: the matrices alone, or with one right side each."""

    def inputs(rng: np.random.Generator, n: int) -> Arrays:
        a = rng.normal(size=(BATCH, n, n))
        if make is positive:
            a = a @ a.mT + np.eye(n)
        return (a, rng.normal(size=(BATCH, n, 1)))

    return inputs


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


def qr(np_like: Any) -> Loss:
    def loss(a: Any, b: Any) -> Any:
        q, r = np_like.linalg.qr(a)
        return (q * b).sum() + (r * b[: a.shape[1]]).sum()

    return loss


def eigh(np_like: Any) -> Loss:
    def loss(a: Any, b: Any) -> Any:
        w, v = np_like.linalg.eigh(a)
        return ((v * np_like.sin(w)) @ v.mT * b).sum()

    return loss


def svd(np_like: Any) -> Loss:
    def loss(a: Any, b: Any) -> Any:
        u, s, vh = np_like.linalg.svd(a, full_matrices=False)
        return ((u * np_like.sin(s)) @ vh * b).sum()

    return loss


def svdvals(np_like: Any) -> Loss:
    return lambda a, _: np_like.sin(np_like.linalg.svdvals(a)).sum()


def gaussian_process(np_like: Any) -> Loss:
    """The negative logarithm of the likelihood of y, but for a constant."""
    library = tn.linalg if np_like is tn else jsl

    def loss(a: Any, y: Any) -> Any:
        factor, lower = library.cho_factor(a, lower=True)
        logarithm = np_like.log(np_like.diagonal(factor)).sum()
        return 0.5 * (y @ library.cho_solve((factor, lower), y)) + logarithm

    return loss


def square_root(np_like: Any) -> Loss:
    return _spectral(np_like, tn.linalg.sqrtm, jnp.sqrt)


def logarithm(np_like: Any) -> Loss:
    return _spectral(np_like, tn.linalg.logm, jnp.log)


def _spectral(np_like: Any, ours: Callable[..., Any], theirs: Callable[[Any], Any]) -> Loss:
    """JAX has no functions of Hermitian matrices: there they are written with `eigh`."""

    def loss(a: Any, b: Any) -> Any:
        if np_like is tn:
            return (ours(a, assume_a="her") * b).sum()
        w, v = jnp.linalg.eigh(a)
        return ((v * theirs(w)) @ v.mT * b).sum()

    return loss


GRADIENTS = [
    Row("cholesky", cholesky, positive),
    Row("solve, 1 right side", solve, with_vector),
    Row("solve, n right sides", solve, general),
    Row("solve and slogdet", solve_and_slogdet, with_vector),
    Row("slogdet", slogdet, general),
    Row("det", det, general),
    Row("inv", inv, general),
    Row("qr, 2n × n", qr, tall),
    Row("eigh", eigh, positive),
    Row("svd, 2n × n thin", svd, tall),
    Row("svdvals, 2n × n", svdvals, tall),
    Row("Gaussian process", gaussian_process, positive_with_vector),
]
SECOND = [
    Row("Gaussian process", gaussian_process, positive_with_vector),
    Row("sqrtm, Hermitian", square_root, positive),
    Row("logm, Hermitian", logarithm, positive),
]
BATCHES = [
    Row("cholesky", lambda lib: lambda a, _: lib.linalg.cholesky(a), many(positive)),
    Row("solve", lambda lib: lambda a, b: lib.linalg.solve(a, b), many(general)),
    Row("inv", lambda lib: lambda a, _: lib.linalg.inv(a), many(general)),
    Row("det", lambda lib: lambda a, _: lib.linalg.det(a), many(general)),
    Row("eigh", lambda lib: lambda a, _: tuple(lib.linalg.eigh(a)), many(positive)),
]


def value(library: Any, loss: Loss) -> Loss:
    return loss


def value_and_grad(library: Any, loss: Loss) -> Loss:
    result: Loss = library.value_and_grad(loss)
    return result


def with_hvp(library: Any, loss: Loss) -> Loss:
    """Value and gradient, and their derivatives along a fixed direction."""
    gradient = library.value_and_grad(loss)

    def function(a: Any, b: Any) -> Any:
        direction = (a + a.mT) * 0.25 + 1.0
        return library.jvp(lambda x: gradient(x, b), (a,), (direction,))

    return function


class Contenders:
    """Compiled functions of both libraries, on buffers that are ready; and seconds to compile."""

    def __init__(self, row: Row, size: int, wanted: Callable[[Any, Loss], Loss]) -> None:
        inputs = row.inputs(np.random.default_rng(0), size)
        mine, peer = tn.jit(wanted(tn, row.loss(tn))), jax.jit(wanted(jax, row.loss(jnp)))
        tensors = [tn.asarray(tn.jit(lambda x: x + 0)(array)) for array in inputs]
        clock = time.perf_counter()
        found = jax.tree.leaves(mine(*tensors))
        first = time.perf_counter()
        with jax.enable_x64(True):
            buffers = [jnp.asarray(array) for array in inputs]
            expected = jax.block_until_ready(jax.tree.leaves(peer(*buffers)))
        self.seconds = (first - clock, time.perf_counter() - first)
        self.compare(row, found, expected)
        self._mine = lambda: [each.data for each in jax.tree.leaves(mine(*tensors))]
        self._peer = lambda: peer(*buffers)

    @staticmethod
    def compare(row: Row, found: Sequence[Any], expected: Sequence[Any]) -> None:
        """Compare vectors up to signs, and gradients by a positive matrix by their symmetric part.

        JAX's `cho_factor` reads one triangle, tenferro's the symmetric part.
        """
        for one, other in zip(found, expected, strict=True):
            pair = [np.asarray(one), np.asarray(other)]
            if row.loss is gaussian_process and pair[0].ndim == 2:
                pair = [each + each.T for each in pair]
            if row in BATCHES and row.name == "eigh":
                pair = [np.abs(each) for each in pair]
            np.testing.assert_allclose(*pair, rtol=1e-6, atol=1e-6)

    def peer(self) -> Any:
        with jax.enable_x64(True):
            return jax.block_until_ready(jax.tree.leaves(self._peer()))

    def mine(self) -> Any:
        return jax.block_until_ready(self._mine())

    def timed(self, rounds: int) -> dict[str, Samples]:
        """Rounds of about a hundredth of a second."""
        made = {"tenferro": self.mine, "JAX": self.peer}
        once = min(repeated(self.peer, 1)() for _ in range(5))
        calls = max(1, round(0.01 / once))
        return interleaved({name: repeated(call, calls) for name, call in made.items()}, rounds)


@dataclass(frozen=True)
class Part:
    """Rows with what is asked of each, and the bars on geometric mean and worst ratio."""

    title: str
    rows: Sequence[Row]
    wanted: Callable[[Any, Loss], Loss]
    sizes: tuple[int, ...]
    mean: float
    worst: float


PARTS = {
    "gradients": Part(
        "Value and gradient", GRADIENTS, value_and_grad, (32, 128, 512), mean=0.95, worst=1.05
    ),
    "second": Part(
        "Value, gradient, Hessian-vector product", SECOND, with_hvp, (32, 128, 256), 0.8, 0.8
    ),
    "batches": Part(f"{BATCH} matrices, values", BATCHES, value, (2, 3, 4), 0.5, 1.0),
}


def measured(part: Part, row: Row, size: int, rounds: int, forward: bool) -> dict[str, Any]:
    """The figures of one row."""
    contenders = Contenders(row, size, part.wanted)
    times = contenders.timed(rounds)
    mine, peer = times["tenferro"], times["JAX"]
    found: dict[str, Any] = {
        "function": row.name,
        "n": size,
        "tenferro": mine.text(digits=0),
        "JAX": peer.text(digits=0),
        "ratio": mine.over(peer),
        "of least": min(mine.times) / min(peer.times),
        "compile": "{:.2f} / {:.2f}".format(*contenders.seconds),
    }
    if forward:
        times = Contenders(row, size, value).timed(rounds)
        found["value alone"] = times["tenferro"].over(times["JAX"])
    return found


def run(part: Part, options: Any) -> list[dict[str, Any]]:
    """Measure and print a part."""
    found = [
        measured(part, row, size, options.rounds, options.forward)
        for row in part.rows
        if options.only in row.name
        for size in options.sizes or part.sizes
    ]
    if not found:
        return found
    shown = {"tenferro": "tenferro, µs", "JAX": "JAX, µs", "compile": "first call, s"}
    cells = [[f"{x:.2f}" if isinstance(x, float) else x for x in each.values()] for each in found]
    table(f"{part.title}, float64", [shown.get(key, key) for key in found[0]], cells)
    ratios = [each["ratio"] for each in found]
    least = [each["of least"] for each in found]
    for each in found:
        figure(f"{part.title}: {each['function']}, n = {each['n']}", each["ratio"])
    verdict(f"{part.title}: geometric mean", geometric_mean(ratios), part.mean, part.mean)
    verdict(f"{part.title}: the same of least times", geometric_mean(least), part.mean, part.mean)
    verdict(f"{part.title}: worst ratio", max(ratios), part.worst, part.worst)
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments(__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all")
    parser.add_argument("--sizes", type=int, nargs="+", help="those of the part")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--forward", action="store_true", help="time values alone, too")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args(argv)
    environment()
    figures = {name: run(PARTS[name], options) for name in options.parts or PARTS}
    note("ratio: tenferro's time over JAX's, the median over rounds")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
