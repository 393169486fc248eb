"""A program on the devices of a mesh: one executable for each set of shardings of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from tenferro.config import config
from tenferro.errors import BindingError, DeviceError
from tenferro.ir import ExecProgram, NumpyArray, TensorMeta
from tenferro.runtime import Shardings
from tenferro_xla.compiled.executable import Buffers, LoadedExecutable, private, refuse_deleted
from tenferro_xla.placement import (
    OnMesh,
    automatic,
    canonical,
    check_divides,
    put,
    where,
)

# A program on the devices of a mesh: one executable for each set of shardings of its inputs.

Load = Callable[[tuple[NamedSharding, ...]], LoadedExecutable]
"""Compiles the program for inputs that are divided so."""


class MeshExecutable:
    """A program of fixed types on a mesh, compiled for the shardings that its inputs have.

    Inputs whose shardings are declared must have these; NumPy arrays are uploaded part by part.

    Raises:
        ShardingError: a declared sharding does not divide its array.
    """

    code_size = 0
    """The cache counts the code of the executables for shardings, which are its entries too."""

    def __init__(
        self, program: ExecProgram, placement: OnMesh, shardings: Shardings, load: Load
    ) -> None:
        self._metas = program.input_metas
        self._placement = placement
        self._names = shardings.names
        self._load = load
        self._declared = _all(shardings.inputs, len(self._metas))
        outputs = _all(shardings.outputs, len(program.output_metas))
        _check_all(self._metas, self._declared, self._name)
        _check_all(program.output_metas, outputs, lambda position: f"result {position}")
        self._known: dict[tuple[Any, ...], LoadedExecutable] = {}

    def __call__(self, *buffers: jax.Array) -> Buffers:
        """Run on buffers of the program's input types.

        Raises:
            DeviceError: a buffer is on another device or mesh, or is divided otherwise.
            BindingError: a buffer is of another type, or was donated.
        """
        return self._of(buffers)(*buffers)

    def run_host(self, *values: jax.Array | NumpyArray) -> Buffers:
        """The same for inputs that may be NumPy arrays, which are uploaded."""
        self._check_count(values)
        buffers = [
            put(private(value), sharding or self._placement.whole)
            if isinstance(value, np.ndarray)
            else value
            for value, sharding in zip(values, self._declared, strict=True)
        ]
        return self._of(buffers)(*buffers)

    def of(self, shardings: Sequence[NamedSharding]) -> LoadedExecutable:
        """The executable for inputs that are divided so."""
        return self._load(tuple([canonical(sharding) for sharding in shardings]))

    def _of(self, buffers: Sequence[jax.Array]) -> LoadedExecutable:
        try:
            key = tuple([buffer.sharding for buffer in buffers])
        except AttributeError:
            raise BindingError(
                f"run: takes arrays on {self._placement}, got "
                f"{', '.join(type(buffer).__name__ for buffer in buffers)}; use run_host"
            ) from None
        executable = self._known.get(key)
        if executable is None:
            self._check_count(buffers)
            for position, buffer in enumerate(buffers):
                self._check(position, buffer)
            if len(self._known) >= config.cache_entries:
                self._known.clear()
            executable = self._known[key] = self.of(key)  # type: ignore[arg-type]  # checked
        for buffer in buffers:
            if buffer.is_deleted():  # JAX would read what is not there
                refuse_deleted(buffers)
        return executable

    def _check_count(self, values: Sequence[object]) -> None:
        """Raise BindingError unless there is a value for each input."""
        if len(values) != len(self._metas):
            raise BindingError(
                f"run: the program takes {len(self._metas)} inputs, got {len(values)}"
            )

    def _check(self, position: int, buffer: jax.Array) -> None:
        """Raise DeviceError unless the buffer is on the mesh, divided as is declared."""
        sharding, declared = buffer.sharding, self._declared[position]
        if not isinstance(sharding, NamedSharding) or (
            automatic(sharding.mesh) != self._placement.mesh
        ):
            raise DeviceError(
                f"run: {self._name(position)} is on {where(buffer)}, but the program runs on "
                f"{self._placement}; move it with tn.device_put"
            )
        if declared is not None and not sharding.is_equivalent_to(declared, buffer.ndim):
            raise DeviceError(
                f"run: {self._name(position)} is divided by {sharding.spec} on {self._placement}, "
                f"but in_shardings says {declared.spec}; move it with tn.device_put"
            )

    def _name(self, position: int) -> str:
        if position < len(self._names):
            return f"argument {self._names[position]}"
        return f"input {position}"


def _all(shardings: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    return (*shardings, *(None,) * (count - len(shardings)))


def _check_all(
    metas: Sequence[TensorMeta], shardings: Sequence[Any], name: Callable[[int], str]
) -> None:
    """Raise ShardingError unless each declared sharding divides its array."""
    for position, (meta, sharding) in enumerate(zip(metas, shardings, strict=True)):
        if sharding is not None:
            assert meta.static_shape is not None, "the program is bound"
            check_divides(sharding, meta.static_shape, f"jit: {name(position)}", meta)
