"""Fifty shapes, one after the other: from the function to its value and gradient at all of them.

Each contender starts from nothing in each round. `jax.jit` traces, differentiates and compiles for
each shape. tenferro with symbolic sizes traces, differentiates and optimizes once and compiles for
each shape; with buckets it compiles for a few sizes, and pads. All compute in 64 bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import Samples, arguments, environment, note, table, verdict

import tenferro as tn
from tenferro_xla import XlaExecutor

Batch = tuple[Any, Any, Any]
Step = Callable[..., Any]
WIDTH = 16


def network(np_like: Any, layers: int) -> Callable[..., Any]:
    def loss(weights: Any, x: Any, y: Any) -> Any:
        h = x
        for layer in range(layers):
            h = np_like.tanh(h @ weights[layer]) + h
            h = h - np_like.mean(h, axis=0)
        error = np_like.sum(h, axis=1) - y
        return np_like.sum(error * error) / x.shape[0]

    return loss


def batches(sizes: Sequence[int], layers: int) -> list[Batch]:
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(WIDTH, WIDTH)) / WIDTH for _ in range(layers)]
    return [(weights, rng.normal(size=(n, WIDTH)), rng.normal(size=n)) for n in sizes]


def with_jax(layers: int) -> Step:
    step = jax.jit(jax.value_and_grad(network(jnp, layers)))

    def fetched(*batch: Any) -> Any:
        with jax.enable_x64(True):
            return jax.device_get(step(*batch))

    return fetched


def with_tenferro(layers: int, executor: XlaExecutor, symbolic: bool) -> Step:
    shapes = {"x": ("n", WIDTH), "y": ("n",)} if symbolic else None
    step = tn.jit(tn.value_and_grad(network(tn, layers)), executor=executor, symbolic=shapes)
    return lambda *batch: jax.tree.map(np.asarray, step(*batch))


def one_round(steps: dict[str, Step], data: Sequence[Batch]) -> dict[str, float]:
    """Seconds of each contender for all shapes; they take turns, shape by shape."""
    seconds = dict.fromkeys(steps, 0.0)
    for batch in data:
        results = {}
        for name, step in steps.items():
            start = time.perf_counter()
            results[name] = step(*batch)
            seconds[name] += time.perf_counter() - start
        for found in results.values():
            jax.tree.map(
                lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11),
                found,
                results["jax.jit"],
            )
    return seconds


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--shapes", type=int, default=50)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()
    environment()
    data = batches([3 * k + 1 for k in range(chosen.shapes)], chosen.layers)
    rounds: list[dict[str, float]] = []
    for _ in range(chosen.rounds):
        executors = {
            "tn.jit": XlaExecutor(),
            "tn.jit, symbolic": XlaExecutor(),
            "tn.jit, powers of two": XlaExecutor(bucketing={"n": "powers_of_two"}),
        }
        steps = {"jax.jit": with_jax(chosen.layers)} | {
            name: with_tenferro(chosen.layers, executor, symbolic=name != "tn.jit")
            for name, executor in executors.items()
        }
        rounds.append(one_round(steps, data))
    found = {name: Samples(tuple(each[name] for each in rounds)) for name in rounds[0]}
    rows: list[list[object]] = []
    for name, samples in found.items():
        row: list[object] = [name, samples.text(1), f"{samples.over(found['jax.jit']):.2f}"]
        if name in executors:
            report = executors[name].explain()
            whole = sum(event.subject.part != "op" for event in report.events)
            row += [f"{rounds[-1][name] - report.seconds:.2f}", whole]
        rows.append(row)
    title = f"{chosen.shapes} shapes, value and gradient of {chosen.layers} layers"
    columns = ["contender", "s [quartiles]", "/ jax.jit", "s outside JAX and XLA", "compiled"]
    table(title, columns, rows)
    for name in executors:
        verdict(f"{name}, over jax.jit", found[name].over(found["jax.jit"]), 1.0, 0.3)
    note("outside: tracing, differentiating, optimizing and calling; the rest is lowering and XLA")


if __name__ == "__main__":
    main()
