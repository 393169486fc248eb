"""One of two processes, each with two devices, that share the slices of a network.

`test_shared_slices` starts it: `python slices_on_two_processes.py PORT NUMBER`. It prints the bits.
"""

from __future__ import annotations

import sys

import tenferro as tn
from tests.tenferro_xla.sliced_networks import OPERANDS, digest, value_and_gradient


def main(port: str, number: str) -> None:
    """Join the other process, run the network, and print its digest."""
    tn.sharding.initialize(f"127.0.0.1:{port}", 2, int(number))
    mesh = tn.sharding.make_mesh((4,), ("data",))
    results = tn.jit(value_and_gradient, mesh=mesh, slices="data")(*OPERANDS)
    sys.stdout.write(digest(results))
    tn.sharding.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
