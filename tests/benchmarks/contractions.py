"""Contractions of tensor networks that were drawn at random, against `jax.jit(jnp.einsum)`.

Families of networks (see `support/families.py`), on the same path for both: value and gradient, of
real and complex numbers. Seeds are split: `--seeds` below 1000 are for tuning, those from 1000 on
only judge. Times are seconds of the process's CPUs, rounds interleaved; run it on one core
(`taskset -c 1`). Results are compared. Beside the run: the first result (staging, compiling, first
call), and temporaries.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
from einsum import AIMS, FLOOR, error
from support import families, networks
from support.families import FAMILIES
from support.harness import (
    Samples,
    arguments,
    environment,
    figure,
    geometric_mean,
    interleaved,
    note,
    repeated,
    table,
    verdict,
)
from support.networks import Array, Network, Prepared

COLUMNS = ["network", "log10 flops", "ms", "run", "first s", "first", "temp MiB", "temp"]
TOLERANCE = 1e-10
clock = time.process_time


@dataclass(frozen=True)
class Judged:
    """One network: ratios to `jax.jit`, and what they are ratios of."""

    network: Network
    run: float
    first: float
    temporaries: float
    seconds: Samples
    seconds_to_first: float
    bytes_set_aside: float

    def row(self) -> list[object]:
        return [
            f"{self.network.name}, {self.network.kind}",
            f"{self.network.log10_flops:.1f}",
            f"{self.seconds.median * 1e3:.2f}",
            f"{self.run:.2f}",
            f"{self.seconds_to_first:.2f}",
            f"{self.first:.2f}",
            f"{self.bytes_set_aside / 2**20:.0f}",
            f"{self.temporaries:.2f}",
        ]


def made(
    make: Callable[[Network, Sequence[Array], bool], Prepared],
    network: Network,
    operands: Sequence[Array],
    gradient: bool,
) -> tuple[Prepared, float]:
    """A contender, and the seconds to its first result."""
    start = clock()
    prepared = make(network, operands, gradient)
    prepared.call()
    return prepared, clock() - start


def judged(network: Network, dtype: str, part: str, rounds: int) -> Judged:
    """The network in tenferro and in JAX; an error if the results differ."""
    operands, gradient = network.operands(dtype), part == "gradient"
    peer, peer_first = made(networks.jax_jit, network, operands, gradient)
    mine, mine_first = made(networks.tenferro, network, operands, gradient)
    found = {"tenferro": mine, "jax.jit": peer}
    wrong = error(found, gradient)
    assert wrong < TOLERANCE, f"{network.name}, {dtype}, {part}: results are {wrong:.1e} apart"
    once = max(repeated(each.call, 1, clock)() for each in found.values())
    calls = max(1, min(100, int(5e-3 / max(once, 1e-6))))
    contenders = {name: repeated(each.call, calls, clock) for name, each in found.items()}
    samples = interleaved(contenders, rounds)
    return Judged(
        network,
        samples["tenferro"].over(samples["jax.jit"]),
        mine_first / peer_first,
        (mine.temporaries + FLOOR) / (peer.temporaries + FLOOR),
        samples["tenferro"],
        mine_first,
        mine.temporaries,
    )


def show(dtype: str, part: str, chosen: Sequence[Network], options: Namespace) -> None:
    """The table of one dtype and part, and how far it is from what is aimed at."""
    found: list[Judged] = []
    for network in chosen:
        each = judged(network, dtype, part, options.rounds)
        note(f"  {each.network.name}, {dtype}, {part}: {each.run:.2f} of jax.jit")
        figure(f"{dtype}, {part}: {network.name}", each.run)
        found.append(each)
        jax.clear_caches()
    table(f"{dtype}, {part}", COLUMNS, [each.row() for each in found])
    for family in options.families:
        runs = [each.run for each in found if each.network.name.split()[0] == family]
        note(f"{family:12} {geometric_mean(runs):.2f}, worst {max(runs):.2f}")
    what = f"drawn networks, {dtype}, {part}"
    runs, firsts = [each.run for each in found], [each.first for each in found]
    verdict(f"{what}: mean of {len(found)}", geometric_mean(runs), 1.0, AIMS[part][dtype])
    verdict(f"{what}: worst", max(runs), 1.05, 1.0)
    verdict(f"{what}: first result, mean", geometric_mean(firsts), 1.0, 0.7)
    verdict(f"{what}: first result, worst", max(firsts), 1.05, 1.0)
    memory = [each.temporaries for each in found]
    verdict(f"{what}: temporaries, mean", geometric_mean(memory), 1.0, 0.8)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[families.JUDGING])
    parser.add_argument("--dtypes", nargs="+", default=["float64", "complex128"])
    parser.add_argument("--parts", nargs="+", default=list(AIMS), choices=list(AIMS))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)  # this process is JAX's as well
    environment()
    chosen = [families.drawn(name, seed) for name in options.families for seed in options.seeds]
    for part, dtype in ((part, dtype) for part in options.parts for dtype in options.dtypes):
        show(dtype, part, chosen, options)


if __name__ == "__main__":
    main()
