"""Loops written out: time to the first result of a gradient, and the cost of the pass `Reroll`.

A gradient through RK4 steps of y' = tanh(A y) is written as a Python loop, and traced, rolled and
compiled; JAX compiles the same as a `lax.scan`. Tracing takes time for each step, so it is shown
apart. The second table has the time of the pass for each instruction, for programs that roll and
for programs that do not. The third has chains whose tensors are read from one array: without
`PadsToConcatenate`, the memory of their gradients grows with the square of the length.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import arguments, environment, table, verdict

import tenferro as tn
from tenferro.compiler import OptimizerOptions, Reroll, predict_memory
from tenferro.ir import ExecBuilder, ExecProgram
from tenferro.ops import ADD, COS, MUL, SIN, TANH
from tenferro.shape import TensorMeta

UNROLLED = OptimizerOptions(reroll=False)
SIZE = 8
RNG = np.random.default_rng(0)
MATRIX, VECTOR = RNG.normal(size=(SIZE, SIZE)) / 2, np.ones(SIZE)


def rk4_step(library: Any, a: Any, y: Any) -> Any:
    def slope(y: Any) -> Any:
        return library.tanh(a @ y)

    k1 = slope(y)
    k2 = slope(y + 0.005 * k1)
    k3 = slope(y + 0.005 * k2)
    k4 = slope(y + 0.01 * k3)
    return y + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def written_out(steps: int) -> Callable[[Any, Any], Any]:
    def solve(a: Any, y: Any) -> Any:
        for _ in range(steps):
            y = rk4_step(tn, a, y)
        return tn.sum(y)

    return solve


def scanned(steps: int) -> Callable[[Any, Any], Any]:
    def solve(a: Any, y: Any) -> Any:
        def body(y: Any, _: None) -> tuple[Any, None]:
            return rk4_step(jnp, a, y), None

        return jnp.sum(jax.lax.scan(body, y, None, length=steps)[0])

    return solve


def chain(tensors: Any) -> Any:
    value = tn.ones(3)
    for number in range(tensors.shape[0]):
        value = tn.tanh(value @ tensors[number])
    return tn.sum(value)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def again(call: Callable[[], Any]) -> float:
    """Median seconds of a call whose result is awaited."""
    return float(np.median([timed(lambda: np.asarray(call()))[0] for _ in range(20)]))


def first_results(steps: int) -> list[object]:
    """A row: the gradient of so many steps."""
    gradient = tn.grad(written_out(steps))
    tracing, program = timed(
        lambda: tn.make_program(gradient, MATRIX, VECTOR, options=UNROLLED).exec_program
    )
    passing, rolled = timed(lambda: Reroll().run(program))
    function = tn.jit(tn.grad(written_out(steps)))
    first, value = timed(lambda: np.asarray(function(MATRIX, VECTOR)))
    with jax.enable_x64(True):
        peer = jax.jit(jax.grad(scanned(steps)))
        scan, expected = timed(lambda: np.asarray(peer(MATRIX, VECTOR)))
        scan_again = again(lambda: peer(MATRIX, VECTOR))
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    return [
        f"{steps:,}",
        f"{len(program.instructions):,}",
        len(rolled.instructions),
        f"{tracing:.2f}",
        f"{passing:.2f}",
        f"{first:.2f}",
        f"{scan:.2f}",
        f"{(first - tracing) / scan:.2f}",
        f"{again(lambda: function(MATRIX, VECTOR)) * 1e3:.2f}",
        f"{scan_again * 1e3:.2f}",
    ]


def random_program(length: int, wiring_only: bool) -> ExecProgram:
    """A program that does not roll: without rhythm, or with rhythm and random operands."""
    rng, builder = random.Random(0), ExecBuilder()
    values = [builder.input(TensorMeta.of("f64", (SIZE,)))]
    for number in range(length // 2):
        one, two = (SIN, ADD) if wiring_only else (rng.choice((SIN, COS, TANH)), MUL)
        values += builder.add(one, [values[-1]])
        values += builder.add(two if number % 3 else ADD, [values[-1], rng.choice(values)])
    return builder.build([values[-1]])


def cost_of_the_pass(name: str, program: ExecProgram) -> list[object]:
    """A row: microseconds of the process for each instruction."""
    times = []
    for _ in range(3):
        gc.collect()
        start = time.process_time()
        result = Reroll().run(program)
        times.append((time.process_time() - start) / len(program.instructions) * 1e6)
    count = len(program.instructions)
    return [name, f"{count:,}", f"{len(result.instructions):,}", f"{np.median(times):.1f}"]


VARIANTS = {
    "as differentiated": OptimizerOptions(reroll=False, pads_to_concatenate=False),
    "windows joined": UNROLLED,
    "rolled": OptimizerOptions(),
}


def memory_of_a_chain(length: int, variant: str) -> list[object]:
    """A row: the predicted peak of the gradient of a chain, and the bytes of all its results."""
    tensors, options = np.ones((length, 3, 3)), VARIANTS[variant]
    program = tn.make_program(tn.grad(chain), tensors, options=options).exec_program
    written = sum(
        int(np.prod(meta.static_shape or ())) * meta.dtype.itemsize for _, meta in program.results()
    )
    peak = predict_memory(program).peak
    count = len(program.instructions)
    return [length, variant, f"{count:,}", f"{peak / 1e3:,.0f}", f"{written / 1e3:,.0f}"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--steps", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--lengths", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--sites", type=int, nargs="+", default=[100, 400])
    chosen = parser.parse_args()
    environment()
    first_results(20)
    columns = ["steps", "instructions", "rolled", "trace s", "pass s", "first s", "JAX scan s"]
    columns += ["(first-trace)/scan", "again ms", "JAX ms"]
    first_rows = [first_results(steps) for steps in chosen.steps]
    table("gradient through RK4 steps, written out; JAX: as a scan", columns, first_rows)
    costs = []
    for length in chosen.lengths:
        steps = length // 57
        program = tn.make_program(tn.grad(written_out(steps)), MATRIX, VECTOR, options=UNROLLED)
        costs.append(cost_of_the_pass("RK4, gradient", program.exec_program))
        costs.append(cost_of_the_pass("no rhythm", random_program(length, False)))
        costs.append(cost_of_the_pass("random operands", random_program(length, True)))
    table("the pass", ["program", "instructions", "after", "µs for each"], costs)
    rows = [memory_of_a_chain(length, each) for length in chosen.sites for each in VARIANTS]
    table("gradient of a chain", ["sites", "", "instructions", "peak kB", "written kB"], rows)
    for row in first_rows:
        verdict(f"{row[0]} steps, (first - trace) over a scan", float(str(row[7])), 3.0, 1.0)
    for name, count, _, cost in costs:
        verdict(f"µs of the pass for each of {count} instructions, {name}", float(str(cost)), 20, 5)


if __name__ == "__main__":
    main()
