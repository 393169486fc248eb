"""The max-plus matrix product of the example extension beside the same in `jnp` broadcasting.

`tropical.einsum("ij,jk->ik", a, b)` against `jnp.max(a[:, :, None] + b, axis=1)`: the value, and
the value of a weighted sum with its gradient by both operands. Each contender runs in a process of
its own, in turn, round by round; memory is the growth of the resident set from before the first run
to its peak. What would not fit into the memory that is free, judged by a quarter of the size, is
not run, and its memory is what that judgement says.

Under `jax.jit` the naive value is one fused kernel that stores no products; its gradient does store
them, and so does whatever is not jitted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tenferro as tn
import tenferro_ext_tropical as tropical
import tenferro_ext_tropical.xla
import tenferro_xla

sys.path.insert(0, str(Path(__file__).parent))
from support.harness import Samples, arguments, environment, note, table, verdict

BOUND, AIM = 1.0, 0.5
SHARE = 0.5
"""Part of the free memory that a contender may need."""
OURS = ("tenferro, NumPy", "tenferro, XLA loops", "tenferro, XLA standard ops")
JITTED, PLAIN = "jnp, jitted", "jnp, not jitted"
CONTENDERS = (*OURS, JITTED, PLAIN)

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Run:
    """What one process measured."""

    seconds: float
    peak: float


def product(a: Any, b: Any) -> Any:
    """The contraction, by ours."""
    return tropical.einsum("ij,jk->ik", a, b)


def naive(a: jax.Array, b: jax.Array) -> jax.Array:
    """The contraction, in `jnp`."""
    return jnp.max(a[:, :, None] + b[None, :, :], axis=1)


def ours(name: str, task: str, arrays: Arrays) -> Callable[[], object]:
    """A run of ours, on tensors that are where they are computed with."""
    context = tn.AdContext.builder().with_extension_rules(tropical.tropical_ad_rules()).build()

    def weighted(a: Any, b: Any, w: Any) -> Any:
        return tn.sum(product(a, b) * w)

    gradient = tn.value_and_grad(weighted, argnums=(0, 1), ad_context=context)
    function = (lambda a, b, w: product(a, b)) if task == "value" else gradient
    executor: Any
    if name == OURS[0]:
        executor = tn.GraphExecutor(tn.NumpyBackend())
        executor.register_extension(tropical.register_runtime)
    else:
        executor = tenferro_xla.XlaExecutor("cpu")
        if name == OURS[1]:
            executor.register_extension(tropical.xla.register_lowerings)
    specs = [tn.TensorSpec(x.shape, x.dtype) for x in arrays.values()]
    run = executor.compile_exec(tn.make_program(function, *specs).exec_program)
    buffers = [executor.put(x) for x in arrays.values()]
    return lambda: jax.block_until_ready(list(run(*buffers)))


def theirs(name: str, task: str, arrays: Arrays) -> Callable[[], object]:
    """A run of JAX's."""
    jax.config.update("jax_enable_x64", True)  # this process has nothing else to do

    def weighted(a: jax.Array, b: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.sum(naive(a, b) * w)

    function: Any = jax.value_and_grad(weighted, argnums=(0, 1))
    if task == "value":
        function = lambda a, b, w: naive(a, b)  # noqa: E731
    buffers = [jnp.asarray(x) for x in arrays.values()]
    run = jax.jit(function).lower(*buffers).compile() if name == JITTED else function
    return lambda: jax.block_until_ready(run(*buffers))


def measured(name: str, task: str, dtype: str, size: int, calls: int) -> Run:
    """The best of some calls after a first one, and the memory that they took."""
    rng = np.random.default_rng(0)
    arrays = {key: rng.normal(size=(size, size)).astype(dtype) for key in "abw"}
    call = (ours if name in OURS else theirs)(name, task, arrays)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _status("VmRSS")
    times = []
    for _ in range(calls + 1):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return Run(min(times[1:]), _status("VmHWM") - before)


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024.0 * int(line.split()[1])
    raise LookupError(field)


def spawned(name: str, task: str, dtype: str, size: int, calls: int) -> Run:
    """`measured`, in a process of its own."""
    job = json.dumps([name, task, dtype, size, calls])
    command = [sys.executable, __file__, "--job", job]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Run(**json.loads(done.stdout))


def free_memory() -> float:
    """Bytes that new processes can have."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return 1024.0 * int(line.split()[1])
    raise LookupError("MemAvailable")


def judged(name: str, task: str, dtype: str, size: int) -> float:
    """The memory that a contender needs, by that of a quarter of the size."""
    return spawned(name, task, dtype, size // 4, 1).peak * 64


def compare(task: str, dtype: str, size: int, rounds: int, calls: int) -> None:
    """Time and memory of all contenders, and the verdict on ours."""
    needs = {name: judged(name, task, dtype, size) for name in (JITTED, PLAIN)}
    runnable = [name for name in CONTENDERS if needs.get(name, 0) < SHARE * free_memory()]
    runs: dict[str, list[Run]] = {name: [] for name in runnable}
    for _ in range(rounds):
        for name in runnable:
            runs[name].append(spawned(name, task, dtype, size, calls))
    times = {name: Samples(tuple([run.seconds for run in runs[name]])) for name in runnable}
    peaks = {name: float(np.median([run.peak for run in runs[name]])) for name in runnable}
    peaks = {**needs, **peaks}
    rows = []
    for name in CONTENDERS:
        ratios = [
            f"{times[name].over(times[peer]):.2f}" if {name, peer} <= times.keys() else "-"
            for peer in (JITTED, PLAIN)
        ]
        took = times[name].text(1e3, 0) if name in times else "not run"
        of_peaks = [f"{peaks[name] / max(peaks[peer], 1):.2f}" for peer in (JITTED, PLAIN)]
        rows.append((name, took, *ratios, f"{peaks[name] / 1e6:.0f}", *of_peaks))
    columns = ("", "ms", "/jitted", "/plain", "peak MB", "/jitted", "/plain")
    table(f"{task}, {dtype}, {size}×{size}×{size}", columns, rows)
    best = OURS[1]
    for peer in (JITTED, PLAIN):
        if peer in times:
            what = f"{task} {dtype}: time of {best} over {peer}"
            verdict(what, times[best].over(times[peer]), BOUND, AIM)
        verdict(f"{task} {dtype}: memory over {peer}", peaks[best] / peaks[peer], BOUND, AIM)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--size", type=int, default=1024, help="of all three labels")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=2, help="timed in each process")
    parser.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    parser.add_argument("--tasks", nargs="*", default=["value", "value and gradient"])
    parser.add_argument("--job", help="what a process of its own measures")
    chosen = parser.parse_args()
    if chosen.job is not None:
        print(json.dumps(vars(measured(*json.loads(chosen.job)))))
        return
    environment()
    for task in chosen.tasks:
        for dtype in chosen.dtypes:
            compare(task, dtype, chosen.size, chosen.rounds, chosen.calls)
    note("memory of what is not run is judged by a quarter of the size")


if __name__ == "__main__":
    main()
