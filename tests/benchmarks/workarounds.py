"""What each workaround for XLA on the CPU is worth: programs with it, over the same without it.

`tenferro_xla.platforms.cpu` lists the workarounds; one whose figures are all near 1 is to go.
Times are seconds of the process's CPUs, rounds interleaved; run it on one core (`taskset -c 1`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from support.harness import arguments, environment, figure, interleaved, repeated, table

import tenferro as tn
from tenferro_xla import XlaExecutor

RNG = np.random.default_rng(0)


def real(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape)


def parts(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def layers(w1: Any, w2: Any, x: Any, y: Any) -> Any:
    return tn.sum((tn.tanh(x @ w1) @ w2 - y) ** 2)


def polynomials(x: Any, y: Any) -> Any:
    """A product of two polynomials on a grid."""

    def horner(z: Any) -> Any:
        value = z
        for _ in range(8):
            value = value * z + 1.0
        return value

    return horner(x)[:, None] * horner(y)[None, :]


def waves(x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        return x + 0.1 * (sum(tn.roll(x, by, axis) for by in (1, -1) for axis in (0, 1)) - 4 * x)

    return tn.fori_loop(0, 200, step, x)


def heat(x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        wide = tn.pad(x, 1, mode="wrap")
        places = [(a, b) for a in range(3) for b in range(3)]
        return sum(wide[a : a + 128, b : b + 128] for a, b in places) / 9

    return tn.fori_loop(0, 200, step, x)


def phases(state: Any, *gates: Any) -> Any:
    """A diagonal layer of a circuit: each gate has a phase for each state of two qubits."""
    product, count = 1.0, state.ndim
    for number, gate in enumerate(gates):
        shape = [1] * count
        shape[number % count] = shape[(7 * number + 3) % count] = 2
        product = product * gate.reshape(shape)
    return tn.sum(state * product)


def searched(x: Any, knots: Any, values: Any) -> Any:
    places = tn.clip(tn.searchsorted(knots, x) - 1, 0, knots.shape[0] - 2)
    return tn.sum(values[places] * (x - knots[places]))


@dataclass(frozen=True)
class Row:
    """A program, and the options and settings that leave the workaround out."""

    workaround: str
    program: str
    function: Callable[..., Any]
    operands: tuple[Any, ...]
    options: dict[str, bool] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


WEIGHTS = real(1024, 1024), real(1024, 512)
LAYERS = tn.grad(layers, argnums=(0, 1))
BARRIERS, PRODUCTS = {"transpose_barriers": False}, {"materialized_products": False}
QUOTIENTS, INDICES = {"fused_quotients": False}, {"materialized_indices": False}
STENCILS = {"rolls_to_slices": False, "stored_borders": False}
SILU = tn.grad(lambda x, y: tn.sum(tn.nn.silu(x / (1 + y * y))), argnums=(0, 1))
COMPLEX, POOL = {"real_contractions": False}, {"kept_bytes": 0}
OVERLAP = tn.grad(lambda x, y: tn.sum(tn.abs(x @ y) ** 2), argnums=(0, 1))

ROWS = [
    Row("TransposeBarriers", f"gradient of two layers, batch {batch}", LAYERS,
        (*WEIGHTS, real(batch, 1024), real(batch, 512)), BARRIERS)
    for batch in (8, 32, 256)
] + [
    *(
        Row("FusedQuotients", f"gradient of silu(x / (1 + y²)), {size} of {dtype}", SILU,
            tuple(real(size).astype(dtype) for _ in range(2)), QUOTIENTS)
        for dtype in ("float64", "float32")
        for size in (10_000, 1_000_000)
    ),
    Row("MaterializedIndices", "gradient of 100 000 searches among 300", tn.grad(searched, 2),
        (real(100_000), np.sort(real(300)), real(300)), INDICES),
    Row("RollsToSlices", "200 steps of a wave, 128 by 128", waves, (real(128, 128),), STENCILS),
    Row("StoredBorders", "200 steps of heat, 128 by 128", heat, (real(128, 128),), STENCILS),
    Row("RealDivisors", "rows of 10 000 complex numbers over their norms",
        lambda x: x / tn.sqrt(1 + tn.sum(tn.abs(x) ** 2, axis=1, keepdims=True)),
        (parts(500, 20),), {"real_divisors": False}),
    Row("MaterializedFunctions", "gradient of the variance of 10 000 phases",
        tn.grad(lambda x: tn.var(tn.exp(1j * x))), (parts(10_000),),
        {"materialized_functions": False}),
    Row("MaterializedProducts", "polynomials on a grid", polynomials,
        (real(2000) / 10, real(2000) / 10), PRODUCTS),
    Row("MaterializedProducts", "60 phases of 20 qubits", phases,
        (real(*(2,) * 20), *(real(2, 2) for _ in range(60))), PRODUCTS),
    *(
        Row("RealContractions", f"c128 product of {size}", function, (parts(size, size),) * 2,
            COMPLEX)
        for size in (64, 256, 512)
        for function in (lambda x, y: x @ y, OVERLAP)
    ),
    Row("BufferPool", "2x + 1 of 64 MB", lambda x: x * 2.0 + 1.0, (real(2900, 2900),), {}, POOL),
    Row("BufferPool", "outer product of 64 MB", lambda x: tn.outer(x, x), (real(2900),), {}, POOL),
]  # fmt: skip


def contender(row: Row, without: bool) -> Callable[[], object]:
    """Calls the program, which has been compiled and warmed up."""
    executor = XlaExecutor(**(row.settings if without else {}))
    options = tn.OptimizerOptions(**(row.options if without else {}))
    operands = tn.jit(lambda *given: given, executor=executor)(*row.operands)
    compiled = tn.jit(row.function, options=options, executor=executor)

    def call() -> object:
        results = compiled(*operands)
        return [
            np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))
        ]

    for _ in range(30):
        call()
    return call


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    environment()
    lines: list[list[object]] = []
    for row in ROWS:
        calls = {name: contender(row, name == "without") for name in ("with", "without")}
        once = max(repeated(call, 1, time.process_time)() for call in calls.values())
        count = max(1, min(100, int(1e-2 / max(once, 1e-6))))
        timed = {name: repeated(call, count, time.process_time) for name, call in calls.items()}
        samples = interleaved(timed, chosen.rounds)
        ratio = samples["with"].over(samples["without"])
        figure(f"{row.workaround}: {row.program}", ratio)
        times = [samples[name].text(1e3) for name in ("with", "without")]
        lines.append([row.workaround, row.program, *times, f"{ratio:.2f}"])
        jax.clear_caches()
    table("ms, with and without", ["", "program", "with", "without", "ratio"], lines)


if __name__ == "__main__":
    main()
