"""First results of cold processes: a matrix product state of 200 tensors, its value and gradient.

Each sample is a fresh process, after imports. Contenders take turns, so that a slow minute is slow
for all. CPU seconds are those of the whole process, the background included; wall seconds say
little on a machine that is shared. `until fast` is the CPU time until the executable answers.
`while compiling` is how much longer calls take that NumPy answers meanwhile, than those of the
NumPy executor in the same process, in CPU seconds of the calling thread and in wall seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import Samples, arguments, environment, note, table, verdict
from support.networks import INSTANCES, Network, read

import tenferro as tn

FILE = "str_mps_varying_inner_product_200.json"
KINDS = ("value", "gradient")
Row = dict[str, float]


def functions(network: Network, kind: str, library: Any, grad: Any) -> Callable[..., Any]:
    """The value of the network as a function of its tensors, or value and gradient."""

    def value(*given: Any) -> Any:
        return library.einsum(network.expression, *given, optimize=list(network.path))

    places = tuple(range(len(network.shapes)))
    return value if kind == "value" else grad(value, argnums=places)  # type: ignore[no-any-return]


def norm(kind: str, results: Any) -> list[float]:
    """The value and the norm of each gradient, to compare results by."""
    if kind == "value":
        return [float(np.asarray(results))]
    return [float(np.linalg.norm(np.asarray(each))) for each in (results[0], *results[1])]


def clock() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def since(start: tuple[float, float], name: str) -> Row:
    now = clock()
    return {f"{name} cpu": now[0] - start[0], f"{name} wall": now[1] - start[1]}


def by_jax(network: Network, kind: str) -> tuple[Row, list[float]]:
    f = jax.jit(functions(network, kind, jnp, jax.value_and_grad))
    operands = network.operands("float64")
    jnp.zeros(1).block_until_ready()
    start = clock()
    results = jax.block_until_ready(f(*operands))
    return since(start, "first"), norm(kind, results)


def by_tenferro(network: Network, kind: str) -> tuple[Row, list[float]]:
    f = tn.jit(functions(network, kind, tn, tn.value_and_grad))
    operands = network.operands("float64")
    tn.executor_named("xla").put(np.zeros(1)).block_until_ready()
    start = clock()
    results = jax.block_until_ready(raw(f(*operands)))
    return since(start, "first"), norm(kind, results)


def raw(results: Any) -> Any:
    return jax.tree.map(lambda tensor: tensor.data, results)


def by_tiers(network: Network, kind: str) -> tuple[Row, list[float]]:
    f = tn.jit(functions(network, kind, tn, tn.value_and_grad), tiers=True)
    operands = network.operands("float64")
    tn.executor_named("xla").put(np.zeros(1)).block_until_ready()
    start, own = clock(), time.thread_time()
    results = jax.block_until_ready(raw(f(*operands)))
    row = since(start, "first") | {"first own": time.thread_time() - own}
    first = norm(kind, results)
    assert f.tier(*operands) == "numpy"
    meanwhile: list[tuple[float, float]] = []
    while f.tier(*operands) == "numpy":
        meanwhile.append(timed(lambda: f(*operands)))
        time.sleep(0.05)
    row |= since(start, "until fast")
    row["until fast cpu"] -= sum(cpu for cpu, _ in meanwhile)
    later = norm(kind, f(*operands))
    row["difference"] = float(np.max(np.abs(np.divide(first, later) - 1)))
    alone = tn.jit(functions(network, kind, tn, tn.value_and_grad), executor="numpy")
    alone(*operands)
    usual = np.median([timed(lambda: alone(*operands)) for _ in range(5)], axis=0)
    slower = np.median(meanwhile, axis=0) / usual
    return row | {"slower cpu": float(slower[0]), "slower wall": float(slower[1])}, first


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds of this thread and of the wall for a call."""
    own, wall = time.thread_time(), time.perf_counter()
    call()
    return time.thread_time() - own, time.perf_counter() - wall


WAYS = {"jax": by_jax, "tenferro": by_tenferro, "tiers": by_tiers}


