"""Fourier transforms: `tn.jit(tn.fft.fft)` and others beside `jax.jit(jnp.fft.fft)`.

Both call XLA's transform, in 64 bits. The operands are arrays on the device of each library, so
that a call costs its own overhead and the transform. `--gradient` times the gradient of the sum of
squared moduli of a weighted spectrum instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import (
    arguments,
    environment,
    figure,
    geometric_mean,
    interleaved,
    repeated,
    table,
    verdict,
)

import tenferro as tn

CASES: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "fft 1024": ("fft", (1024,), {}),
    "fft 64 x 1024": ("fft", (64, 1024), {}),
    "fft 2^18": ("fft", (1 << 18,), {}),
    "fft 997": ("fft", (64, 997), {}),
    "ifft 64 x 1024": ("ifft", (64, 1024), {}),
    "fft ortho 64 x 1024": ("fft", (64, 1024), {"norm": "ortho"}),
    "rfft 64 x 4096": ("rfft", (64, 4096), {}),
    "irfft 64 x 2049": ("irfft", (64, 2049), {}),
    "fft axis 0, 1024 x 64": ("fft", (1024, 64), {"axis": 0}),
    "fft2 512 x 512": ("fft2", (512, 512), {}),
    "ifft2 512 x 512": ("ifft2", (512, 512), {}),
    "fftn 64 x 64 x 64": ("fftn", (64, 64, 64), {}),
}


def operand(name: str, shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(0)
    real = rng.normal(size=shape)
    return real if name.startswith("r") else real + 1j * rng.normal(size=shape)


def transform(of: Any, name: str, options: dict[str, Any]) -> Callable[[Any], Any]:
    function = getattr(of.fft, name)
    return lambda x: function(x, **options)


def loss(of: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def total(x: Any) -> Any:
        y = f(x)
        return of.sum(of.real(y * of.conj(y)) * of.arange(y.shape[-1]))

    return total


def contenders(case: str, gradient: bool, calls: int) -> dict[str, Callable[[], float]]:
    name, shape, options = CASES[case]
    x = operand(name, shape)
    ours, theirs = transform(tn, name, options), transform(jnp, name, options)
    if gradient:
        ours, theirs = tn.grad(loss(tn, ours)), jax.grad(loss(jnp, theirs))
    jitted, jax_jitted = tn.jit(ours), jax.jit(theirs)
    on_device = jnp.asarray(x)
    ours_on_device = tn.jit(lambda x: x + 0)(x)
    expected = np.asarray(jax_jitted(on_device))
    expected = np.conj(expected) if gradient else expected
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(np.asarray(jitted(ours_on_device)), expected, atol=1e-10 * scale)
    return {
        "tn": repeated(lambda: jitted(ours_on_device).data.block_until_ready(), calls),
        "jax": repeated(lambda: jax_jitted(on_device).block_until_ready(), calls),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.03, help="of calls in one round")
    parser.add_argument("--gradient", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    chosen = parser.parse_args()
    environment()
    rows: list[list[object]] = []
    ratios = []
    with jax.enable_x64(True):
        for case in (case for case in CASES if chosen.only in case):
            once = contenders(case, chosen.gradient, 3)["jax"]()
            calls = max(3, int(chosen.seconds / once))
            found = interleaved(contenders(case, chosen.gradient, calls), chosen.rounds)
            ratios.append(found["tn"].over(found["jax"]))
            rows.append([case, found["tn"].text(), found["jax"].text(), f"{ratios[-1]:.3f}"])
    table("microseconds [quartiles]", ["case", "tn.jit", "jax.jit", "tn / jax"], rows)
    what = "gradients" if chosen.gradient else "transforms"
    for row, ratio in zip(rows, ratios, strict=True):
        figure(f"{row[0]}, {what}", ratio)
    verdict(f"geometric mean, {what}", geometric_mean(ratios), 1.02, 1.0)
    verdict(f"worst, {what}", max(ratios), 1.1, 1.02)


if __name__ == "__main__":
    main()
