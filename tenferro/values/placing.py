"""Bringing values to where a program runs. Nothing moves between devices unasked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tenferro.errors import DeviceError
from tenferro.shape import TensorMeta
from tenferro.values.executors import Buffer, Executor


class PlacedValue(Protocol):
    """A tensor, as far as its place is concerned."""

    @property
    def data(self) -> Buffer:
        """The buffer."""

    @property
    def executor(self) -> Executor | None:
        """The executor that owns the buffer; None for a NumPy array."""

    @property
    def placement(self) -> str:
        """Where the buffer is, as errors say it."""

    @property
    def meta(self) -> TensorMeta:
        """Dtype and extents."""


def where_to_run(name: str, tensors: Sequence[PlacedValue]) -> Executor | None:
    """The executor that owns all of the tensors; None where they are NumPy arrays.

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
    """The tensor's buffer on an executor, None for NumPy; a NumPy array is put there.

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
            return tensor.data  # made by another executor of the same library
    runs_on = "numpy" if executor is None else executor.name
    raise DeviceError(
        f"{name}: {tensor.meta} is on {tensor.placement}, not on {runs_on}; move it with "
        "to_device('host')"
    )
