"""The cost of building programs: microseconds per op of every stage, beside JAX's traces.

First a chain of many ops, y ← sin(y)·x over and over, at several lengths; then programs of other
shapes. What is compiled is a value together with its pullback, so that stages from `materialize` on
handle more ops than the function has: the column `ops` says how many, for each op of the function.
`SUM` is all stages from the function to the optimized program; printing, hashing and freeing it
come after. Through `make_program` is how users come by programs.

Seconds of the process are what counts; `wall` shows how much other work disturbed. Rounds of
tenferro and JAX are interleaved, and medians are shown with the lowest and the highest sum.
Python's garbage collector is on, as it is for a user, but the modules that were there before are
frozen: one scan of JAX's alone would be 40 µs for each op of a short chain.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import arguments, environment, note, table, verdict

import tenferro as tn
from tenferro.compiler import OptimizerOptions, compile_std_to_exec, optimize
from tenferro.core import (
    compile_graph,
    differentiate,
    interned_count,
    materialize_merge,
    resolve_keys,
    transpose,
)
from tenferro.transforms import AdContext

Laps = dict[str, tuple[float, float, float]]
"""Stage → seconds of the process, seconds by the clock, ops that the stage handles or makes."""
Function = Callable[[Any], Any]

SUMMED = ("record", "linearize", "transpose", "materialize", "slots", "lower", "optimize")
LONGEST_VJP = 10_000  # ops of which JAX traces the pullback in seconds


def chain(library: Any, length: int) -> Function:
    def function(x: Any) -> Any:
        y = x
        for _ in range(length // 2):
            y = library.sin(y) * x
        return y

    return function


def scaled_chain(library: Any, length: int) -> Function:
    def function(x: Any) -> Any:
        y = x
        for _ in range(length // 2):
            y = library.sin(y) * 0.999
        return y

    return function


def fan(library: Any, length: int) -> Function:
    def function(x: Any) -> Any:
        total = x
        for number in range(length // 3):
            total = total + library.tanh(x * float(number))
        return total

    return function


def matmul_chain(library: Any, length: int) -> Function:
    def function(x: Any) -> Any:
        y = x
        for _ in range(length // 2):
            y = library.tanh(y @ x)
        return y

    return function


Make = Callable[[Any, int], Function]
SHAPES: dict[str, tuple[Make, tuple[int, ...]]] = {
    "y ← sin(y)·x": (chain, (8,)),
    "y ← sin(y)·0.999": (scaled_chain, (8,)),
    "Σ tanh(i·x)": (fan, (8,)),
    "y ← tanh(y @ x)": (matmul_chain, (8, 8)),
}


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


def tenferro_laps(function: Function, shape: tuple[int, ...], length: int) -> Laps:
    """Every stage from recording to freeing."""
    before = interned_count()
    watch = compiled_and_dropped(function, shape, length)
    watch.lap("free", watch.laps["slots"][2])
    assert interned_count() == before, "the graph is still there"
    return watch.laps


def compiled_and_dropped(function: Function, shape: tuple[int, ...], length: int) -> Stopwatch:
    """Every stage; the graph dies when this returns, and the watch is running."""
    shapes = AdContext().shapes
    x = tn.TracedTensor.input(shape, "float64", name="x")
    view = resolve_keys()
    gc.collect()
    watch = Stopwatch()
    y = function(x)
    watch.lap("record", length)
    linear = differentiate(view, [y.key], [x.key], ctx=shapes)
    watch.lap("linearize", len(linear.fragment.nodes))
    transposed = transpose(linear, ctx=shapes)
    watch.lap("transpose", len(linear.fragment.nodes))
    (pulled,) = transposed.output_keys
    assert pulled is not None
    graph = materialize_merge(view, [y.key, pulled])
    watch.lap("materialize", len(graph.ops))
    program = compile_graph(graph)
    watch.lap("slots", len(graph.ops))
    metas = [shapes.meta(key) for key in graph.inputs]
    lowered = compile_std_to_exec(program, metas)
    watch.lap("lower", len(graph.ops))
    optimized = optimize(lowered, OptimizerOptions(reroll=False))
    watch.lap("optimize", len(graph.ops))
    text = str(optimized)
    watch.lap("print", len(optimized.instructions))
    assert len(optimized.digest) == 64
    watch.lap("digest", len(optimized.instructions))
    assert text.count("\n") > length / 2
    watch.restart()
    return watch


def program_laps(make: Make, shape: tuple[int, ...], length: int) -> Laps:
    """Programs as users come by them: of a function, and of its gradient."""
    function, spec = make(tn, length), tn.TensorSpec(shape, "float64")
    gradient = tn.grad(lambda x: tn.sum(function(x)))
    gc.collect()
    watch = Stopwatch()
    tn.make_program(function, spec)
    watch.lap("make_program", length)
    tn.make_program(gradient, spec)
    watch.lap("make_program of grad", length)
    return watch.laps


def jax_laps(make: Make, shape: tuple[int, ...], length: int) -> Laps:
    """JAX's trace of the function and, of short ones, of the gradient and value and pullback."""
    point, function = np.ones(shape, np.float32), make(jnp, length)
    gc.collect()
    watch = Stopwatch()
    jax.make_jaxpr(function)(point)
    watch.lap("jax: trace", length)
    if length <= LONGEST_VJP:

        def pullback(x: Any, ct: Any) -> Any:
            value, pull = jax.vjp(function, x)
            return value, pull(ct)

        jax.make_jaxpr(jax.grad(lambda x: jnp.sum(function(x))))(point)
        watch.lap("jax: trace of grad", length)
        jax.make_jaxpr(pullback)(point, point)
        watch.lap("jax: trace of vjp", length)
    return watch.laps


