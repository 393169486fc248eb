"""XlaExecutor: runs programs through StableHLO and XLA."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tenferro.computegraph import BoundedCache, CacheStats, Capacity
from tenferro.config import config
from tenferro.errors import BindingError, DeviceError, ExecutorError
from tenferro.exec_ir import Array, ExecBuilder, ExecOp, ExecProgram
from tenferro.runtime import GraphProgram, Tensor, bind_inputs, bind_specs
from tenferro.shape import Leaf, make_meta
from tenferro_xla.devices import device_name, devices, find_device
from tenferro_xla.extension import ExtensionLowerings
from tenferro_xla.lowering import LoweringOptions, Precision
from tenferro_xla.stablehlo import (
    Cost,
    LoadedExecutable,
    Memory,
    Target,
    check_placed,
    compile_stablehlo,
    cost_of,
    lower_to_stablehlo,
    memory_of,
    private,
    usable_donations,
)


class XlaExecutor:
    """Runs programs with XLA on one device, in 64-bit mode whatever the process's JAX settings.

    There is one executable for each program, its input types and what it may overwrite; device and
    options are the executor's own. Safe to share between threads.

    Args:
        device: see `find_device`.
        compiler_options: options of the XLA compiler, as `jax.jit` takes them.
        precision: of contractions: "default", "high" or "highest".
        max_bytes: the largest value in bytes that a program may hold; checked before XLA sees it.
        capacity: the bounds of the cache of executables.

    >>> import numpy as np
    >>> from tenferro.compiler import parse
    >>> text = "exec_program(%0: f64[2]) { \\n %1: f64[2] = add %0, %0! \\n return %1 \\n }"
    >>> executor = XlaExecutor("cpu")
    >>> double = executor.compile_exec(parse(text))
    >>> executor.get(*double(executor.put(np.array([1.0, 0.1]))))
    array([2. , 0.2])
    """

    def __init__(
        self,
        device: int | str | jax.Device | None = None,
        compiler_options: Mapping[str, Any] | None = None,
        precision: Precision = "highest",
        max_bytes: int = config.max_bytes,
        capacity: Capacity | None = None,
    ) -> None:
        self._target = Target(
            find_device(device),
            LoweringOptions(precision),
            dict(compiler_options or {}),
            max_bytes,
            checked=len(devices()) > 1,
        )
        self._cache: BoundedCache[Hashable, LoadedExecutable] = BoundedCache(
            Capacity(config.cache_entries, config.cache_bytes) if capacity is None else capacity,
            measure=lambda executable: executable.code_size,
        )
        self._sharding = SingleDeviceSharding(self._target.device)
        self._array_type = type(jax.device_put(np.zeros((), np.float32), self._target.device))

    @property
    def name(self) -> str:
        """Name under which the core finds the default executor."""
        return "xla"

    def register_extension(self, register: Callable[[ExtensionLowerings], object]) -> None:
        """Let a package register the lowerings of its families, functions of JAX values.

        A family without one runs as its standard ops. Registering again changes nothing.
        Executables made before are dropped.

        Raises:
            MalformedFamilyIdError: a family id is not one.
        """
        register(self._target.lowering.extensions)
        self._cache.clear()

    @property
    def device(self) -> jax.Device:
        """The device on which everything runs."""
        return self._target.device

    def run(self, program: GraphProgram, bindings: Mapping[Any, Any]) -> list[Tensor]:
        """The program's outputs for the given inputs.

        Keys of `bindings` are names or traced tensors. NumPy arrays are uploaded; arrays on another
        device are refused.

        Raises:
            BindingError: the bindings do not fit the program's inputs.
            DeviceError: an array is on another device.
            ExtentError: a value would be larger than the byte budget.
        """
        bound = bind_inputs(program, bindings)
        buffers = self._placed(bound.values)
        executable = self._cache.get_or_make(
            (program.digest, _sizes_key(bound.sizes)),
            lambda: self._load(program.exec_program.bind(bound.sizes)),
        )
        return [Tensor.wrap(buffer, self) for buffer in executable(*buffers)]

    def lower(self, program: GraphProgram, specs: Mapping[Any, Any] | None = None) -> Lowered:
        """The program as StableHLO; `specs`, arrays or `TensorSpec`s, give the sizes of symbols."""
        sizes = bind_specs(program, specs or {})
        return Lowered(self, program, sizes)

    def compile_exec(
        self,
        program: ExecProgram,
        donate: tuple[int, ...] = (),
        sizes: Mapping[Leaf, int] | None = None,
    ) -> LoadedExecutable:
        """The program, for these sizes of its symbols, ready to run.

        `donate` are inputs whose buffers an output of the same type may take; where there is none
        the buffer is left alone.

        Raises:
            UnsupportedDynamicShapeError: an extent is not an integer.
            ExtentError: a value is larger than the byte budget.
        """
        program = program.bind(dict(sizes or {}))
        donated = usable_donations(program, donate)
        key = (program.digest, donated) if donated else (program.digest, ())
        return self._cache.get_or_make(key, lambda: self._load(program, donated))

    def run_op(self, op: ExecOp, *buffers: jax.Array) -> tuple[jax.Array, ...]:
        """One op, at once."""
        key = (op.identity, tuple([(buffer.shape, buffer.dtype) for buffer in buffers]))
        executable = self._cache.get(key)
        if executable is None:
            builder = ExecBuilder()
            slots = [builder.input(make_meta(b.dtype, b.shape)) for b in buffers]
            program = builder.build(builder.add(op, slots))
            executable = self._cache.put(key, self._load(program))
        return executable(*buffers)

    def put(self, array: Array) -> jax.Array:
        """A NumPy array as an array on the device. Writing to the NumPy array changes nothing."""
        own = private(array)
        with jax.enable_x64(True):  # twice as fast as jax.device_put
            return jax.make_array_from_callback(own.shape, self._sharding, lambda index: own)

    def get(self, buffer: jax.Array) -> Array:
        """A device array as a read-only NumPy array.

        Raises:
            DeviceError: the array was donated to a call, and is gone.
        """
        if buffer.is_deleted():
            meta = make_meta(buffer.dtype, buffer.shape)
            raise DeviceError(f"get: {meta} was donated to an earlier call; keep a copy of it")
        return np.asarray(buffer)

    def owns(self, value: object) -> bool:
        """Whether the value is a JAX array with elements, on whatever device; a tracer is not."""
        return type(value) is self._array_type

    def stats(self) -> CacheStats:
        """Executables held, found, made and dropped; and bytes of their code, on CPU a guess."""
        return self._cache.stats()

    def clear(self) -> None:
        """Drop all executables."""
        self._cache.clear()

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache; assigning smaller ones evicts at once."""
        return self._cache.capacity

    @capacity.setter
    def capacity(self, capacity: Capacity) -> None:
        self._cache.capacity = capacity

    def __repr__(self) -> str:
        return f"XlaExecutor({device_name(self.device)!r})"

    def _load(self, program: ExecProgram, donate: tuple[int, ...] = ()) -> LoadedExecutable:
        lowered = lower_to_stablehlo(program, self._target, donate)
        compiled = compile_stablehlo(lowered, self._target)
        return LoadedExecutable(program, compiled, self._target, donate)

    def _placed(self, tensors: Sequence[Tensor]) -> list[jax.Array]:
        """The tensors' buffers; NumPy arrays are inputs and are uploaded, other devices refused."""
        return [
            self.put(tensor.data) if tensor.executor is None else self._checked(tensor)
            for tensor in tensors
        ]

    def _checked(self, tensor: Tensor) -> jax.Array:
        buffer: jax.Array = tensor.data
        if not self.owns(buffer):
            raise DeviceError(f"run: {tensor.meta} is not an array of XLA")
        check_placed(buffer, self._target.device)
        return buffer


