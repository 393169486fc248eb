"""Sliced networks on several devices and processes. JAX fixes devices when it starts: children."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import tenferro as tn
from tests.tenferro_xla.sliced_networks import OPERANDS, digest, value_and_gradient
from tests.tenferro_xla.test_mesh import checks

HERE = Path(__file__).parent


def test_on_four_devices() -> None:
    checks("slices_on_four_devices.py")


def test_two_processes_compute_the_bits_of_one_device() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = "--xla_force_host_platform_device_count=2"
    command = [sys.executable, str(HERE / "slices_on_two_processes.py"), str(port)]
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
