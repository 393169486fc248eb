"""What contractions cost on this machine: `tenferro_xla.contractions.Costs` and `LayoutCosts`.

Each number is fitted to a few products and copies, by the least time of many calls, on as many
threads as XLA takes: of values that are in a cache. The defaults of `part`, `moved`, `move`,
`repeat` and `complex_matrix` are two to six times as large, fitted to whole networks, whose values
come from memory; to compare machines, scale those defaults by these figures. Give the result to
`XlaExecutor(contraction_costs=Costs(...))` and `OptimizerOptions(layout_costs=LayoutCosts(...))`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from support.harness import arguments, environment, note, table
from tenferro_xla.contractions import CPU, Costs, Factor, Split

from tenferro.compiler import LayoutCosts
from tenferro_xla.lowering import LoweringOptions, lower

SHAPES = [(256, 256, 256), (4096, 64, 64), (512, 64, 512), (2048, 32, 128)]
LAYERS = [(512, 512), (256, 1024), (1024, 128)]


def least(call: Callable[[], Any], seconds: float) -> float:
    """The least time of a call within some seconds."""
    call()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        jax.block_until_ready(call())
        best = min(best, time.perf_counter() - start)
    return best


def numbers(*shape: int) -> jax.Array:
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    return lax.dot(a, b, precision=lax.Precision.HIGHEST)


def products(seconds: float) -> tuple[float, float, float]:
    """Seconds for each multiplication and addition: of complex numbers as they are and as real
    ones, and of real numbers. What narrow shapes take longer is left out as `edge` has it."""
    native, real, plain = [], [], []
    dot = jax.jit(product)
    for m, n, k in SHAPES:
        a, b = numbers(m, k), numbers(k, n)
        rows, block = jnp.zeros((m, 2 * k)) + 0.5, jnp.zeros((2 * k, 2 * n)) + 0.5
        arithmetic = m * n * k
        native.append(least(lambda a=a, b=b: dot(a, b), seconds) / (arithmetic * edges(m, n, k)))
        took = least(lambda a=rows, b=block: dot(a, b), seconds)
        real.append(took / (arithmetic * edges(m, 2 * n, 2 * k)))
        took = least(lambda a=a.real, b=b.real: dot(a, b), seconds)
        plain.append(took / (2 * arithmetic * edges(m, n, k)))
    return statistics.median(native), statistics.median(real), statistics.median(plain)


def edges(m: int, n: int, k: int) -> float:
    return CPU.edges(m, n, k)


def batches(seconds: float) -> tuple[float, float]:
    """Seconds for each further matrix of a batch, real and complex."""
    batch = jax.jit(lambda a, b: lax.batch_matmul(a, b, precision=lax.Precision.HIGHEST))
    a, b = numbers(2000, 4, 4), numbers(2000, 4, 4)
    real = least(lambda: batch(a.real, b.real), seconds) / 2000
    return real, least(lambda: batch(a, b), seconds) / 2000


def moves(seconds: float) -> tuple[float, float]:
    """Seconds for each number of a transpose, and of a value written repeatedly."""
    turn = jax.jit(lambda x: lax.optimization_barrier(lax.transpose(x, (1, 0, 2))))
    spread = jax.jit(lambda x: lax.broadcast_in_dim(x, (64, *x.shape), (1, 2)))
    turned, written = [], []
    for shape in [(113, 19, 19), (256, 256, 16), (1900, 16, 16), (16, 8192, 8)]:
        x = jnp.zeros(shape) + 0.5
        turned.append(least(lambda x=x: turn(x), seconds) / x.size)
    for matrix in [(19, 19), (64, 64), (128, 64)]:
        x = jnp.zeros(matrix) + 0.5
        written.append(least(lambda x=x: spread(x), seconds) / (64 * x.size))
    return statistics.median(turned), statistics.median(written)


def copies(seconds: float) -> tuple[float, float]:
    """Seconds for each real number of a factor, and of a transpose of parts."""
    options = LoweringOptions()
    factor = jax.jit(lambda x: lower(Factor(0, 1), [x], options)[0])
    split = jax.jit(lambda x: lower(Split(), [x], options)[0])
    turned = jax.jit(lambda x: lax.transpose(x, (1, 0, 2)))
    part, moved = [], []
    for shape in LAYERS:
        x = numbers(*shape)
        parts = split(x)
        part.append(least(lambda x=x: factor(x), seconds) / (4 * x.size))
        part.append(least(lambda x=x: split(x), seconds) / (2 * x.size))
        moved.append(least(lambda x=parts: turned(x), seconds) / (2 * x.size))
    return statistics.median(part), statistics.median(moved)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each number")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)  # this process is JAX's as well
    environment()
    native, real, flop = products(options.seconds)
    part, moved = copies(options.seconds)
    matrix, complex_matrix = batches(options.seconds)
    move, repeat = moves(options.seconds)
    show(Costs(native=native, real=real, part=part, moved=moved, matrix=matrix), CPU)
    show(
        LayoutCosts(
            flop=flop, matrix=matrix, complex_matrix=complex_matrix, move=move, repeat=repeat
        ),
        LayoutCosts(),
    )


def show(found: Costs | LayoutCosts, default: Costs | LayoutCosts) -> None:
    """A table of what was measured, and a line to copy."""
    names = [
        field.name
        for field in fields(found)
        if getattr(found, field.name) != getattr(default, field.name)
    ]
    rows = [
        [name, f"{getattr(found, name):.2e}", f"{getattr(default, name):.2e}"] for name in names
    ]
    kind = type(found).__name__
    table(f"{kind}: seconds", ["", "here", "default"], rows)
    note(f"{kind}({', '.join(f'{name}={getattr(found, name):.2g}' for name in names)})")


if __name__ == "__main__":
    main()
