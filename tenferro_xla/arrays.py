"""The arrays of an executor: where they are, and moving them there and back."""

from __future__ import annotations

import jax
import numpy as np

from tenferro.errors import DeviceError
from tenferro.exec_ir import Array
from tenferro_xla.compiled import upload
from tenferro_xla.places import (
    VIEWS,
    OnMesh,
    Placement,
    absent,
    await_parts,
    devices,
    own_settings,
    read,
    refuse_lost,
    refuse_unreadable,
    where,
)
from tenferro_xla.platforms import platform_of


class Arrays:
    """The arrays of JAX on one device, or divided among the devices of a mesh."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._whole = placement.whole
        self._platform = platform_of(placement.first)
        with own_settings():
            self._array_type = type(jax.device_put(np.zeros((), np.float32), devices()[-1]))

    @property
    def placement(self) -> Placement:
        """Where everything runs: on one device, or on a mesh."""
        return self._placement

    @property
    def device(self) -> jax.Device:
        """The device on which everything runs.

        Raises:
            DeviceError: it is a mesh of devices; see `placement`.
        """
        if isinstance(self._placement, OnMesh):
            raise DeviceError(f"device: the executor runs on {self._placement}; see placement")
        return self._placement.device

    def where(self, buffer: jax.Array) -> str:
        """Where an array is: the name of a device or of a mesh."""
        return where(buffer)

    def absent(self, buffer: jax.Array) -> str | None:
        """Why the elements of an array cannot be read in this process; None if they can."""
        return absent(buffer)

    def put(self, array: Array) -> jax.Array:
        """A NumPy array as an array here, which does not share memory with it.

        On a mesh each device holds all of it.
        """
        return upload(array, self._whole, self._platform)

    def get(self, buffer: jax.Array) -> Array:
        """A device array as a read-only NumPy array.

        Raises:
            DeviceError: the array was donated to a call, which has overwritten it.
        """
        return read(buffer)

    def hand_out(self, buffer: jax.Array) -> None:
        """Let the user have an array whose memory would be used again when no tensor has it.

        Raises:
            ForkedError: the process was forked before it was computed.
        """
        refuse_unreadable("data", buffer)
        VIEWS.hand_out(buffer)

    def owns(self, value: object) -> bool:
        """Whether the value is a JAX array with elements, on any device; False for a tracer."""
        return type(value) is self._array_type

    def wait(self, buffer: jax.Array) -> None:
        """Wait until an array has been computed.

        Raises:
            DistributedError: the computation of it lost another process.
            ForkedError: the process was forked before it was computed.
        """
        refuse_unreadable("block_until_ready", buffer)
        try:
            await_parts(buffer)
        except (RuntimeError, ValueError) as error:
            refuse_lost(error)
            raise
