"""Moving values to the executor of a program. Only values on the host are moved implicitly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tenferro.errors import DeviceError
from tenferro.shape import TensorMeta
from tenferro.values.devices import place_of
from tenferro.values.executors import Buffer, Executor


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
