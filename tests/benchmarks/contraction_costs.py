"""What contractions cost on a device, one kind of operation after the other.

Products of square matrices in all dtypes (and 32-bit ones in TF32), skinny ones, batches of small
ones; transposes by the length of the runs that stay together; elementwise ops; the launch of a
kernel. With `--fit whole_networks` the constants of `DeviceCosts` are fitted to run times of whole
networks on the device, on every other one, and judged on the rest (see `calibrate.py`).
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import calibrate
import jax
import jax.numpy as jnp
from support.harness import arguments, note, table
from support.on_device import begin, device_arguments, finish, seconds

from tenferro_xla import XlaExecutor

Row = dict[str, Any]
DTYPES = ("float32", "float64", "complex64", "complex128")


def array(device: jax.Device, shape: tuple[int, ...], dtype: str) -> jax.Array:
    return jax.device_put(jnp.ones(shape, dtype), device)


def timed(device: jax.Device, what: str, function: Any, *operands: jax.Array) -> Row:
    """A row: the seconds of one call."""
    compiled = jax.jit(function).lower(*operands).compile()
    found: Row = {"what": what, "dtype": str(operands[0].dtype)}
    found["shapes"] = [list(each.shape) for each in operands]
    found["seconds"] = seconds(lambda: compiled(*operands))
    return found


def product(
    device: jax.Device, what: str, sizes: tuple[int, int, int, int], dtype: str, tf32: bool = False
) -> Row:
    """A product, with the multiplications and additions that it reaches in a second."""
    batch, m, n, k = sizes
    lead = (batch,) if batch > 1 else ()
    a, b = array(device, (*lead, m, k), dtype), array(device, (*lead, k, n), dtype)
    precision = jax.lax.Precision.DEFAULT if tf32 else jax.lax.Precision.HIGHEST
    found = timed(device, what, lambda x, y: jnp.matmul(x, y, precision=precision), a, b)
    parts = 4 if a.dtype.kind == "c" else 1
    return found | {"tf32": tf32, "per_second": parts * batch * m * n * k / found["seconds"]}


def products(device: jax.Device, largest: int) -> Iterator[Row]:
    """Square, skinny and batched products."""
    for size in (64, 256, 1024, 2048, 4096, 8192):
        if size > largest:
            continue
        for dtype in DTYPES:
            yield product(device, "square", (1, size, size, size), dtype)
        yield product(device, "square", (1, size, size, size), "float32", tf32=True)
    for thin in (2, 16, 64):
        yield product(device, "few columns", (1, largest, thin, largest), "float64")
        yield product(device, "few rows", (1, thin, largest, largest), "float64")
        yield product(device, "few terms", (1, largest, largest, thin), "float64")
    for batch in (1, 64, 4096):
        for size in (8, 32, 128):
            if batch * size**3 <= 4096 * largest**2:
                yield product(device, "batch", (batch, size, size, size), "float64")
                yield product(device, "batch", (batch, size, size, size), "complex128")


def moves(device: jax.Device, largest: int) -> Iterator[Row]:
    """Transposes by run length, elementwise ops, sums, and an op on one number."""
    numbers = largest * largest
    for run in (1, 4, 32, 256):
        side = int((numbers // run) ** 0.5)
        shape = (side, side, run) if run > 1 else (side, side)
        order = (1, 0, 2)[: len(shape)]
        x = array(device, shape, "float64")
        yield timed(device, f"transpose, runs of {run}", lambda x, o=order: x.transpose(o) + 0, x)
    flat = array(device, (numbers,), "float64")
    yield timed(device, "elementwise", lambda x: x * 2 + 1, flat)
    yield timed(device, "two operands", lambda x, y: x * y, flat, flat)
    yield timed(device, "repeated", lambda x: jnp.broadcast_to(x, (numbers,)) + 0, flat[:1])
    yield timed(device, "sum", jnp.sum, flat)
    one = array(device, (1,), "float64")
    yield timed(device, "launch", lambda x: x + 1, one)


def show(rows: list[Row]) -> None:
    """The table."""
    lines = [
        [
            f"{row['what']}, {row['dtype']}{' TF32' if row.get('tf32') else ''}",
            "  ".join("x".join(map(str, shape)) for shape in row["shapes"]),
            f"{row['seconds'] * 1e6:.1f}",
            f"{row['per_second'] / 1e9:.1f}" if "per_second" in row else "-",
        ]
        for row in rows
    ]
    table("seconds of operations", ["", "shapes", "µs", "10⁹ mul-adds / s"], lines)


def fitted(options: Namespace, device: jax.Device) -> dict[str, float]:
    """The costs that are fitted to whole networks."""
    executor = XlaExecutor(device)
    choose = calibrate.random_networks if options.no_instances else calibrate.chosen_networks
    networks = choose(options.random)
    costs = calibrate.fit(networks, executor, executor.device_model.costs, options.calls)
    return asdict(costs)


def main() -> None:
    parser = arguments(__doc__)
    device_arguments(parser)
    parser.add_argument("--largest", type=int, default=512, help="rows of the largest matrix")
    parser.add_argument("--fit", choices=["whole_networks"], help="fit DeviceCosts as well")
    parser.add_argument("--random", type=int, default=60, help="how many random networks")
    parser.add_argument("--no-instances", action="store_true", help="random networks alone")
    parser.add_argument("--calls", type=int, default=9, help="calls of each network")
    options = parser.parse_args()
    device = begin(options)
    with jax.enable_x64(True):
        rows = [*products(device, options.largest), *moves(device, options.largest)]
    show(rows)
    costs = fitted(options, device) if options.fit else None
    if costs is not None:
        known = {name: value for name, value in costs.items() if value is not None}
        note(f"DeviceCosts({', '.join(f'{name}={value:.3g}' for name, value in known.items())})")
    finish(options, device, {"operations": rows, "costs": costs})


if __name__ == "__main__":
    main()
