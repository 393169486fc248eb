"""A chain of many ops: microseconds per op of every stage, beside JAX's trace of the same chain.

The chain is y ← sin(y)·x, over and over. What is compiled is its value together with its pullback,
so that stages from `materialize` on handle more ops than the chain has: the column `ops` says how
many, for each op of the chain. Seconds of the process are what counts; `wall` shows how much other
work disturbed. Python's garbage collector is on, as it is for a user, but the modules that were
there before are frozen: one scan of JAX's alone would be 40 µs for each op of a short chain.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import arguments, environment, note, table

import tenferro as tn
from tenferro.autodiff import differentiate, transpose
from tenferro.compiler import compile_std_to_exec, optimize
from tenferro.computegraph import compile_graph, interned_count, materialize_merge, resolve_keys
from tenferro.traced import AdContext

Laps = dict[str, tuple[float, float, float]]
"""Stage → seconds of the process, seconds by the clock, ops that the stage handles or makes."""


class Stopwatch:
    def __init__(self) -> None:
        self.laps: Laps = {}
        self.restart()

    def restart(self) -> None:
        self._start = time.process_time(), time.perf_counter()

    def lap(self, name: str, ops: float) -> None:
        process, wall = self._start
        self.laps[name] = time.process_time() - process, time.perf_counter() - wall, ops
        self.restart()


def chain(sin: Callable[[Any], Any], length: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        y = x
        for _ in range(length // 2):
            y = sin(y) * x
        return y

    return function


def tenferro_laps(length: int) -> Laps:
    """Every stage from building to freeing."""
    before = interned_count()
    watch = compiled_and_dropped(length)
    watch.lap("free", watch.laps["compile_graph"][2])
    assert interned_count() == before, "the graph is still there"
    return watch.laps


def compiled_and_dropped(length: int) -> Stopwatch:
    """Every stage; the graph dies when this returns, and the watch is running."""
    shapes = AdContext().shapes
    x = tn.TracedTensor.input((8,), "float64", name="x")
    view = resolve_keys()
    gc.collect()
    watch = Stopwatch()
    y = chain(tn.sin, length)(x)
    watch.lap("build", length)
    linear = differentiate(view, [y.key], [x.key], ctx=shapes)
    watch.lap("differentiate", len(linear.fragment.ops))
    transposed = transpose(linear, ctx=shapes)
    watch.lap("transpose", len(linear.fragment.ops))
    (pulled,) = transposed.output_keys
    assert pulled is not None
    graph = materialize_merge(view, [y.key, pulled])
    watch.lap("materialize", len(graph.ops))
    program = compile_graph(graph)
    watch.lap("compile_graph", len(graph.ops))
    metas = [key.analysis for key in graph.inputs]
    lowered = compile_std_to_exec(program, metas)
    watch.lap("lower", len(graph.ops))
    optimized = optimize(lowered)
    watch.lap("optimize", len(graph.ops))
    text = str(optimized)
    watch.lap("print", len(optimized.instructions))
    assert len(optimized.digest) == 64
    watch.lap("digest", len(optimized.instructions))
    assert text.count("\n") > length
    watch.restart()
    return watch


def jax_laps(length: int) -> Laps:
    """JAX's trace of the chain, and, for short ones, of its value and pullback."""
    point = np.ones(8, np.float32)
    gc.collect()
    watch = Stopwatch()
    jax.make_jaxpr(chain(jnp.sin, length))(point)
    watch.lap("jax: trace", length)
    jax.make_jaxpr(chain(jax.lax.sin, length))(point)
    watch.lap("jax: trace, lax", length)
    if length <= 10_000:

        def pullback(x: Any, ct: Any) -> Any:
            value, pull = jax.vjp(chain(jnp.sin, length), x)
            return value, pull(ct)

        watch.restart()
        jax.make_jaxpr(pullback)(point, point)
        watch.lap("jax: trace of vjp", length)
    return watch.laps


def measured(length: int, rounds: int) -> Laps:
    """Medians over rounds, tenferro and JAX in turn."""
    found = [tenferro_laps(length) | jax_laps(length) for _ in range(rounds)]
    medians = {}
    for stage in found[0]:
        process, wall, ops = np.median([laps[stage] for laps in found], axis=0)
        medians[stage] = float(process), float(wall), float(ops)
    return medians


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, nargs="+", default=[7, 3, 1], help="for each length")
    parser.add_argument("--bound", type=float, default=20.0, help="µs per op of the chain")
    parser.add_argument("--no-gc", action="store_true", help="turn the garbage collector off")
    chosen = parser.parse_args()
    if chosen.no_gc:
        gc.disable()
    environment()
    measured(100, 1)
    gc.collect()
    gc.freeze()
    sizes = {
        length: measured(length, rounds)
        for length, rounds in zip(chosen.lengths, chosen.rounds, strict=True)
    }
    show(sizes, chosen.bound)


def show(sizes: dict[int, Laps], bound: float) -> None:
    first, last = min(sizes), max(sizes)
    rows: list[list[object]] = []
    for stage in sizes[first]:
        per_op = {n: laps[stage][0] / n * 1e6 for n, laps in sizes.items() if stage in laps}
        seconds, wall, ops = sizes[max(per_op)][stage]
        rows.append(
            [
                stage,
                *(f"{per_op[n]:.2f}" if n in per_op else "–" for n in sizes),
                f"{wall / max(per_op) * 1e6:.2f}",
                f"{per_op[last] / per_op[first]:.2f}" if last in per_op else "–",
                f"{ops / max(per_op):.1f}",
                f"{seconds / ops * 1e6:.2f}",
            ]
        )
    columns = [
        "µs per op of the chain",
        *(f"{n:,}" for n in sizes),
        "wall",
        "growth",
        "ops",
        "µs/op",
    ]
    table("tenferro's stages, and JAX", columns, rows)
    for length, laps in sizes.items():
        dear = [
            stage
            for stage, (seconds, _, _) in laps.items()
            if not stage.startswith("jax") and seconds / length * 1e6 > bound
        ]
        note(f"{length:,} ops: dearer than {bound:g} µs per op: {', '.join(dear) or 'none'}")


if __name__ == "__main__":
    main()
