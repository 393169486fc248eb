"""A farm that is killed and resumed: value and gradient of a network, with the same bits.

A network on a ring with chords is contracted slice by slice by a pool of two processes. The process
that coordinates them is killed with -9 on the way. The parts that were done lie in the store, so
the second run computes only what is missing, and ends in the bits of a run that nobody killed.
"""

import hashlib
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np

import tenferro as tn

TENSORS, BOND, PARTS = 10, 8, 16
RING = [
    [number, (number + 1) % TENSORS, TENSORS + number % (TENSORS // 2)] for number in range(TENSORS)
]


def tensors():
    """Random tensors `[left, right, chord]`; a chord joins tensors that face each other."""
    generator = np.random.default_rng(0)
    return [generator.normal(size=(BOND, BOND, BOND)) / BOND**1.5 for _ in RING]


def partition_function(*operands):
    """The network, which is a number, in a loop over the values of three labels."""
    specs = [tn.TensorSpec(operand.shape) for operand in operands]
    plan = tn.einsum_plan((RING, []), *specs, slices=BOND**3)
    return tn.einsum((RING, []), *operands, optimize=plan)


def run(engine, store):
    """The digest of value and gradient, and what the farm did for them."""
    with tn.FarmExecutor(engine, store, parts=PARTS, worker="numpy") as farm:
        function = tn.value_and_grad(partition_function, argnums=tuple(range(TENSORS)))
        value, gradient = tn.jit(function, executor=farm)(*tensors())
    bits = b"".join(np.asarray(each).tobytes() for each in (value, *gradient))
    return hashlib.sha256(bits).hexdigest()[:16], farm.report()


def processes():
    """A pool of two processes; the farm makes another one if a worker dies."""
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(2, mp_context=spawn, initializer=tn.FarmExecutor.watch_parent)


def parts_in(store):
    """How many parts are done."""
    return len([path for path in Path(store).glob("*/part-*") if not path.suffix])


def main():
    with tempfile.TemporaryDirectory() as folder:
        expected, _ = run(lambda: ThreadPoolExecutor(1), Path(folder, "threads"))
        print(f"nobody killed:  {expected}")

        store = Path(folder, "processes")
        coordinator = subprocess.Popen([sys.executable, __file__, str(store)])
        while parts_in(store) < PARTS // 2 and coordinator.poll() is None:
            time.sleep(0.01)
        coordinator.send_signal(signal.SIGKILL)
        coordinator.wait()
        print(f"killed with -9; the store has {parts_in(store)} parts or more")

        found, report = run(processes, store)
        print(f"run again:      {found}")
        print(report)
        assert found == expected


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(processes, sys.argv[1])
    else:
        sys.exit(main())
