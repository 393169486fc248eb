"""One of two processes, each with two devices, that share the slices of a network.

`test_shared_slices` starts it: `python slices_on_two_processes.py PORT NUMBER`. It prints the bits.
"""

from __future__ import annotations

import sys

import jax

import tenferro as tn
from tests.tenferro_xla.sliced_networks import OPERANDS, digest, value_and_gradient


def main(port: str, number: str) -> None:
    """Join the other process, run the network, and print its digest."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"127.0.0.1:{port}", num_processes=2, process_id=int(number), initialization_timeout=30
    )
    mesh = tn.sharding.make_mesh((4,), ("data",))
    print(digest(tn.jit(value_and_gradient, mesh=mesh, slices="data")(*OPERANDS)))
    jax.distributed.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
