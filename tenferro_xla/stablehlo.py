"""From an execution program to StableHLO, and from StableHLO to an executable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tenferro.config import config
from tenferro.errors import (
    BindingError,
    DeviceError,
    ExecutorError,
    UnsupportedDynamicShapeError,
)
from tenferro.exec_ir import Array, ExecProgram, check_budget, verify
from tenferro.shape import Exact, Leaf, TensorMeta, describe
from tenferro_xla.contractions import Costs, for_cpu
from tenferro_xla.devices import device_name
from tenferro_xla.extension import expanded
from tenferro_xla.lowering import LoweringOptions, jax_function

Buffers = tuple[jax.Array, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What an executor compiles for; the same for all of its programs.

    Attributes:
        device: where the programs run.
        lowering: options of the lowering.
        compiler_options: options of the XLA compiler.
        max_bytes: the largest value in bytes that a program may hold.
        checked: whether buffers may be elsewhere, so that each call must look.
        costs: by which contractions are rewritten for the CPU; None leaves them as they are.
    """

    device: jax.Device
    lowering: LoweringOptions
    compiler_options: Mapping[str, Any]
    max_bytes: int
    checked: bool
    costs: Costs | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What XLA expects one run to take."""

    flops: float
    bytes_accessed: float
    transcendentals: float


@dataclass(frozen=True, slots=True)
class Memory:
    """What an executable needs, in bytes."""

    arguments: int
    outputs: int
    temporaries: int
    aliased: int
    code: int


def lower_to_stablehlo(
    program: ExecProgram, target: Target, donate: tuple[int, ...] = ()
) -> jax.stages.Lowered:
    """The program as StableHLO, after all that XLA must not see has been refused.

    Raises:
        UnsupportedDynamicShapeError: an extent is not an integer; bind the symbols first.
        ExtentError: a value is larger than the byte budget, or an extent is out of range.
        UnsupportedExtensionError: an extension family has neither lowering nor standard-op form.
        VerifyError: the program is malformed, so that its types say nothing.
        ExecutorError: an op has no lowering.
    """
    require_static(program)
    program = expanded(program, target.lowering.extensions)
    verify(program)
    check_budget(program, target.max_bytes)
    if target.costs is not None:
        program = for_cpu(program, target.costs)
    sharding = SingleDeviceSharding(target.device)
    with jax.enable_x64(True), jax.default_device(target.device):
        function = jax.jit(jax_function(program, target.lowering), donate_argnums=donate)
        lowered = function.lower(
            *(
                jax.ShapeDtypeStruct(  # type: ignore[no-untyped-call]  # JAX has no types there
                    meta.static_shape, meta.dtype, sharding=sharding
                )
                for meta in program.input_metas
            )
        )
    if "stablehlo" in config.dump:
        sys.stderr.write(lowered.as_text())
    return lowered


def compile_stablehlo(lowered: jax.stages.Lowered, target: Target) -> jax.stages.Compiled:
    """The executable of XLA.

    Raises:
        ExecutorError: XLA refuses, such as an unknown compiler option.
    """
    try:
        with jax.enable_x64(True):
            return lowered.compile(compiler_options=dict(target.compiler_options) or None)
    except jax.errors.JaxRuntimeError as error:
        raise ExecutorError(f"compile: XLA says {str(error).splitlines()[0]}") from error


def usable_donations(
    program: ExecProgram, donate: tuple[int, ...], sizes: Mapping[Leaf, int] | None = None
) -> tuple[int, ...]:
    """Those of the inputs to donate whose buffers an output can take: one of the same type each.

    `sizes` are those of the program's symbols.
    """
    if not donate:
        return ()
    bound = dict(sizes or {})
    wanted = [meta.bind(bound) for meta in program.output_metas]
    usable: list[int] = []
    for position in donate:
        meta = program.input_metas[position].bind(bound)
        if meta in wanted:
            wanted.remove(meta)
            usable.append(position)
    return tuple(usable)


class LoadedExecutable:
    """A compiled program of fixed types on one device: device arrays in, device arrays out."""

    __slots__ = ("_call", "_donated", "_metas", "_target", "code_size", "compiled")

    def __init__(
        self,
        program: ExecProgram,
        compiled: jax.stages.Compiled,
        target: Target,
        donated: tuple[int, ...] = (),
    ) -> None:
        self.compiled = compiled
        self._donated = donated
        self._target = target
        self._metas = program.input_metas
        self._call: Callable[..., Buffers] = self._checked_call if target.checked else compiled
        analysis = compiled.memory_analysis()
        reported = 0 if analysis is None else analysis.generated_code_size_in_bytes
        # XLA on CPU reports nothing; machine code of an op is about a KiB.
        self.code_size = int(reported) or 1024 * (1 + len(program.instructions))

    def __call__(self, *buffers: jax.Array) -> Buffers:
        """Run on buffers of the program's input types.

        Raises:
            DeviceError: a buffer is on another device.
            BindingError: a buffer is of another type, or was donated.
        """
        try:
            return self._call(*buffers)
        except (TypeError, ValueError, RuntimeError):
            self._explain(buffers)
            raise

    def run_host(self, *values: jax.Array | Array) -> Buffers:
        """The same where inputs may be NumPy arrays, which are uploaded on the way.

        JAX may read a NumPy array after it has returned, so one that can change is copied first.
        """
        own = [private(value) if isinstance(value, np.ndarray) else value for value in values]
        try:
            with jax.enable_x64(True):
                return self._call(*own)
        except (TypeError, ValueError, RuntimeError):
            self._explain(tuple(own), host=True)
            raise

    def _checked_call(self, *buffers: jax.Array) -> Buffers:
        """JAX moves an array that it was not told to place; here nothing moves unasked."""
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
                given = TensorMeta.of(buffer.dtype, buffer.shape)
                raise BindingError(f"run: input {position} is {meta}, but is given {given}")
            if isinstance(buffer, jax.Array):
                check_placed(buffer, self._target.device)
            elif not host:
                raise BindingError(f"run: input {position}: {meta} is on the host; use run_host")
        _explain_shared(buffers, self._donated)


def _explain_deleted(buffers: tuple[object, ...]) -> None:
    """Raise BindingError if a buffer is gone."""
    for position, buffer in enumerate(buffers):
        if isinstance(buffer, jax.Array) and buffer.is_deleted():
            raise BindingError(
                f"run: input {position} was donated to an earlier call; pass a copy to that call"
            )


def _explain_shared(buffers: tuple[object, ...], donated: tuple[int, ...]) -> None:
    """Raise BindingError if a buffer that the call may overwrite is another input as well."""
    for taken in donated:
        for position, buffer in enumerate(buffers):
            if position != taken and buffer is buffers[taken]:
                raise BindingError(
                    f"run: inputs {min(taken, position)} and {max(taken, position)} are one array, "
                    "and it is donated; pass a copy for one of them"
                )


def private(array: Array) -> Array:
    """The array if nothing can write to it, else a copy, aligned so that XLA on CPU can use it."""
    if not array.flags.writeable and array.base is None:
        return array
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    own: Array = np.ndarray(array.shape, array.dtype, memory, -memory.ctypes.data % _ALIGNMENT)
    own[...] = array
    return own


_ALIGNMENT = 64


def check_placed(buffer: jax.Array, device: jax.Device) -> None:
    """Raise DeviceError unless the array is on `device`, whole."""
    found = buffer.sharding.device_set
    if len(found) != 1 or device not in found:
        where = ", ".join(sorted(device_name(each) for each in found))
        raise DeviceError(
            f"run: an array is on {where}, but the program runs on {device_name(device)}; "
            "move it with jax.device_put or tn.to_device"
        )


def require_static(program: ExecProgram) -> None:
    """Raise UnsupportedDynamicShapeError unless every extent of the program is an integer."""
    for meta in program.input_metas:
        _require_static("input", meta)
    for step in program.instructions:
        for meta in step.output_metas:
            _require_static(step.op.name, meta)


def require_bound(program: ExecProgram) -> None:
    """Raise UnsupportedDynamicShapeError if a symbol of the inputs has no size."""
    for meta in program.input_metas:
        for axis, extent in enumerate(meta.extents):
            if isinstance(extent, Exact) and not isinstance(extent.dim, int):
                raise UnsupportedDynamicShapeError("input", f"shape[{axis}]", describe(extent))


def _require_static(name: str, meta: TensorMeta) -> None:
    if meta.static_shape is None:
        sizes = meta.exact_shape(name)
        axis = next(axis for axis, size in enumerate(sizes) if not isinstance(size, int))
        raise UnsupportedDynamicShapeError(name, f"shape[{axis}]", describe(meta.extents[axis]))


def cost_of(analysis: Any) -> Cost:
    """The numbers that all platforms give."""
    return Cost(
        *(float(analysis.get(key, 0.0)) for key in ("flops", "bytes accessed", "transcendentals"))
    )


def memory_of(compiled: jax.stages.Compiled) -> Memory:
    """The executable's needs.

    Raises:
        ExecutorError: the platform does not tell.
    """
    found = compiled.memory_analysis()
    if found is None:
        raise ExecutorError("memory: XLA does not tell what the executable needs on this platform")
    return Memory(
        found.argument_size_in_bytes,
        found.output_size_in_bytes,
        found.temp_size_in_bytes,
        found.alias_size_in_bytes,
        found.generated_code_size_in_bytes,
    )
