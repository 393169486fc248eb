"""What contractions cost on this machine: the numbers of `tenferro_xla.contractions.Costs`.

Each number is fitted to a few products and copies, by the least time of many calls, on one thread
or as many as XLA takes. Give what is printed to `XlaExecutor(contraction_costs=Costs(...))`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from support.harness import arguments, environment, note, table

from tenferro_xla.contractions import CPU, Costs, Factor, Split
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


def products(seconds: float) -> tuple[float, float]:
    """Seconds for each multiplication of complex numbers: as they are, and as real ones."""
    native, real = [], []
    dot = jax.jit(product)
    for m, n, k in SHAPES:
        a, b = numbers(m, k), numbers(k, n)
        rows, block = jnp.zeros((m, 2 * k)) + 0.5, jnp.zeros((2 * k, 2 * n)) + 0.5
        native.append(least(lambda a=a, b=b: dot(a, b), seconds) / (m * n * k))
        real.append(least(lambda a=rows, b=block: dot(a, b), seconds) / (m * n * k))
    return statistics.median(native), statistics.median(real)


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
    native, real = products(options.seconds)
    part, moved = copies(options.seconds)
    found = Costs(native=native, real=real, part=part, moved=moved)
    names = ["native", "real", "part", "moved"]
    table(
        "seconds",
        ["", "here", "default"],
        [[name, f"{getattr(found, name):.2e}", f"{getattr(CPU, name):.2e}"] for name in names],
    )
    note(f"Costs({', '.join(f'{name}={getattr(found, name):.2g}' for name in names)})")


if __name__ == "__main__":
    main()