def summed(laps: Laps) -> Laps:
    """The laps with their sum before those that come after the program is made."""
    process, wall, _ = np.sum([laps[stage] for stage in SUMMED], axis=0)
    total = {"SUM": (float(process), float(wall), laps["slots"][2])}
    first = {stage: laps[stage] for stage in SUMMED}
    return first | total | {stage: lap for stage, lap in laps.items() if stage not in first}


class Measured:
    """Medians over rounds of one program, tenferro and JAX in turn."""

    def __init__(self, make: Make, shape: tuple[int, ...], length: int, rounds: int) -> None:
        function = make(tn, length)
        found = [
            summed(tenferro_laps(function, shape, length))
            | program_laps(make, shape, length)
            | jax_laps(make, shape, length)
            for _ in range(rounds)
        ]
        self.length = length
        self.sums = [laps["SUM"][0] / length * 1e6 for laps in found]
        self.laps: Laps = {}
        for stage in found[0]:
            process, wall, ops = np.median([laps[stage] for laps in found], axis=0)
            self.laps[stage] = float(process), float(wall), float(ops)

    def per_op(self, stage: str) -> str:
        """Microseconds per op of the function."""
        return f"{self.laps[stage][0] / self.length * 1e6:.2f}" if stage in self.laps else "–"

    def spread(self) -> str:
        """The lowest and the highest sum."""
        return f"[{min(self.sums):.0f}, {max(self.sums):.0f}] of {len(self.sums)}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, nargs="+", default=[7, 3, 3], help="for each length")
    parser.add_argument("--shapes", type=int, default=1_000, help="ops of the other programs")
    parser.add_argument("--bounds", type=float, nargs="+", default=[60, 70, 80], help="of the SUM")
    parser.add_argument("--no-gc", action="store_true", help="turn the garbage collector off")
    chosen = parser.parse_args()
    if chosen.no_gc:
        gc.disable()
    rounds, bounds = (
        stretched(values, chosen.lengths) for values in (chosen.rounds, chosen.bounds)
    )
    environment()
    for make, shape in SHAPES.values():
        Measured(make, shape, 100, 1)
    gc.collect()
    gc.freeze()
    other = {
        name: Measured(make, shape, chosen.shapes, chosen.rounds[0])
        for name, (make, shape) in SHAPES.items()
    }
    sizes = [
        Measured(chain, (8,), length, count)
        for length, count in zip(chosen.lengths, rounds, strict=True)
    ]
    show_sizes(sizes)
    show_shapes(other)
    for measured, bound in zip(sizes, bounds, strict=True):
        total = float(np.median(measured.sums))
        note(f"{measured.length:,} ops: SUM {total:.0f} µs {measured.spread()}")
        verdict(f"µs an op of {measured.length:,}", total, bound, bound)


def stretched(values: list[Any], lengths: list[int]) -> list[Any]:
    """One value for each length; the last one serves the lengths that have none."""
    return [values[min(place, len(values) - 1)] for place in range(len(lengths))]


def show_sizes(sizes: list[Measured]) -> None:
    first, last = sizes[0], sizes[-1]
    rows: list[list[object]] = []
    for stage in first.laps:
        longest = next(measured for measured in reversed(sizes) if stage in measured.laps)
        process, wall, ops = longest.laps[stage]
        grown = process / longest.length / (first.laps[stage][0] / first.length)
        rows.append(
            [
                stage,
                *(measured.per_op(stage) for measured in sizes),
                f"{wall / longest.length * 1e6:.2f}",
                f"{grown:.2f}" if longest is last else "–",
                f"{ops / longest.length:.1f}",
                f"{process / ops * 1e6:.2f}",
            ]
        )
    lengths = [f"{measured.length:,}" for measured in sizes]
    columns = ["µs per op of the chain", *lengths, "wall", "growth", "ops", "µs/op"]
    table("y ← sin(y)·x: tenferro's stages, and JAX", columns, rows)


def show_shapes(shapes: Mapping[str, Measured]) -> None:
    stages = next(iter(shapes.values())).laps
    rows = [[stage, *(measured.per_op(stage) for measured in shapes.values())] for stage in stages]
    rows.append(["SUM, spread", *(measured.spread() for measured in shapes.values())])
    table("other programs, µs per op of the function", ["stage", *shapes], rows)


if __name__ == "__main__":
    main()