def in_this_process(way: str, kind: str, file: str) -> None:
    """One sample, as JSON on standard output."""
    network = read(Path(file))[0]
    jax.config.update("jax_enable_x64", True)
    row, values = WAYS[way](network, kind)
    sys.stdout.write(json.dumps([row, values]))


def sample(way: str, kind: str, file: Path, **environ: str) -> tuple[Row, list[float]]:
    """One sample of a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", way, kind, str(file)],
        env={**os.environ, "TENFERRO_QUIET": "1", **environ},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    row, values = json.loads(done.stdout)
    return row, values


def measure(kind: str, file: Path, rounds: int) -> dict[str, list[Row]]:
    """Rounds of all ways, without a cache and with one that is filled."""
    rows: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as folder:
        ours = {"TENFERRO_CACHE_DIR": os.path.join(folder, "tenferro")}
        theirs = {
            "JAX_COMPILATION_CACHE_DIR": os.path.join(folder, "jax"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        sample("jax", kind, file, **theirs)
        sample("tenferro", kind, file, **ours)
        ways: dict[str, tuple[str, dict[str, str]]] = {
            "jax": ("jax", {}),
            "tiers": ("tiers", {}),
            "tenferro": ("tenferro", {}),
            "jax, from disk": ("jax", theirs),
            "tenferro, from disk": ("tenferro", ours),
            "tiers, from disk": ("tiers", ours),
        }
        for _ in range(rounds):
            for name, (way, environ) in ways.items():
                row, values = sample(way, kind, file, **environ)
                if name == "jax":
                    expected = values
                np.testing.assert_allclose(values, expected, rtol=1e-9)
                rows.setdefault(name, []).append(row)
    return rows


def samples(rows: list[Row], column: str) -> Samples:
    return Samples(tuple(row[column] for row in rows))


def show(kind: str, rows: dict[str, list[Row]]) -> None:
    """The table of one kind, and its bars."""
    columns = ["first cpu", "first wall", "until fast cpu", "until fast wall"]
    lines = [
        [name, *(samples(own, c).text(1, 3) if c in own[0] else "" for c in columns)]
        for name, own in rows.items()
    ]
    table(f"{FILE}, {kind}: seconds [quartiles]", ["", *columns], lines)
    peer, tiers = rows["jax"], rows["tiers"]
    for column in ("first cpu", "first wall"):
        ratio = samples(tiers, column).over(samples(peer, column))
        verdict(f"{kind}: {column}, over jax.jit", ratio, 0.08, 0.05)
    fast = samples(tiers, "until fast cpu").over(samples(peer, "first cpu"))
    verdict(f"{kind}: until fast, over jax.jit", fast, 0.35, 0.25)
    from_disk = samples(rows["jax, from disk"], "first cpu")
    for name in ("tenferro, from disk", "tiers, from disk"):
        disk = samples(rows[name], "first cpu").over(from_disk)
        verdict(f"{kind}: {name}, over jax.jit's", disk, 0.5, 0.4)
    for column in ("slower cpu", "slower wall"):
        verdict(f"{kind}: calls while compiling, {column}", samples(tiers, column).median, 2.0, 1.5)
    worst = max(row["difference"] for row in tiers)
    verdict(f"{kind}: largest relative difference", worst, 1e-12, 1e-13)
    own = samples(tiers, "first own").text(1, 3)
    note(f"{kind}: the calling thread's CPU seconds until the first result: {own}")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--file", type=Path, default=INSTANCES / FILE, help="of the network")
    parser.add_argument("--one", nargs=3, help="way, kind and file: a sample, in this process")
    chosen = parser.parse_args()
    if chosen.one:
        in_this_process(*chosen.one)
        return
    if not chosen.file.exists():
        note(f"no instances: there is no {chosen.file}")
        return
    environment()
    for kind in chosen.kinds:
        show(kind, measure(kind, chosen.file, chosen.rounds))
    environment()


if __name__ == "__main__":
    main()
