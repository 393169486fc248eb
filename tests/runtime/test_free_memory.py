"""What is free of the host's memory: the system's word, and the limits of a container."""

from pathlib import Path

import pytest

from tenferro.errors import ConfigError
from tenferro.runtime import devices, free_host_bytes


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(devices, "_MEMINFO", tmp_path / "meminfo")
    groups = ((str(tmp_path / "max"), str(tmp_path / "current")),)
    monkeypatch.setattr(devices, "_GROUPS", groups)
    (tmp_path / "meminfo").write_text("MemTotal: 99 kB\nMemFree: 7 kB\nMemAvailable: 40 kB\n")
    return tmp_path


def test_it_is_what_is_available_without_swapping(system: Path) -> None:
    assert free_host_bytes() == 40 << 10


@pytest.mark.parametrize(
    ("limit", "used", "free"),
    [("30000", "10000", 20000), ("max", "5", 40 << 10), ("5", "9", 1), ("10000000", "1", 40 << 10)],
)
def test_a_container_may_have_less(system: Path, limit: str, used: str, free: int) -> None:
    (system / "max").write_text(limit + "\n")
    (system / "current").write_text(used + "\n")
    assert free_host_bytes() == free


def test_a_system_that_does_not_tell(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (system / "meminfo").unlink()
    assert free_host_bytes() > 0  # POSIX's answer
    monkeypatch.delattr(devices.os, "sysconf")
    with pytest.raises(ConfigError, match="does not tell how much memory is free; pass a number"):
        free_host_bytes()
