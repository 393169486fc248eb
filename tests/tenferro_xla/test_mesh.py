"""Programs over meshes. JAX fixes its devices when it starts, so they run in child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.in_jax import QUICKLY

HERE = Path(__file__).parent


PARTS = ("", "_memory", "_programs", "_set_mesh", "_shard_map", "_slices")
FILES = tuple([f"on_four_devices{part}.py" for part in PARTS])


def on_four_devices(*further: str) -> None:
    """Run the tests of files where there are so many virtual devices.

    LLVM compiles quickly: how values are divided is decided before.
    """
    quickly = (f"--{name}={str(value).lower()}" for name, value in QUICKLY.items())
    options = ("--xla_force_host_platform_device_count=4", *quickly)
    flags = {"XLA_FLAGS": " ".join(options), "JAX_PLATFORMS": "cpu"}
    files = [str(HERE / file) for file in FILES]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, *further],
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_on_four_devices() -> None:
    on_four_devices()


@pytest.mark.exhaustive
def test_on_four_devices_further() -> None:
    on_four_devices("--exhaustive")
