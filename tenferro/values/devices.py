"""Devices by name: the host, and those of installed executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.errors import DeviceError, ExecutorError
from tenferro.values.executors import (
    Buffer,
    Executor,
    executor_module,
    executor_named,
    installed_executors,
    is_executor,
)

HOST = "host"
"""The device of NumPy arrays."""


def device_of(buffer: Buffer, executor: Executor | None) -> str:
    """Where a buffer of `executor` is: `host`, a device like `cpu:0`, or a mesh of devices."""
    if executor is None:
        return HOST
    where: Callable[[Buffer], str] | None = getattr(executor, "where", None)
    return executor.name if where is None else where(buffer)


def absent(buffer: Buffer, executor: Executor | None) -> str | None:
    """Why the elements of a buffer of `executor` cannot be read here; None if they can."""
    why: Callable[[Buffer], str | None] | None = getattr(executor, "absent", None)
    return None if why is None else why(buffer)


def handed_out(buffer: Buffer, executor: Executor | None) -> Buffer:
    """A buffer of `executor` for the user, who may have it longer than the tensor around it."""
    hand_out: Callable[[Buffer], None] | None = getattr(executor, "hand_out", None)
    if hand_out is not None:
        hand_out(buffer)
    return buffer


def place_of(executor: Executor) -> str:
    """Where the buffers of an executor are."""
    return str(getattr(executor, "placement", executor.name))


def executor_on(device: object) -> Executor:
    """The executor for a device: an executor, its name, `host`, or the name of a device.

    A device of JAX, or a sharding on one, stands for its name.

    Raises:
        DeviceError: there is no such device; the text lists those that exist.

    >>> executor_on("host").name
    'numpy'
    """
    if isinstance(device, Executor):
        return device
    if not isinstance(device, str):
        names = [module.named_device(device) for module in _modules_with_devices()]
        device = next((name for name in names if name is not None), device)
    if not isinstance(device, str):
        raise DeviceError(
            f"device: takes the name of a device or an executor, got {device!r}; the devices "
            f"are {', '.join(map(repr, device_names()))}"
        )
    if device == HOST:
        return executor_named("numpy")
    if device in installed_executors():
        return executor_named(device)
    for module in _modules_with_devices():
        if device.partition(":")[0] in module.platforms():
            executor: Executor = module.executor_on(device)
            return executor
    if is_executor(device):  # installed meanwhile
        return executor_named(device)
    known = ", ".join(map(repr, device_names()))
    raise DeviceError(f"device: there is no device {device!r}; there are {known}")


def device_names(kind: str | None = None) -> tuple[str, ...]:
    """The devices of this process: the host, and those of installed executors.

    `kind` is the first word of the names of those that are wanted, such as `cpu`, or of what the
    library of an executor prints for them: `cuda` stands for `gpu`.

    >>> device_names()[0]
    'host'
    """
    names = {HOST: HOST}
    for module in _modules_with_devices():
        names |= {module.device_name(device): str(device) for device in module.devices()}
    return tuple(
        name
        for name, printed in names.items()
        if kind is None or kind in (name.partition(":")[0], printed.partition(":")[0])
    )


def import_dlpack(value: object) -> Buffer | None:
    """The array that another library holds on a device, as a buffer; None if none can hold it."""
    for module in _modules_with_devices():
        buffer = module.import_dlpack(value)
        if buffer is not None:
            return buffer
    return None


def _modules_with_devices() -> list[Any]:
    """The modules of the executors that list devices; those that cannot be loaded are left out."""
    modules = []
    for name in installed_executors():
        try:
            module = executor_module(name)
        except ExecutorError:
            continue
        if hasattr(module, "platforms"):
            modules.append(module)
    return modules
