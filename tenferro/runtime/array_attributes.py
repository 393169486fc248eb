"""What arrays of JAX say of their memory and their devices, said of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tenferro.ir import TensorSpec

__all__ = ["Device", "Shard"]


class Device(str):
    """The name of a device, such as `"cpu:0"`, with what a device of JAX says of itself.

    >>> device = Device("gpu:1")
    >>> device, device.platform, device.id
    ('gpu:1', 'gpu', 1)
    """

    __slots__ = ()

    @property
    def platform(self) -> str:
        """The first word of the name: `"cpu"`, `"gpu"`, …, or `"host"`."""
        return self.partition(":")[0]

    @property
    def device_kind(self) -> str:
        """The same as `platform`."""
        return self.platform

    @property
    def id(self) -> int:
        """The number in the name; 0 if there is none."""
        return int(self.partition(":")[2] or 0)


@dataclass(frozen=True, slots=True)
class Shard:
    """The part of a tensor that one device has.

    Attributes:
        device: its name.
        index: the slice of each axis that it is of the tensor.
        replica_id: the number of devices before this one that have the same part.
        data: the part, a tensor on this device.
    """

    device: Device
    index: tuple[slice, ...]
    replica_id: int
    data: Any


class ArrayAttributes:
    """Attributes and methods of tensors that have the names and meanings of those of JAX."""

    __slots__ = ()

    weak_type = False
    """Whether the dtype yields to others; that of a tensor does not."""
    committed = True
    """Whether the tensor stays on its device."""
    is_fully_addressable = True
    """Whether this process has all parts; others are refused where they are read."""

    def devices(self) -> set[Device]:
        """The names of the devices of the tensor: `{"cpu:0"}`."""
        array: Any = self
        return set(map(Device, array.placement.split(",")))

    @property
    def aval(self) -> TensorSpec:
        """The type of the tensor."""
        array: Any = self
        return TensorSpec.of(array.meta)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole tensor."""
        array: Any = self
        return bool(getattr(array._buffer, "is_fully_replicated", True))

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts that the devices of this process have."""
        array: Any = self
        parts = getattr(array._buffer, "addressable_shards", None)
        if parts is None:
            return [Shard(array.device, (slice(None),) * array.ndim, 0, array)]
        tensors = [(part, type(array)(part.data)) for part in parts]
        return [Shard(x.device, part.index, part.replica_id, x) for part, x in tensors]

    def addressable_data(self, index: int) -> Any:
        """The part that the device number `index` of this process has."""
        return self.addressable_shards[index].data

    def is_deleted(self) -> bool:
        """Whether the memory has been freed, or passed on to a program."""
        array: Any = self
        asked = getattr(array._buffer, "is_deleted", None)
        return asked is not None and bool(asked())

    def delete(self) -> None:
        """Free the memory on a device, which must not be read any more; none on the host."""
        array: Any = self
        free = getattr(array._buffer, "delete", None)
        if free is not None:
            free()

    def is_ready(self) -> bool:
        """Whether the tensor is computed."""
        array: Any = self
        asked = getattr(array._buffer, "is_ready", None)
        return asked is None or bool(asked())

    def copy_to_host_async(self) -> None:
        """Begin to copy the elements to the host, where they are read later."""
        array: Any = self
        begin = getattr(array._buffer, "copy_to_host_async", None)
        if begin is not None:
            begin()

    def on_device_size_in_bytes(self) -> int:
        """Bytes of all elements on the device."""
        array: Any = self
        return int(array.nbytes)

    def unsafe_buffer_pointer(self) -> int:
        """The address of the elements."""
        array: Any = self
        asked = getattr(array._buffer, "unsafe_buffer_pointer", None)
        return int(array.numpy().ctypes.data if asked is None else asked())

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the elements."""
        array: Any = self
        return bytes(array.numpy().tobytes(order))

    def byteswap(self) -> Any:
        """The elements with their bytes in reverse order."""
        array: Any = self
        return type(array)(array.numpy().byteswap())

    @property
    def flat(self) -> Iterator[Any]:
        """The elements one by one, in row-major order."""
        array: Any = self
        return iter(array.ravel())
