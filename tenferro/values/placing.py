"""Moving values to the executor of a program. Only NumPy arrays are moved implicitly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tenferro.errors import DeviceError
from tenferro.shape import TensorMeta
from tenferro.values.executors import Buffer, Executor


class PlacedValue(Protocol):
    """A value with a buffer and the executor that owns it."""

    @property
    def data(self) -> Buffer:
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
    """The executor that owns all of the tensors; None if all are NumPy arrays.

    `name` is the function that is called.

    Raises:
        DeviceError: the tensors are in different places.
    """
    executors = {id(tensor.executor): tensor.executor for tensor in tensors}
    if len(executors) > 1:
        where = " and ".join(f"{tensor.meta} on {tensor.placement}" for tensor in tensors)
        raise DeviceError(
            f"{name}: operands are in different places ({where}); move one with to_device"
        )
    return next(iter(executors.values()), None)


def place(name: str, tensor: PlacedValue, executor: Executor | None) -> Any:
    """The tensor's buffer on `executor`, or on NumPy if it is None. NumPy arrays are uploaded.

    `name` is the function that is called.

    Raises:
        DeviceError: the tensor is on a device that is not the executor's.
    """
    owner = tensor.executor
    if owner is executor:
        return tensor.data
    if executor is not None:
        if owner is None:
            return executor.put(tensor.data)
        if executor.owns(tensor.data):
            return tensor.data  # another executor of the same library made the buffer
    runs_on = "numpy" if executor is None else executor.name
    raise DeviceError(
        f"{name}: {tensor.meta} is on {tensor.placement}, not on {runs_on}; move it with "
        "to_device('host')"
    )
