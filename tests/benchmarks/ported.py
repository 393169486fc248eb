"""Programs written for JAX: as they are, and rewritten by `tenferro port`, in 32-bit mode.

The programs are those of `tests/ports/programs`: layers trained by momentum, a variational
autoencoder, a transformer, recurrent cells, Gaussian processes, Hamiltonian Monte Carlo, lattice
Boltzmann, bodies, reaction and diffusion, rays, a renormalization group. A first result is from
the call to the value, with what JAX or tenferro traces and XLA compiles. Later calls are timed
in turn; both sides wait for their results, which are compared first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from support.harness import arguments, environment, interleaved, repeated, table, verdict

import tenferro as tn

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.ports.ported_programs import NAMES, load

TOLERANCE = 1e-3


def apart(mine: Any, theirs: Any) -> float:
    """The largest difference of two results, as a part of the largest number of each array."""
    worst = 0.0
    for one, other in zip(tn.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        a, b = np.asarray(one), np.asarray(other)
        scale = float(np.max(np.abs(b), initial=1e-6))
        worst = max(worst, float(np.max(np.abs(a - b), initial=0.0)) / scale)
    return worst


def first(wait: Callable[[Any], Any], name: str, rewritten: bool) -> tuple[float, Any, Any]:
    """Seconds to a first result, the result, and the call that gives it again."""
    function, operands = load(name, rewritten)
    start = time.perf_counter()
    result = wait(function(*operands))
    return time.perf_counter() - start, result, lambda: wait(function(*operands))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help="of programs")
    parser.add_argument("--rounds", type=int, default=15)
    how = parser.parse_args()
    environment()
    tn.config.promotion, tn.config.default_float = "jax", "float32"
    rows, runs, firsts = [], [], []
    for name in how.names:
        other_first, theirs, other = first(jax.block_until_ready, name, rewritten=False)
        my_first, mine, call = first(tn.block_until_ready, name, rewritten=True)
        times = interleaved({"tenferro": repeated(call, 3), "jax": repeated(other, 3)}, how.rounds)
        ratio = times["tenferro"].over(times["jax"])
        runs.append(ratio)
        firsts.append(my_first / other_first)
        error = apart(mine, theirs)
        verdict(f"{name}: apart", error, TOLERANCE, TOLERANCE)
        rows.append(
            [
                name,
                times["tenferro"].text(1e3),
                times["jax"].text(1e3),
                f"{float(ratio):.2f}",
                f"{my_first:.2f}",
                f"{other_first:.2f}",
                f"{firsts[-1]:.2f}",
                f"{error:.0e}",
            ]
        )
    heads = ["program", "ms", "ms, JAX", "ratio", "first, s", "first, JAX", "ratio", "apart"]
    table("Programs written for JAX", heads, rows)
    verdict("run, worst ratio to jax.jit", float(max(runs)), 1.2, 1.05)
    verdict("first result, worst ratio to jax.jit", max(firsts), 1.5, 1.0)


if __name__ == "__main__":
    main()