class Lowered:
    """A program as StableHLO, for given sizes."""

    def __init__(
        self, executor: XlaExecutor, program: GraphProgram, sizes: dict[Leaf, int]
    ) -> None:
        self._executor = executor
        self._program = program
        self._sizes = sizes
        self._bound = program.exec_program.bind(sizes)
        self._lowered = lower_to_stablehlo(self._bound, executor._target)

    def stablehlo(self) -> str:
        """The text of the StableHLO module."""
        return self._lowered.as_text()

    def cost(self) -> Cost:
        """What XLA expects of the program before it optimizes it."""
        return cost_of(self._lowered.cost_analysis() or {})

    def memory(self) -> Memory:
        """What the executable needs; compiles the program."""
        return self.compile().memory()

    def compile(self) -> Compiled:
        """The executable."""
        return Compiled(
            self._executor,
            self._program,
            self._sizes,
            self._executor._cache.get_or_make(
                (self._program.digest, _sizes_key(self._sizes)), self._load
            ),
        )

    def _load(self) -> LoadedExecutable:
        target = self._executor._target
        return LoadedExecutable(self._bound, compile_stablehlo(self._lowered, target), target)


class Compiled:
    """A program compiled by XLA, for given sizes."""

    def __init__(
        self,
        executor: XlaExecutor,
        program: GraphProgram,
        sizes: dict[Leaf, int],
        executable: LoadedExecutable,
    ) -> None:
        self._executor = executor
        self._program = program
        self._sizes = sizes
        self._executable = executable

    def run(self, bindings: Mapping[Any, Any]) -> list[Tensor]:
        """The program's outputs; see `XlaExecutor.run`.

        Raises:
            BindingError: as `XlaExecutor.run`, or sizes are other than those compiled for.
        """
        bound = bind_inputs(self._program, bindings)
        if bound.sizes != self._sizes:
            raise BindingError(
                f"run: compiled for {_text(self._sizes)}, but the inputs have {_text(bound.sizes)}"
            )
        buffers = self._executor._placed(bound.values)
        return [Tensor.wrap(buffer, self._executor) for buffer in self._executable(*buffers)]

    def cost(self) -> Cost:
        """What XLA expects of the optimized program."""
        return cost_of(self._executable.compiled.cost_analysis() or {})

    def memory(self) -> Memory:
        """What the executable needs."""
        return memory_of(self._executable.compiled)

    def as_text(self) -> str:
        """The optimized HLO.

        Raises:
            ExecutorError: XLA keeps none on this platform.
        """
        text = self._executable.compiled.as_text()
        if text is None:
            raise ExecutorError("as_text: XLA keeps no text of the executable on this platform")
        return text


def default_executor() -> XlaExecutor:
    """The executor that the core finds under the name `xla`; made on the first call."""
    with _making:
        return _default()


_making = threading.Lock()


@functools.cache
def _default() -> XlaExecutor:
    return XlaExecutor()


def _sizes_key(sizes: Mapping[Leaf, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((str(leaf), size) for leaf, size in sizes.items()))


def _text(sizes: Mapping[Leaf, int]) -> str:
    return ", ".join(f"{leaf} = {size}" for leaf, size in _sizes_key(sizes)) or "no symbols"
