"""Programs over meshes. JAX fixes its devices when it starts, so they run in child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def checks(file: str, devices: int = 4, seconds: int = 120) -> None:
    """Run the tests of a file where there are so many virtual devices."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / file)]
    done = subprocess.run(
        command,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.parametrize("file", ["on_four_devices.py"])
def test_on_four_devices(file: str) -> None:
    checks(file)
