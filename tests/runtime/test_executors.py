"""Executors by name: what is installed is read once."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import jax
import pytest

import tenferro as tn
from tenferro.errors import DeviceError, ExecutorError
from tenferro.runtime import check_executor, executor_module, executor_named
from tenferro.runtime import executors as by_name

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


def test_devices_say_their_platform_and_number_as_those_of_jax_do() -> None:
    device, of_jax = tn.devices("cpu")[0], jax.devices("cpu")[0]
    assert (device.platform, device.id) == (of_jax.platform, of_jax.id)
    assert tn.zeros(3).device.platform == "host"
    (there,) = tn.device_put(tn.zeros(3), device).devices()
    assert isinstance(there, tn.Device)
    assert there.platform == "cpu"


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


INTERRUPTED = """
import importlib.abc, os, signal, sys
import tenferro as tn

class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "jax._src.core":
            os.kill(os.getpid(), signal.SIGINT)

f = tn.jit(lambda x: tn.sin(x) + 1)
sys.meta_path.insert(0, Interrupt())
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may ignore it
try:
    f(0.0)
except KeyboardInterrupt:
    print("interrupted", "jax" in sys.modules)
print(f(0.0).item(), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.exhaustive
def test_an_interrupt_of_the_first_call_leaves_no_library_half_imported() -> None:
    environ = {**os.environ, "PYTHONPATH": str(Path(tn.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "interrupted True\n1.0 True\n", done.stderr
