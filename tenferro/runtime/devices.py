"""Devices by name, free memory, moving tensors, the device of plans."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tenferro.compiler import DeviceModel
from tenferro.errors import ConfigError, DeviceError, ExecutorError
from tenferro.ir import TensorMeta
from tenferro.ops.extension import Package
from tenferro.runtime.executors import (
    Buffer,
    Executor,
    executor_module,
    executor_named,
    installed_executors,
    is_executor,
)

__all__ = [
    "HOST_MODEL",
    "MESH_OF_THREAD",
    "KnowsDevice",
    "device_names",
    "executor_on",
    "free_host_bytes",
    "holder_of",
    "place",
    "planned_free_bytes",
    "planned_model",
    "planning_for",
    "runs_family",
    "using_mesh",
    "where_to_run",
]


# Devices by name: the host, and those of installed executors.

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
    reasons = "".join(f"; {error}" for error in _errors_of_executors())
    raise DeviceError(f"device: there is no device {device!r}; there are {known}{reasons}")


def _errors_of_executors() -> list[ExecutorError]:
    """Why installed executors, whose devices are therefore not there, cannot be loaded."""
    errors = []
    for name in installed_executors():
        try:
            executor_module(name)
        except ExecutorError as error:
            errors.append(error)
    return errors


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


# Moving values to the executor of a program. Only values on the host are moved implicitly.


class PlacedValue(Protocol):
    """A value with a buffer and the executor that owns it."""

    @property
    def _buffer(self) -> Buffer:
        """The buffer."""

    @property
    def executor(self) -> Executor | None:
        """The executor that owns the buffer; None for a NumPy array."""

    @property
    def placement(self) -> str:
        """Where the buffer is, as error texts name it."""

    @property
    def meta(self) -> TensorMeta:
        """Dtype and extents."""


def where_to_run(name: str, tensors: Sequence[PlacedValue]) -> Executor | None:
    """The executor of the device that tensors are on; None if all are on the host.

    Tensors on the host go where the others are. `name` is the function that is called.

    Raises:
        DeviceError: the tensors are on different devices.
    """
    on_devices = [tensor for tensor in tensors if tensor.executor is not None]
    executors = {id(tensor.executor): tensor.executor for tensor in on_devices}
    if len(executors) < 2:
        return next(iter(executors.values()), None)
    first, *others = dict.fromkeys(tensor.placement for tensor in on_devices)
    if others:
        where = " and ".join(f"{tensor.meta} on {tensor.placement}" for tensor in on_devices)
        raise DeviceError(
            f"{name}: operands are in different places ({where}); move them with "
            + ("tn.device_put" if first.startswith("mesh(") else f"to_device({first!r})")
        )
    there = (each for each in executors.values() if each is not None and place_of(each) == first)
    return next(there, on_devices[0].executor)


def place(name: str, tensor: PlacedValue, executor: Executor | None) -> Any:
    """The tensor's buffer on `executor`, or on NumPy if it is None. NumPy arrays are uploaded.

    `name` is the function that is called.

    Raises:
        DeviceError: the tensor is on a device that is not the executor's.
    """
    owner = tensor.executor
    if owner is executor:
        return tensor._buffer
    if executor is not None:
        if owner is None:
            return executor.put(tensor._buffer)
        if executor.owns(tensor._buffer):
            return tensor._buffer  # another executor of the same library made the buffer
    runs_on = "numpy" if executor is None else executor.name
    raise DeviceError(
        f"{name}: {tensor.meta} is on {tensor.placement}, not on {runs_on}; move it with "
        "to_device('host')"
    )


# How much memory of the host a program may take.

_MEMINFO = Path("/proc/meminfo")
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
"""Files of control groups, of both versions: the limit, and what is in use."""


def free_host_bytes() -> int:
    """The bytes that the system says a program may take now, also in a container.

    Raises:
        ConfigError: the system does not tell.

    >>> free_host_bytes() > 0
    True
    """
    known = [each for each in (_of_the_system(), *map(_of_a_group, _GROUPS)) if each is not None]
    if not known:
        raise ConfigError(
            "memory_limit: this system does not tell how much memory is free; pass a number of "
            "bytes in place of 'device'"
        )
    return max(min(known), 1)


def _of_the_system() -> int | None:
    """What is available without swapping, caches included."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _of_a_group(files: tuple[str, str]) -> int | None:
    """What is left of the limit of a control group; None if there is none."""
    try:
        limit, used = (int(Path(name).read_text()) for name in files)
    except (OSError, ValueError):  # "max" is no limit
        return None
    return limit - used


