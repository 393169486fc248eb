"""Value and gradient of a sliced network on one process, and shared by two, each bound to a core.

Times are those of one call; on a machine with other work, those of the processors say more than
those of the clock. `reduction` is what the addition over the processes takes alone: a gathering of
as many bytes as the lanes' sums have.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE, SLICES = 448, 16  # of each of two labels


def seconds(call: Callable[[], Any], calls: int) -> tuple[list[float], list[float]]:
    """Seconds of the clock and of the processor, for each call."""
    clock, cpu = [], []
    for _ in range(calls):
        start, used = time.perf_counter(), time.process_time()
        for leaf in call():
            leaf.data.block_until_ready()
        clock.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return clock, cpu


def child(core: str, port: str, number: str, calls: str) -> None:
    """One process on a core; `number` -1 is alone. Prints its times."""
    os.sched_setaffinity(0, {int(core)})
    import tenferro as tn  # XLA counts the cores when it is imported

    where: dict[str, Any] = {}
    if int(number) >= 0:
        tn.sharding.initialize(f"127.0.0.1:{port}", 2, int(number), timeout=120)
        mesh = tn.sharding.make_mesh((2,), ("slices",))
        where = {"mesh": mesh, "slices": "slices"}
    generator = np.random.default_rng(0)
    shapes = [(SIZE, SIZE, SLICES)] * 2 + [(SIZE, SIZE)] + [(SIZE, SIZE, SLICES)] * 2
    operands = [generator.normal(size=shape) for shape in shapes]

    def value(*operands: Any) -> Any:
        return tn.einsum("abx,bcy,cd,dex,eay->", *operands, slices="xy")

    def both(*operands: Any) -> Any:
        result, slopes = tn.value_and_grad(value, argnums=(2,))(*operands)
        return (result, *slopes)

    jitted = tn.jit(both, **where)
    executor = jitted.executor
    placed = [tn.Tensor.wrap(executor.put(operand), executor) for operand in operands]
    jitted(*placed)
    clock, cpu = seconds(lambda: jitted(*placed), int(calls))
    found = {"clock": clock, "cpu": cpu}
    if where:
        spec = tn.sharding.PartitionSpec("slices")
        whole = tn.sharding.PartitionSpec()
        gather = tn.jit(lambda x: (x + 1,), mesh=mesh, in_shardings=spec, out_shardings=whole)
        sums = tn.device_put(np.zeros((2, SIZE * SIZE + 1)), tn.sharding.NamedSharding(mesh, spec))
        gather(sums)
        found["reduction"], found["reduction_cpu"] = seconds(lambda: gather(sums), 20)
        tn.sharding.shutdown()
    print(json.dumps(found))


def run(numbers: list[int], calls: int) -> list[dict[str, list[float]]]:
    """The times of processes that run at once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cores = sorted(os.sched_getaffinity(0))
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, *map(str, (cores[max(number, 0)], port, number, calls))],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in numbers
    ]
    try:
        texts = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [json.loads(text.splitlines()[-1]) for text in texts]


def main(calls: int = 5) -> None:
    (alone,) = run([-1], calls)
    shared = run([0, 1], calls)
    one = {name: float(np.median(alone[name])) for name in ("clock", "cpu")}
    for name in ("clock", "cpu"):
        two = max(float(np.median(each[name])) for each in shared)
        key = "reduction" if name == "clock" else "reduction_cpu"
        reduction = max(float(np.median(each[key])) for each in shared)
        print(
            f"{name}: one process {one[name]:.3f} s, two {two:.3f} s: {two / one[name]:.3f} of it "
            f"(bound {1 / (2 * 0.85):.3f}); reduction {reduction * 1e3:.2f} ms, "
            f"{reduction / two:.2%} (bound 2 %)"
        )


if __name__ == "__main__":
    if len(sys.argv) == 5:
        child(*sys.argv[1:])
    else:
        main()
