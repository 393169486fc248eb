"""Programs written for JAX: as they are, and rewritten by `tenferro port`, in 32-bit mode.

The programs are those of `tests/ports/programs`: layers trained by momentum, a variational
autoencoder, a transformer, recurrent cells, Gaussian processes, Hamiltonian Monte Carlo, lattice
Boltzmann, bodies, reaction and diffusion, rays, a renormalization group. A first result is from
the call to the value, with what JAX or tenferro traces and XLA compiles, after a small program of
each; JAX and tenferro take turns in coming first. Later calls are timed in turn; both sides wait
for their results, which are compared first. On a machine with other work, `--cpu` says more.
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


Clock = Callable[[], float]


def first(name: str, rewritten: bool, clock: Clock) -> tuple[float, Any, Any]:
    """Seconds to a first result, the result, and the call that gives it again."""
    wait: Any = tn.block_until_ready if rewritten else jax.block_until_ready
    function, operands = load(name, rewritten)
    start = clock()
    result = wait(function(*operands))
    return clock() - start, result, lambda: wait(function(*operands))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help="of programs")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cpu", action="store_true", help="time of the processor")
    how = parser.parse_args()
    environment()
    clock = time.process_time if how.cpu else time.perf_counter
    tn.config.promotion, tn.config.default_float = "jax", "float32"
    for library in (jax, tn):
        library.jit(lambda x: x * 2 + 1)(np.float32(1))
    rows, runs, firsts = [], [], []
    for number, name in enumerate(how.names):
        sides = (True, False) if number % 2 else (False, True)
        found = {rewritten: first(name, rewritten, clock) for rewritten in sides}
        (my_first, mine, call), (other_first, theirs, other) = found[True], found[False]
        calls = {"tenferro": repeated(call, 3, clock), "jax": repeated(other, 3, clock)}
        times = interleaved(calls, how.rounds)
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
            ]
        )
    heads = ["program", "ms", "ms, JAX", "ratio", "first", "JAX", "ratio"]
    table("Programs written for JAX", heads, rows)
    verdict("run, worst ratio to jax.jit", float(max(runs)), 1.2, 1.05)
    verdict("first result, worst ratio to jax.jit", max(firsts), 1.5, 1.0)


if __name__ == "__main__":
    main()
