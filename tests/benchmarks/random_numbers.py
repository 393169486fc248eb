"""Ten million random numbers: beside `jax.random` on XLA, beside `numpy.random` on NumPy.

Draws of both are compiled and interleaved on XLA. On NumPy they are beside `RandomState`, which has
the older generator, and `Generator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from support.harness import arguments, environment, interleaved, repeated, table, verdict

import tenferro as tn

DRAWS = ("uniform", "normal")


def drawn(library: Any, name: str, size: int, dtype: str) -> Callable[[Any], Any]:
    """A compiled function of a key."""
    return library.jit(lambda key: getattr(library.random, name)(key, (size,), dtype))  # type: ignore[no-any-return]


def on_xla(size: int, rounds: int) -> None:
    rows = []
    for name, dtype in ((name, dtype) for name in DRAWS for dtype in ("float64", "float32")):
        ours, theirs = drawn(tn, name, size, dtype), drawn(jax, name, size, dtype)
        key, other = tn.random.key(0), jax.random.key(0)
        contenders = {
            "tn": repeated(lambda f=ours, k=key: jax.block_until_ready(f(k).data), 1),  # type: ignore[misc]
            "jax": repeated(lambda f=theirs, k=other: jax.block_until_ready(f(k)), 1),  # type: ignore[misc]
        }
        found = interleaved(contenders, rounds)
        ratio = found["tn"].over(found["jax"])
        rows.append([f"{name} {dtype}", found["tn"].text(1e3), found["jax"].text(1e3), ratio])
    table(f"{size:,} numbers, XLA", ["", "tn ms", "jax ms"], [row[:-1] for row in rows])
    for row in rows:
        verdict(f"{row[0]} over jax.random", row[-1], 1.1, 1.0)


def on_numpy(size: int, rounds: int) -> None:
    older, newer = np.random.RandomState(0), np.random.default_rng(0)
    key = tn.random.key(0)
    rows = []
    for name in DRAWS:
        contenders = {
            "tn": repeated(lambda n=name: getattr(tn.random, n)(key, (size,)), 1),  # type: ignore[misc]
            "RandomState": repeated(lambda n=name: getattr(older, n)(size=size), 1),  # type: ignore[misc]
            "Generator": repeated(lambda n=name: getattr(newer, n)(size=size), 1),  # type: ignore[misc]
        }
        found = interleaved(contenders, rounds)
        rows.append([name, *(found[each].text(1e3) for each in contenders),
                     found["tn"].over(found["RandomState"])])  # fmt: skip
    columns = ["", "tn ms", "RandomState ms", "Generator ms"]
    table(f"{size:,} numbers, NumPy", columns, [row[:-1] for row in rows])
    for row in rows:
        verdict(f"{row[0]} over numpy.random.RandomState", row[-1], 6.0, 3.0)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--size", type=int, default=10**7)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    environment()
    with jax.enable_x64(True):
        on_xla(chosen.size, chosen.rounds)
        on_numpy(chosen.size, chosen.rounds)


if __name__ == "__main__":
    main()
