"""What computes a part: versions and device, on which its last bits may depend."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path

from tenferro.values import Executor


@functools.cache
def own_version() -> str:
    """The version of tenferro."""
    return version_of("tenferro")


def maker_of(executor: Executor) -> str:
    """What an executor computes with, as one line: its library, its device and the processor.

    >>> from tenferro.values import executor_named
    >>> maker_of(executor_named("numpy")).partition(" on ")[0]
    'numpy 2...'
    """
    device = getattr(executor, "device", None)
    library = "numpy" if device is None else type(device).__module__.partition(".")[0]
    try:
        version = version_of(library)
    except PackageNotFoundError:
        version = "?"
    kind = getattr(device, "device_kind", "host")
    return f"{library} {version} on {kind} ({_processor()})"


@functools.cache
def _processor() -> str:
    """The model of the processor, where the system tells; else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
