"""A farm of workers that share a device: one, two, and two of which one is killed; equal bits.

Each worker may take `--fraction` of the device's memory. They compute on their default device, the
first GPU where there is one; `--device cpu:0` keeps them on the CPU.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import tempfile
import time
from argparse import Namespace
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from support.harness import arguments, note, table
from support.on_device import begin, device_arguments, finish

import tenferro as tn


def network(size: int) -> tuple[tn.EinsumPlan, list[Any]]:
    """A ring of tensors, cut into slices."""
    shapes = [(size, size, 16)] * 4
    rng = np.random.default_rng(0)
    operands = [rng.normal(size=shape) / size for shape in shapes]
    plan = tn.einsum_plan("abx,bcy,cdx,day->xy", *operands, slices="d")
    return plan, operands


def killer(after: int) -> Any:
    """A function of progress that kills a worker once, when so many parts are done."""
    killed: list[int] = []

    def report(done: int, total: int, seconds: float) -> None:
        workers = multiprocessing.active_children()
        if done >= after and workers and not killed:
            killed.append(done)
            workers[0].kill()

    return report


def run(options: Namespace, workers: int, progress: Any) -> dict[str, Any]:
    """Seconds and digest of value and gradient, from an empty store."""
    plan, operands = network(options.size)

    def make() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))

    def loss(*tensors: Any) -> Any:
        return tn.sum(tn.einsum("abx,bcy,cdx,day->xy", *tensors, optimize=plan) ** 2)

    with (
        tempfile.TemporaryDirectory() as store,
        tn.FarmExecutor(make, store, parts=options.parts, progress=progress) as farm,
    ):
        start = time.perf_counter()
        value, gradient = tn.jit(tn.value_and_grad(loss), executor=farm)(*operands)
        seconds = time.perf_counter() - start
        digest = hashlib.sha256(value.numpy().tobytes() + gradient.numpy().tobytes()).hexdigest()
        note(str(farm.report()))
    return {"workers": workers, "seconds": seconds, "digest": digest[:16]}


def main() -> None:
    parser = arguments(__doc__)
    device_arguments(parser)
    parser.add_argument("--size", type=int, default=16, help="of the bonds of the network")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--fraction", type=float, default=0.45, help="of the device's memory")
    options = parser.parse_args()
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # also in this process, which has no part
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = str(options.fraction)
    if options.device.startswith("cpu"):
        os.environ["JAX_PLATFORMS"] = "cpu"
    device = begin(options)
    runs = {
        "one worker": run(options, 1, None),
        "two workers": run(options, 2, None),
        "two, one killed": run(options, 2, killer(1)),
    }
    rows = [[name, f"{each['seconds']:.2f}", each["digest"]] for name, each in runs.items()]
    table("value and gradient", ["", "seconds", "digest"], rows)
    assert len({each["digest"] for each in runs.values()}) == 1, "the bits differ"
    finish(options, device, runs)


if __name__ == "__main__":
    main()
