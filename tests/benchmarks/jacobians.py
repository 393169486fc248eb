"""Jacobians, Hessians and gradients for each example, against `jax.jit`.

Parts: `dense` (`jacfwd` and `jacrev` of a network of three layers `tanh(W x)`, and `hessian` of the
sum of its squared results), `examples` (the gradient by the weights for each of 256 examples of
size 32), `tracing` (what `vmap` adds for each op). The first result is from the function to a
value, from empty caches. Rounds of both are interleaved; the ratio is the median over rounds.
Results are compared first. All is in 64 bits.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from support.harness import arguments, environment, interleaved, note, repeated, table, verdict
from support.pairs import Function, Make, Pair, compared

import tenferro as tn

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
