"""Keeping memory: in a process of its own, since it cannot be undone."""

import subprocess
import sys
from typing import Any

import pytest

from tenferro.errors import ConfigError, ExecutorError
from tenferro_xla.platforms import cpu

PROGRAM = """
import resource
import numpy as np
import tenferro_xla as txla

def faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(6_000_000)  # 48 MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
mapped = faults()
txla.keep_host_memory()
faults()
print(mapped, faults())
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="glibc is asked")
def test_freed_memory_is_not_mapped_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    mapped, kept = map(int, done.stdout.split())
    assert kept < mapped / 10


def test_without_glibc_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu.sys, "platform", "darwin")
    with pytest.raises(ExecutorError, match="keep_host_memory: needs glibc"):
        cpu.keep_host_memory()


@pytest.mark.parametrize("headroom", [-1, 1.5, 2**31, None])
def test_headroom_is_a_number_of_bytes(headroom: Any) -> None:
    with pytest.raises(ConfigError, match="headroom"):
        cpu.keep_host_memory(headroom)