# The device that plans are made for: orders of networks, modes of derivatives, memory limits.


@runtime_checkable
class KnowsDevice(Protocol):
    """An executor that tells what its device is like before anything is compiled for it."""

    @property
    def device_model(self) -> DeviceModel:
        """What programs cost on the device, and how they use its memory."""

    def free_bytes(self) -> int:
        """The bytes that a program may take on the device now.

        Raises:
            ConfigError: the device does not tell.
        """


HOST_MODEL = DeviceModel()
_planned_for: ContextVar[object] = ContextVar("tenferro_planned_for", default=None)


@contextmanager
def planning_for(executor: object) -> Iterator[None]:
    """Within the block, plans are made for the device of `executor`; None changes nothing.

    Where it runs on a mesh, that is the mesh that is used where none is passed.
    """
    if executor is None:
        yield
        return
    token, before = _planned_for.set(executor), MESH_OF_THREAD.mesh
    mesh = getattr(getattr(executor, "placement", None), "mesh", None)
    MESH_OF_THREAD.mesh = before if mesh is None else mesh
    try:
        yield
    finally:
        MESH_OF_THREAD.mesh = before
        _planned_for.reset(token)


# The mesh that is set where none is passed.


class MeshOfThread(threading.local):
    """The mesh that `tn.set_mesh` sets in a thread.

    Attributes:
        mesh: None where there is none. Equal meshes are one object.
    """

    mesh: Any = None


MESH_OF_THREAD = MeshOfThread()


@contextmanager
def using_mesh(mesh: object) -> Iterator[None]:
    """Within the block, this mesh is used where none is passed; None changes nothing."""
    before = MESH_OF_THREAD.mesh
    MESH_OF_THREAD.mesh = before if mesh is None else mesh
    try:
        yield
    finally:
        MESH_OF_THREAD.mesh = before


@runtime_checkable
class RunsFamilies(Protocol):
    """An executor that runs extension families by runtimes that were registered."""

    def runs_family(self, family: str) -> bool:
        """Whether a runtime was registered for a family."""


def runs_family(family: str, packages: Iterable[Package], holder: object = None) -> bool:
    """Whether what is traced now is run by a runtime of a family.

    Args:
        family: the family.
        packages: what the executor is given in addition.
        holder: the executor where nothing is being compiled, that of the arrays; None is NumPy's.
    """
    executor = _planned_for.get() or holder or executor_named("numpy")
    if not isinstance(executor, RunsFamilies):
        return False
    added = (runtime.family_id for package in packages for runtime in package.runtimes)
    return executor.runs_family(family) or family in added


def holder_of(values: Iterable[object]) -> object:
    """The executor that holds one of the values; None if they are on the host or are traced."""
    for value in values:
        holder = getattr(value, "executor", None)
        if holder is not None:
            return holder
    return None


def planned_model(holder: object = None) -> DeviceModel:
    """The model of the device of `holder`, or that plans are made for; if it has none, the CPU's.

    >>> from tenferro.compiler import CPU
    >>> planned_model().costs == CPU
    True
    """
    executor = _planned_for.get() if holder is None else holder
    model: DeviceModel = getattr(executor, "device_model", HOST_MODEL)
    return model


def planned_free_bytes(holder: object = None) -> int:
    """The bytes that are free on the device of `holder`, or that plans are made for, or the host.

    Raises:
        ConfigError: the device does not tell.
    """
    executor = _planned_for.get() if holder is None else holder
    return executor.free_bytes() if isinstance(executor, KnowsDevice) else free_host_bytes()
