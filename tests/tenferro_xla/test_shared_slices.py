"""Sliced networks that two processes share; on virtual devices see `on_four_devices_slices`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tenferro as tn
from tests.tenferro_xla.sliced_networks import OPERANDS, digest, value_and_gradient
from tests.tenferro_xla.test_processes import free_port

HERE = Path(__file__).parent


def test_two_processes_compute_the_bits_of_one_device() -> None:
    flags = "--xla_force_host_platform_device_count=2"
    command = [sys.executable, str(HERE / "slices_on_two_processes.py"), str(free_port())]
    both = [
        subprocess.Popen(
            [*command, str(number)],
            env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": "."},
            cwd=HERE.parents[1],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        outputs = [each.communicate(timeout=90) for each in both]
    finally:
        for each in both:
            each.kill()
    expected = digest(tn.jit(value_and_gradient)(*OPERANDS))
    assert [out.split()[-1:] for out, _ in outputs] == [[expected]] * 2, outputs
