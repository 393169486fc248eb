"""The executors that the core finds by name: the default one, and those on devices."""

from __future__ import annotations

import functools
import threading

import jax

from tenferro.runtime import Executor, executor_named
from tenferro_xla.executor import XlaExecutor
from tenferro_xla.places import OneDevice, find_device


def default_executor() -> XlaExecutor:
    """The executor that the core finds under the name `xla`; created on the first call."""
    with _making:
        return _default()


def executor_on(device: str) -> Executor:
    """The executor on a device with the default options; one for each device.

    On the device of the executor that is registered under the name `xla` it is that one.

    Raises:
        DeviceError: there is no such device; the text lists those that exist.

    >>> executor_on("cpu:0")
    XlaExecutor('cpu:0')
    """
    found = find_device(device)
    named = executor_named("xla")
    if getattr(named, "placement", None) == OneDevice(found):
        return named
    with _making:
        return _executor_on(found)


_making = threading.Lock()


@functools.cache
def _default() -> XlaExecutor:
    return XlaExecutor()


@functools.cache
def _executor_on(device: jax.Device) -> XlaExecutor:
    return XlaExecutor(device)
