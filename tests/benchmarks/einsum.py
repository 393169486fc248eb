"""Tensor networks in tenferro, `jax.jit(jnp.einsum)`, `jnp.einsum`, PyTorch and NumPy.

Every instance of `../shared/einsum_instances`, or the JSON files named, on both of its paths and in
four dtypes: the value, and the value with its gradient. All contenders contract along the same
path, on arrays that are where they compute, in one process with the same allocator. XLA maps every
buffer above 32 MiB anew on each call; with `--keep-memory` glibc keeps memory instead, for all
contenders alike. What is expected to take longer than `--limit` seconds a call is left out, and
said so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import numpy as np
from support import networks
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
from support.limits import Limits, measured
from support.networks import INSTANCES, Array, Network, Prepared

KEEP = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 28),
}
AIMS = {
    "value": {"float32": 0.6, "float64": 0.6, "complex64": 0.5, "complex128": 0.5},
    "gradient": {"float32": 0.7, "float64": 0.7, "complex64": 0.6, "complex128": 0.6},
}
FLOOR = 1 << 20
"""Bytes added to both sides of a ratio of memory, so that small programs do not count."""
COLD = "str_mps_varying_inner_product_200"
COLUMNS = [
    "network, path",
    "ms",
    "/jit",
    "/jnp",
    "/torch",
    "/NumPy",
    "limit",
    "stage s",
    "XLA s",
    "temp MiB",
]
"""`limit` is the least possible time (see `limits`) over tenferro's; the last three are those of
tenferro and of `jax.jit`."""


def chosen_networks(options: Namespace) -> list[Network]:
    """The instances asked for, by part of a name or by file."""
    files = [Path(name) for name in options.instances if name.endswith(".json")]
    words = [name for name in options.instances if not name.endswith(".json")]
    if words or not files:
        files += sorted(INSTANCES.glob("*.json")) if INSTANCES.is_dir() else []
    found = [network for file in files for network in networks.read(file)]
    return [
        each
        for each in found
        if (not words or any(word in each.name for word in words))
        and (options.paths == "both" or each.kind == options.paths)
    ]


def contenders(
    network: Network, operands: Sequence[Array], part: str, options: Namespace
) -> dict[str, Prepared]:
    """What is timed against one another."""
    if part == "gradient":
        return {
            "tenferro": networks.tenferro(network, operands, gradient=True),
            "jax.jit": networks.jax_jit(network, operands, gradient=True),
        }
    found = {
        "tenferro": networks.tenferro(network, operands),
        "jax.jit": networks.jax_jit(network, operands),
    }
    if not options.only_jit:
        found["jnp"] = networks.jnp_einsum(network, operands)
        found["numpy"] = networks.numpy(network, operands)
        peer = networks.torch(network, operands)
        if peer is not None:
            found["torch"] = peer
    return found


def error(found: dict[str, Prepared], gradient: bool) -> float:
    """How far tenferro and `jax.jit` are apart, as a part of the largest element."""
    mine = [np.asarray(each) for each in jax.tree.leaves(found["tenferro"].call())]
    theirs = [np.asarray(each) for each in jax.tree.leaves(found["jax.jit"].call())]
    if gradient:  # JAX's gradients are the conjugates
        theirs = [theirs[0], *(each.conj() for each in theirs[1:])]
    return max(apart(one, other) for one, other in zip(mine, theirs, strict=True))


def apart(one: Array, other: Array) -> float:
    """The largest difference, as a part of the largest element; 32 bits may overflow alike."""
    with np.errstate(invalid="ignore"):
        difference = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0, one - other)
    return float(np.max(np.abs(difference))) / max(float(np.max(np.abs(other))), 1e-300)


def timed(
    network: Network, dtype: str, part: str, limits: Limits, options: Namespace
) -> tuple[list[object], dict[str, float]]:
    """A row of the table, and the ratios to `jax.jit`."""
    found = contenders(network, network.operands(dtype), part, options)
    wrong = error(found, part == "gradient")
    tolerance = 1e-3 if np.dtype(dtype).itemsize // (2 if dtype[0] == "c" else 1) == 4 else 1e-11
    assert wrong < tolerance, f"{network.name}, {dtype}: results are {wrong:.1e} apart"
    start = time.perf_counter()
    found["tenferro"].call()
    once = time.perf_counter() - start
    calls = max(1, min(200, int(2e-3 / max(once, 1e-6))))
    samples = interleaved(
        {name: repeated(each.call, calls) for name, each in found.items()}, options.rounds
    )
    mine, peer = found["tenferro"], found["jax.jit"]
    least = limits.seconds(network, np.dtype(dtype).kind == "c", part == "gradient")
    ratios = {
        "run": samples["tenferro"].over(samples["jax.jit"]),
        "staging and compiling": (mine.staging + mine.compiling) / (peer.staging + peer.compiling),
        "temporaries": (mine.temporaries + FLOOR) / (peer.temporaries + FLOOR),
        "limit": samples["tenferro"].median / least,
    }
    return row(network, found, samples, least), ratios


def row(
    network: Network, found: dict[str, Prepared], samples: dict[str, Samples], least: float
) -> list[object]:
    """Medians and ratios; `least` is the least possible time."""
    mine = samples["tenferro"]
    peers = [samples.get(name) for name in ("jax.jit", "jnp", "torch", "numpy")]
    ratios = ["-" if peer is None else f"{mine.over(peer):.2f}" for peer in peers]
    ours, theirs = found["tenferro"], found["jax.jit"]
    return [
        f"{network.name[:32]}, {network.kind.removeprefix('opt_')}",
        f"{mine.median * 1e3:.2f}",
        *ratios,
        f"{least / mine.median:.2f}",
        f"{ours.staging:.2f} {theirs.staging:.2f}",
        f"{ours.compiling:.2f} {theirs.compiling:.2f}",
        f"{ours.temporaries / 2**20:.0f} {theirs.temporaries / 2**20:.0f}",
    ]


def show(dtype: str, part: str, chosen: Sequence[Network], options: Namespace) -> None:
    """The table of one dtype, and how far it is from what is aimed at."""
    limits = measured(dtype)
    rows: list[list[object]] = []
    found: list[dict[str, float]] = []
    for network in chosen:
        seconds = network.seconds(dtype) * (3 if part == "gradient" else 1)
        if seconds > options.limit:
            note(f"left out: {network.name}, {network.kind}: {seconds:.0f} s a call")
            continue
        line, ratios = timed(network, dtype, part, limits, options)
        rows.append(line)
        found.append(ratios)
        note(f"  {line[0]}, {dtype}: {ratios['run']:.2f} of jax.jit")
        figure(f"{dtype}, {part}: {line[0]}", ratios["run"])
    if not rows:
        return
    table(f"{dtype}, {'value and gradient' if part == 'gradient' else part}", COLUMNS, rows)
    runs, first, memory, over = ([each[kind] for each in found] for kind in found[0])
    verdict(f"{dtype}, {part}: mean of {len(rows)}", geometric_mean(runs), 1.0, AIMS[part][dtype])
    verdict(f"{dtype}, {part}: worst", max(runs), 1.05, 1.0)
    figure(f"{dtype}, {part}: over the least possible time, mean", geometric_mean(over))
    verdict(f"{dtype}, {part}: staging and compiling, mean", geometric_mean(first), 1.0, 0.7)
    verdict(f"{dtype}, {part}: staging and compiling, worst", max(first), 1.05, 1.0)
    verdict(f"{dtype}, {part}: temporaries, mean", geometric_mean(memory), 1.0, 0.8)


def first_result(library: str) -> None:
    """In a process of its own: the seconds from the network in hand to its value, and again."""
    network = networks.read(INSTANCES / f"{COLD}.json")[0]
    operands = network.operands("float64")
    make: Callable[[Network, Sequence[Array]], Prepared]
    make = networks.tenferro if library == "tenferro" else networks.jax_jit
    start = time.perf_counter()
    call = make(network, operands).call
    call()
    first = time.perf_counter() - start
    start = time.perf_counter()
    call()
    sys.stdout.write(f"{first} {time.perf_counter() - start}")


def cold() -> None:
    """First results from a cold process, without and with JAX's persistent cache."""
    if not (INSTANCES / f"{COLD}.json").exists():
        return
    rows: list[list[object]] = []
    seconds: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        cache = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        for library in ("tenferro", "jax"):
            for label, extra in (("no cache", {}), ("cache filled", cache), ("cache hit", cache)):
                done = subprocess.run(
                    [sys.executable, __file__, "--first", library],
                    env={**os.environ, **extra},
                    check=True,
                    capture_output=True,
                    text=True,
                    timeout=600,
                )
                first, warm = (float(number) for number in done.stdout.split())
                seconds[library, label] = first
                rows.append([f"{library}, {label}", f"{first:.2f}", f"{warm * 1e3:.2f}"])
    table(f"{COLD}: a cold process, without imports", ["", "first s", "again ms"], rows)
    for label in ("no cache", "cache hit"):
        ratio = seconds["tenferro", label] / seconds["jax", label]
        verdict(f"{COLD}, first result, {label}", ratio, 1.0, 0.5)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("instances", nargs="*", help="parts of names, or JSON files; all if none")
    parser.add_argument(
        "--dtypes", nargs="+", default=["float32", "float64", "complex64", "complex128"]
    )
    parser.add_argument("--paths", choices=["both", "opt_flops", "opt_size"], default="both")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--limit", type=float, default=10.0, help="expected seconds a call")
    parser.add_argument("--parts", nargs="+", default=list(AIMS), choices=list(AIMS))
    parser.add_argument("--only-jit", action="store_true", help="jax.jit alone beside tenferro")
    parser.add_argument("--keep-memory", action="store_true", help="glibc keeps memory it has")
    parser.add_argument("--cold", action="store_true", help="only first results of cold processes")
    parser.add_argument(
        "--first", choices=["tenferro", "jax"], help="one of those, in this process"
    )
    options = parser.parse_args()
    if options.keep_memory and "MALLOC_TOP_PAD_" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP})
    jax.config.update("jax_enable_x64", True)  # this process is JAX's as well
    if options.first:
        first_result(options.first)
        return
    environment()
    note(f"allocator: {'keeps memory' if options.keep_memory else 'as it is'}")
    chosen = chosen_networks(options)
    if not chosen:
        note(f"no instances: {INSTANCES} has none that fit, and no JSON file is named")
        return
    if not options.cold:
        for part, dtype in ((part, dtype) for part in options.parts for dtype in options.dtypes):
            show(dtype, part, chosen, options)
    if options.cold or not options.instances:
        cold()


if __name__ == "__main__":
    main()
