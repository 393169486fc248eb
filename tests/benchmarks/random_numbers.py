"""Ten million uniform numbers: beside `jax.random` on XLA, beside `numpy.random` on NumPy.

Bars: at most 1.1 times JAX, both compiled; at most 6 times NumPy. Run it as
`python -m tests.benchmarks.random_numbers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import tenferro as tn

SIZE = 10**7


def best(*calls: Callable[[], Any], rounds: int = 7) -> list[float]:
    """The shortest time of each call in milliseconds; the calls take turns."""
    times = [float("inf")] * len(calls)
    for _ in range(rounds):
        for place, call in enumerate(calls):
            start = time.perf_counter()
            call()
            times[place] = min(times[place], 1e3 * (time.perf_counter() - start))
    return times


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print("10^7 numbers                      ours       other      ratio")
    for name in ("uniform", "normal"):
        for dtype in ("float64", "float32"):
            ours = tn.jit(lambda key, d=dtype, n=name: getattr(tn.random, n)(key, (SIZE,), d))
            theirs = jax.jit(lambda key, d=dtype, n=name: getattr(jax.random, n)(key, (SIZE,), d))
            key, other = tn.random.key(0), jax.random.key(0)
            one, two = best(
                lambda f=ours, k=key: jax.block_until_ready(f(k).data),
                lambda f=theirs, k=other: jax.block_until_ready(f(k)),
            )
            print(f"{name} {dtype}, XLA and JAX: {one:8.1f} ms {two:8.1f} ms {one / two:6.2f}")
    legacy_numbers, numbers = np.random.RandomState(0), np.random.default_rng(0)
    for name in ("uniform", "normal"):
        one, legacy, new = best(
            lambda n=name: getattr(tn.random, n)(tn.random.key(0), (SIZE,)),
            lambda n=name: getattr(legacy_numbers, n)(size=SIZE),
            lambda n=name: getattr(numbers, n)(size=SIZE),
        )
        print(f"{name} float64, NumPy and numpy.random: {one:.1f} ms, RandomState {legacy:.1f} ms "
              f"({one / legacy:.2f}), Generator {new:.1f} ms ({one / new:.2f})")  # fmt: skip


if __name__ == "__main__":
    main()
