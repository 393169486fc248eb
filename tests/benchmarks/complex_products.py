"""Complex products as they are, against four and three real ones, by size; and compile times.

Value and gradient of the product of two square matrices. On a GPU XLA tries kernels while it
compiles (`xla_gpu_autotune_level`): seconds of compilation for levels 0 and 4, and with JAX's
persistent cache filled before, each in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import jax
import jax.numpy as jnp
from support.harness import arguments, note, table
from support.on_device import begin, device_arguments, finish, seconds

from tenferro_xla import find_device


def native(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision="highest")


def in_four(x: Any, y: Any) -> Any:
    a, b, c, d = x.real, x.imag, y.real, y.imag
    return jax.lax.complex(native(a, c) - native(b, d), native(a, d) + native(b, c))


def in_three(x: Any, y: Any) -> Any:
    a, b, c, d = x.real, x.imag, y.real, y.imag
    p, q, r = native(a, c), native(b, d), native(a + b, c + d)
    return jax.lax.complex(p - q, r - p - q)


FORMS = {"native": native, "four": in_four, "three": in_three}


def with_gradient(form: Any) -> Any:
    return jax.value_and_grad(lambda x, y: jnp.sum(jnp.abs(form(x, y)) ** 2), (0, 1))


def timed(device: jax.Device, largest: int) -> list[dict[str, Any]]:
    """Seconds of every form, and of its gradient."""
    rows: list[dict[str, Any]] = []
    for dtype in ("complex64", "complex128"):
        for size in (16, 64, 256, 1024, 2048, 4096):
            if size > largest:
                continue
            x = jax.device_put(jnp.ones((size, size), dtype), device)
            row: dict[str, Any] = {"dtype": dtype, "size": size}
            for name, form in FORMS.items():
                for label, function in ((name, form), (f"{name}, gradient", with_gradient(form))):
                    compiled = jax.jit(function).lower(x, x).compile()
                    row[label] = seconds(lambda c=compiled, x=x: c(x, x))
            rows.append(row)
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    labels = [label for label in rows[0] if label not in ("dtype", "size")]
    lines = [
        [f"{row['dtype']} {row['size']}", *(f"{row[label] * 1e6:.1f}" for label in labels)]
        for row in rows
    ]
    table("µs", ["", *labels], lines)
    for row in rows:
        best = min(row["four"], row["three"])
        if best < row["native"] / 1.15:
            note(f"{row['dtype']} {row['size']}: real products take {best / row['native']:.2f}")


def compile_once(device: str, level: str) -> None:
    """In a process of its own: the seconds in which XLA compiles a gradient."""
    place = find_device(device)
    wanted = {"xla_gpu_autotune_level": int(level)} if place.platform == "gpu" else None
    with jax.enable_x64(True):
        x = jax.device_put(jnp.ones((512, 512), "complex128"), place)
        lowered = jax.jit(with_gradient(native)).lower(x, x)
        start = time.perf_counter()
        lowered.compile(compiler_options=wanted)
    sys.stdout.write(f"{time.perf_counter() - start}")


def compilation(device: str) -> dict[str, float]:
    """Seconds by level of autotuning and state of the cache."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        cache = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        for level in ("0", "4"):
            for label, extra in (("no cache", {}), ("cache filled", cache), ("cache hit", cache)):
                done = subprocess.run(
                    [sys.executable, __file__, "--device", device, "--compile", level],
                    env={**os.environ, **extra},
                    check=True,
                    capture_output=True,
                    text=True,
                    timeout=600,
                )
                found[f"level {level}, {label}"] = float(done.stdout)
    return found


def main() -> None:
    parser = arguments(__doc__)
    device_arguments(parser)
    parser.add_argument("--largest", type=int, default=256, help="rows of the largest matrix")
    parser.add_argument("--compile", metavar="LEVEL", help="compile once, in this process")
    options = parser.parse_args()
    if options.compile:
        compile_once(options.device, options.compile)
        return
    device = begin(options)
    with jax.enable_x64(True):
        rows = timed(device, options.largest)
    show(rows)
    times = compilation(options.device)
    for label, taken in times.items():
        note(f"compilation, {label}: {taken:.2f} s")
    finish(options, device, {"products": rows, "compilation": times})


if __name__ == "__main__":
    main()
