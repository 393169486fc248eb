"""Jacobians, Hessians and gradients for each example, against `jax.jit`.

Parts: `dense` (`jacfwd` and `jacrev` of a network of three layers `tanh(W x)`, and `hessian` of the
sum of its squared results), `examples` (the gradient by the weights for each of 256 examples of
size 32), `tracing` (what `vmap` adds for each op). The first result is from the function to a
value, from empty caches. Rounds of both are interleaved; the ratio is the median over rounds.
Results are compared first. All is in 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
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
from tenferro_xla import XlaExecutor

Function = Callable[..., Any]
Make = Callable[[Any, Any], Function]
"""Makes a function from a library and its module of arrays."""
LAYERS = 3


def weights(n: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, n)) / np.sqrt(n) for _ in range(LAYERS)]


def point(n: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).normal(size=n)


def network(np_like: Any, layers: Any, x: Any) -> Any:
    for layer in layers:
        x = np_like.tanh(layer @ x)
    return x


def dense(name: str) -> Make:
    """`jacfwd`, `jacrev` or `hessian` as a function of the argument and the weights."""

    def make(library: Any, np_like: Any) -> Function:
        def value(x: Any, *layers: Any) -> Any:
            out = network(np_like, layers, x)
            return np_like.sum(out * out) if name == "hessian" else out

        return getattr(library, name)(value)  # type: ignore[no-any-return]

    return make


def per_example(library: Any, np_like: Any) -> Function:
    def loss(x: Any, y: Any, *layers: Any) -> Any:
        return np_like.sum((network(np_like, layers, x) - y) ** 2)

    gradient = library.grad(loss, argnums=(2, 3, 4))
    return library.vmap(gradient, (0, 0, None, None, None))  # type: ignore[no-any-return]


class Pair:
    """One function compiled by both, on arrays of each; their results agree."""

    def __init__(self, make: Make, operands: tuple[Any, ...]) -> None:
        self.make, self.host = make, operands
        self.peers = jax.tree.map(jnp.asarray, operands)
        executor = XlaExecutor()
        self.operands = tn.jit(lambda *given: given, executor=executor)(*operands)
        self.compiled = tn.jit(make(tn, tn), executor=executor)
        self.peer = jax.jit(make(jax, jnp))
        pairs = zip(
            jax.tree.leaves(self.compiled(*self.operands)),
            jax.tree.leaves(self.peer(*self.peers)),
            strict=True,
        )
        for mine, other in pairs:
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)

    def run(self, rounds: int, calls: int) -> dict[str, Samples]:
        """Seconds for a call."""
        contenders = {
            "tenferro": repeated(lambda: wait(self.compiled(*self.operands)), calls),
            "jax": repeated(lambda: jax.block_until_ready(self.peer(*self.peers)), calls),
        }
        return interleaved(contenders, rounds)

    def first(self, rounds: int) -> dict[str, Samples]:
        """Seconds from the function to its first result."""

        def mine() -> object:
            jax.clear_caches()
            fresh = tn.jit(self.make(tn, tn), executor=XlaExecutor())
            return wait(fresh(*self.host))

        def other() -> object:
            jax.clear_caches()
            return jax.block_until_ready(jax.jit(self.make(jax, jnp))(*self.peers))

        contenders = {"tenferro": repeated(mine, 1), "jax": repeated(other, 1)}
        return interleaved(contenders, rounds)

    def instructions(self) -> int:
        program = self.compiled.program(*self.operands)  # type: ignore[attr-defined]
        return len(program.exec_program.instructions)


def wait(values: Any) -> object:
    """The arrays of a result, computed."""
    if isinstance(values, tuple):
        return jax.block_until_ready([value.data for value in values])
    return values.data.block_until_ready()


def compared(title: str, rows: dict[str, Pair], bound: float, first: float, how: Any) -> None:
    """Print a table of runs and first results, and whether the bounds are kept."""
    lines: list[list[object]] = []
    ratios: dict[str, tuple[float, float]] = {}
    for name, pair in rows.items():
        again, once = pair.run(how.rounds, how.calls), pair.first(how.first)
        ratios[name] = again["tenferro"].over(again["jax"]), once["tenferro"].over(once["jax"])
        lines.append(
            [name, again["tenferro"].text(), again["jax"].text(), f"{ratios[name][0]:.2f}",
             once["tenferro"].text(1e3, 0), once["jax"].text(1e3, 0), f"{ratios[name][1]:.2f}",
             pair.instructions()]
        )  # fmt: skip
    columns = [
        "", "tn µs [quartiles]", "jax µs [quartiles]", "ratio",
        "first: tn ms", "jax ms", "ratio", "instr.",
    ]  # fmt: skip
    table(title, columns, lines)
    for name, (again_ratio, first_ratio) in ratios.items():
        verdict(f"{name}, run", again_ratio, bound, 1.0)
        verdict(f"{name}, first result", first_ratio, first, 1.0)


def jacobians(how: Any) -> None:
    for n in how.sizes:
        rows = {
            f"{name} {n}": Pair(dense(name), (point(n), *weights(n)))
            for name in ("jacfwd", "jacrev", "hessian")
        }
        compared(f"Three layers tanh(W x), n = {n}", rows, 1.1, 1.0, how)


def examples(how: Any) -> None:
    rng = np.random.default_rng(2)
    operands = (*rng.normal(size=(2, 256, 32)), *weights(32))
    rows = {"gradients 256 x 32": Pair(per_example, operands)}
    compared("Gradients by the weights for each example", rows, 1.1, 1.0, how)


def tracing(how: Any) -> None:
    """Print what `vmap` adds to the tracing of a long function, for each op of it."""
    ops = 400

    def chain(x: Any, w: Any) -> Any:
        for _ in range(ops // 4):
            x = tn.tanh(w @ x) * x + 1.0
        return x

    x, w = (tn.TracedTensor.input(shape, "float64") for shape in ((16,), (16, 16)))
    batch = tn.TracedTensor.input((8, 16), "float64")
    found = interleaved(
        {
            "alone": repeated(lambda: chain(x, w), 1),
            "mapped": repeated(lambda: tn.vmap(chain, (0, None))(batch, w), 1),
        },
        how.rounds,
    )
    added = (found["mapped"].median - found["alone"].median) / ops * 1e6
    table(
        "Tracing a function of 400 ops",
        ["", "ms [quartiles]"],
        [[name, samples.text(1e3)] for name, samples in found.items()],
    )
    verdict("microseconds that vmap adds for each op", added, 10.0, 10.0)


PARTS = {"dense": jacobians, "examples": examples, "tracing": tracing}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=100, help="calls in a round")
    parser.add_argument("--first", type=int, default=3, help="rounds of first results")
    chosen = parser.parse_args()
    environment()
    note("ratios are to jax.jit, in 64 bits")
    with jax.enable_x64(True):
        for part in chosen.parts:
            PARTS[part](chosen)


if __name__ == "__main__":
    main()
