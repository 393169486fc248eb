"""A compiled program of fixed types on one device."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from tenferro.errors import BindingError, DeviceError
from tenferro.exec_ir import Array, ExecProgram
from tenferro.shape import TensorMeta
from tenferro_xla.devices import device_name
from tenferro_xla.lowering import check_callbacks
from tenferro_xla.target import XlaTarget

Buffers = tuple[jax.Array, ...]


class LoadedExecutable:
    """A compiled program of fixed types on one device: device arrays in, device arrays out."""

    __slots__ = ("_call", "_donated", "_metas", "_target", "code_size", "compiled")

    def __init__(
        self,
        program: ExecProgram,
        compiled: jax.stages.Compiled,
        target: XlaTarget,
        donated: tuple[int, ...] = (),
    ) -> None:
        self.compiled = compiled
        self._donated = donated
        self._target = target
        self._metas = program.input_metas
        self._call: Callable[..., Buffers] = self._checked_call if target.checked else compiled
        analysis = compiled.memory_analysis()
        reported = 0 if analysis is None else analysis.generated_code_size_in_bytes
        # XLA on CPU reports 0; machine code of an op is about a KiB.
        self.code_size = int(reported) or 1024 * (1 + len(program.instructions))

    def __call__(self, *buffers: jax.Array) -> Buffers:
        """Run on buffers of the program's input types.

        Raises:
            DeviceError: a buffer is on another device.
            BindingError: a buffer is of another type, or was donated.
            BackendFailureError: a callback of the user failed.
        """
        try:
            return self._call(*buffers)
        except (TypeError, ValueError, RuntimeError) as error:
            check_callbacks(error)
            self._explain(buffers)
            raise

    def run_host(self, *values: jax.Array | Array) -> Buffers:
        """The same for inputs that may be NumPy arrays, which are uploaded.

        JAX may read a NumPy array after it has returned, so one that can change is copied first.
        """
        alignment = self._target.platform.alignment
        own = [
            private(value, alignment) if isinstance(value, np.ndarray) else value
            for value in values
        ]
        try:
            with jax.enable_x64(True):
                return self._call(*own)
        except (TypeError, ValueError, RuntimeError) as error:
            check_callbacks(error)
            self._explain(tuple(own), host=True)
            raise

    def _checked_call(self, *buffers: jax.Array) -> Buffers:
        """Run after checking devices, since JAX would move an array from another device."""
        for buffer in buffers:
            if isinstance(buffer, jax.Array):
                check_placed(buffer, self._target.device)
        results: Buffers = self.compiled(*buffers)
        return results

    def _explain(self, buffers: tuple[object, ...], host: bool = False) -> None:
        """Raise a typed error if the buffers are not what the program takes."""
        if len(buffers) != len(self._metas):
            raise BindingError(
                f"run: the program takes {len(self._metas)} inputs, got {len(buffers)}"
            )
        _explain_deleted(buffers)
        for position, (meta, buffer) in enumerate(zip(self._metas, buffers, strict=True)):
            if not isinstance(buffer, jax.Array | np.ndarray):
                raise BindingError(
                    f"run: input {position} is {meta}, but is given a {type(buffer).__name__}"
                )
            if buffer.shape != meta.static_shape or buffer.dtype != meta.dtype:
                actual = TensorMeta.of(buffer.dtype, buffer.shape)
                raise BindingError(f"run: input {position} is {meta}, but is given {actual}")
            if isinstance(buffer, jax.Array):
                check_placed(buffer, self._target.device)
            elif not host:
                raise BindingError(f"run: input {position}: {meta} is on the host; use run_host")
        _explain_shared(buffers, self._donated)


def _explain_deleted(buffers: tuple[object, ...]) -> None:
    """Raise BindingError if a buffer has been donated."""
    for position, buffer in enumerate(buffers):
        if isinstance(buffer, jax.Array) and buffer.is_deleted():
            raise BindingError(
                f"run: input {position} was donated to an earlier call; pass a copy to that call"
            )


def _explain_shared(buffers: tuple[object, ...], donated: tuple[int, ...]) -> None:
    """Raise BindingError if a donated buffer is also another input."""
    for taken in donated:
        for position, buffer in enumerate(buffers):
            if position != taken and buffer is buffers[taken]:
                raise BindingError(
                    f"run: inputs {min(taken, position)} and {max(taken, position)} are one array, "
                    "and it is donated; pass a copy for one of them"
                )


def private(array: Array, alignment: int = 1) -> Array:
    """The array if it cannot be written to; otherwise a copy, aligned as the platform reads it.

    XLA copies a small array that is not aligned, which costs less than to align it.
    """
    if not array.flags.writeable and array.base is None:
        return array
    if alignment == 1 or array.nbytes <= _SMALL:
        return np.array(array, order="C")  # not of a subclass, which JAX may refuse
    memory = np.empty(array.nbytes + alignment, np.uint8)
    own: Array = np.ndarray(array.shape, array.dtype, memory, -memory.ctypes.data % alignment)
    own[...] = array
    return own


_SMALL = 1 << 14


def check_placed(buffer: jax.Array, device: jax.Device) -> None:
    """Raise DeviceError unless the whole array is on `device`."""
    holders = buffer.sharding.device_set
    if len(holders) != 1 or device not in holders:
        where = ", ".join(sorted(device_name(holder) for holder in holders))
        raise DeviceError(
            f"run: an array is on {where}, but the program runs on {device_name(device)}; "
            "move it with jax.device_put or tn.to_device"
        )
