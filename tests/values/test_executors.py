"""Executors by name: what is installed is read once."""

from importlib.metadata import EntryPoint

import pytest

import tenferro as tn
from tenferro.errors import DeviceError, ExecutorError
from tenferro.values import check_executor, executor_module, executor_named
from tenferro.values import executors as by_name

GROUP = "tenferro.executors"


def test_naming_devices_does_not_read_what_is_installed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = tn.devices()[0]

    def read(**options: str) -> None:
        raise AssertionError(f"read again: {options}")

    monkeypatch.setattr(by_name, "entry_points", read)
    assert tn.device_put([1.0])[0].to_device("host").to_device(first).device == first
    assert tn.zeros(3, device=first).device == first
    assert tn.device_count() == len(tn.devices())
    assert first.startswith(tn.default_backend())
    assert tn.jit(tn.exp)(0.0).item() == 1.0


def test_what_is_installed_later_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExecutorError, match="no executor is named 'later'"):
        executor_named("later")
    assert "later" not in tn.devices("host")
    points = [*by_name.entry_points(group=GROUP), EntryPoint("later", "tenferro.runtime", GROUP)]
    monkeypatch.setattr(by_name, "_INSTALLED", by_name._Installed())
    monkeypatch.setattr(by_name, "entry_points", lambda group: points[:-1])
    with pytest.raises(DeviceError, match="no device 'later'"):
        tn.zeros(1).to_device("later")
    monkeypatch.setattr(by_name, "entry_points", lambda group: points)
    check_executor("f", "later")
    assert executor_module("later").__name__ == "tenferro.runtime"
