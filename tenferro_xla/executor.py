"""XlaExecutor: runs programs through StableHLO and XLA."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    Buckets,
    DeviceCosts,
    DeviceModel,
    MemoryReport,
    Observer,
    OptimizerOptions,
    Rounding,
    SegmentPlan,
    memory_report,
    plan_segments,
    refuse_dynamic,
)
from tenferro.computegraph import CacheStats, Capacity
from tenferro.config import config
from tenferro.errors import DeviceError
from tenferro.exec_ir import Array, ExecOp, ExecProgram
from tenferro.families import STANDARD, further
from tenferro.family import Package, require_function
from tenferro.runtime import (
    Bound,
    Executor,
    GraphProgram,
    Tensor,
    bind_inputs,
    bind_specs,
    executor_named,
)
from tenferro.shape import Leaf, make_meta
from tenferro_xla.compiled import (
    CompileReport,
    Executables,
    Loaded,
    Lowered,
    check_placed,
    prepare,
    private,
)
from tenferro_xla.devices import device_name, devices, find_device
from tenferro_xla.lowering import ExtensionLowerings, Precision
from tenferro_xla.platforms import platform_of
from tenferro_xla.target import OfDevice, target_for


class XlaExecutor:
    """Runs programs with XLA on one device, always in 64-bit mode.

    There is one executable for each combination of program, input types and donated inputs. Device
    and options belong to the executor. Safe to share between threads.

    Args:
        device: see `find_device`.
        compiler_options: options of the XLA compiler, as `jax.jit` takes them.
        precision: of contractions: "default", "high" or "highest".
        max_bytes: the largest value in bytes that a program may hold; checked before XLA sees it.
            None stands for `TENFERRO_MAX_BYTES`; if that is not set, what the device has.
        capacity: the bounds of the cache of executables.
        bucketing: symbols, by name, whose sizes are rounded up before XLA compiles: to
            "powers_of_two", or to the next of some sizes, `{"n": (64, 256)}`. A program whose
            results would change is refused.
        contraction_costs: the costs by which contractions are brought into the form that the device
            is fast at, and by which networks are planned; `"device"` for those that are known of
            it, None to leave contractions as they are.
        packages: families that programs may hold, beside those that come with tenferro.

    Raises:
        ExtensionRegistryError: a package is given twice, or is not one.

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
        max_bytes: int | None = None,
        capacity: Capacity | None = None,
        bucketing: Mapping[str, Rounding] | None = None,
        contraction_costs: DeviceCosts | OfDevice | None = "device",
        packages: Sequence[Package] = (),
    ) -> None:
        xla_device = find_device(device)
        self._packages = further(packages)
        lowerings = ExtensionLowerings((*STANDARD, *self._packages))
        self._with_packages = functools.partial(
            XlaExecutor,
            xla_device,
            compiler_options,
            precision,
            max_bytes,
            capacity,
            bucketing,
            contraction_costs,
        )
        target = target_for(
            xla_device,
            platform_of(xla_device),
            lowerings,
            precision,
            compiler_options,
            max_bytes,
            contraction_costs,
            checked=len(devices()) > 1,
        )
        bounds = (
            Capacity(config.cache_entries, config.cache_bytes) if capacity is None else capacity
        )
        self._executables = Executables(target, bounds, Buckets(bucketing or {}))
        self._device = target.device
        self._sharding = SingleDeviceSharding(self._device)
        self._array_type = type(jax.device_put(np.zeros((), np.float32), self._device))

    @property
    def name(self) -> str:
        """Name under which the core finds the default executor."""
        return "xla"

    def register_extension(self, register: Callable[[ExtensionLowerings], object]) -> None:
        """Let a package register the lowerings of its families, functions of JAX values.

        A family without one runs as its standard ops. Registering again changes nothing.
        Existing executables are dropped.

        Raises:
            MalformedFamilyIdError: a family id is not one.
            ExtensionRegistryError: `register` is not a function.
        """
        require_function(register)(self._executables.target.lowering.extensions)
        self._executables.cache.clear()

    @property
    def packages(self) -> Sequence[Package]:
        """The packages of extension families in addition to tenferro's own."""
        return self._packages

    def with_packages(self, packages: Sequence[Package]) -> XlaExecutor:
        """An executor like this one that has further packages, and caches of its own.

        Raises:
            ExtensionRegistryError: a package is given twice, or is not one.
        """
        executor = self._with_packages(packages=(*self._packages, *further(packages)))
        executor.register_extension(self._executables.target.lowering.extensions.copy_to)
        return executor

    @property
    def device(self) -> jax.Device:
        """The device on which everything runs."""
        return self._device

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
        return self._run_bound(
            self._executables.of(
                program.exec_program, program.digest, bound.sizes, options=program.options
            ),
            bound,
        )

    def lower(
        self,
        program: GraphProgram,
        specs: Mapping[Any, Any] | None = None,
        observe: Observer | None = None,
    ) -> Lowered:
        """The program as StableHLO; `specs`, arrays or `TensorSpec`s, give the sizes of symbols.

        `observe` is called with a report of each pass that has run.

        Raises:
            ExecutorError: data decide sizes in the program, so that there is no one module of it;
                see `segments`.
        """
        sizes = bind_specs(program, specs or {})
        return Lowered(program, sizes, self._executables, self._run_bound, observe)

    def segments(
        self, program: GraphProgram, specs: Mapping[Any, Any] | None = None
    ) -> SegmentPlan:
        """The segments of a program in which data decide sizes; print it. `specs`: see `lower`."""
        sizes = bind_specs(program, specs or {})
        return plan_segments(
            self._executables.resolved(program.exec_program, sizes, program.options)
        )

    @property
    def device_model(self) -> DeviceModel:
        """What plans of programs are made by before anything is compiled."""
        return self._executables.target.device_model

    def free_bytes(self) -> int:
        """The bytes that a program may take on the device now.

        Raises:
            ConfigError: the device does not tell.
        """
        return self._executables.target.free_bytes()

    def memory(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> MemoryReport:
        """The memory that a program needs, as predicted; XLA's own figure is that of `lower`.

        Raises:
            ExecutorError: data decide sizes in the program.
            MemoryLimitError: the memory limit of the options cannot be kept.
        """
        bound = self._executables.resolved(program, dict(sizes or {}), options)
        refuse_dynamic(bound, "memory")
        prepared = prepare(bound, self._executables.target, options)
        limit = options.on_device(self.free_bytes).memory_limit
        return memory_report(prepared, self._executables.target.platform.runs, limit)

    def compile_exec(
        self,
        program: ExecProgram,
        donate: tuple[int, ...] = (),
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> Loaded:
        """The program, for these sizes of its symbols, ready to run.

        `donate` are inputs whose buffers an output of the same type may use; a buffer without such
        an output is not overwritten.

        Raises:
            UnsupportedDynamicShapeError: a symbol has no size.
            PadSafetyError: the results would change if a size were rounded up.
            ExtentError: a value is larger than the byte budget.
        """
        return self._executables.of(program, program.digest, sizes, donate, options)

    def run_op(self, op: ExecOp, *buffers: jax.Array) -> tuple[jax.Array, ...]:
        """The results of one op, computed immediately."""
        return self._executables.run_op(op, *buffers)

    def put(self, array: Array) -> jax.Array:
        """A NumPy array as an array on the device, which does not share memory with it."""
        own = private(array, self._executables.target.platform.alignment)
        with jax.enable_x64(True):  # twice as fast as jax.device_put
            return jax.make_array_from_callback(own.shape, self._sharding, lambda index: own)

    def get(self, buffer: jax.Array) -> Array:
        """A device array as a read-only NumPy array.

        Raises:
            DeviceError: the array was donated to a call, which has overwritten it.
        """
        if buffer.is_deleted():
            meta = make_meta(buffer.dtype, buffer.shape)
            raise DeviceError(f"get: {meta} was donated to an earlier call; keep a copy of it")
        return np.asarray(buffer)

    def owns(self, value: object) -> bool:
        """Whether the value is a JAX array with elements, on any device; False for a tracer."""
        return type(value) is self._array_type

    def stats(self) -> CacheStats:
        """Entries, hits, misses and evictions of the cache, and bytes of code, estimated on CPU."""
        return self._executables.stats()

    def explain(self) -> CompileReport:
        """A report of what XLA has compiled for this executor, and why; print it.

        >>> import tenferro as tn
        >>> executor = XlaExecutor("cpu")
        >>> f = tn.jit(tn.exp, executor=executor, symbolic={"x": ("n",)})
        >>> shapes = [f(tn.ones(n)).shape for n in (2, 3, 3)]
        >>> [str(event.changes[0]) for event in executor.explain().events[1:]]
        ['n from 2 to 3']
        """
        return self._executables.explain(repr(self))

    def clear(self) -> None:
        """Drop all executables."""
        self._executables.cache.clear()

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache; assigning smaller ones evicts at once."""
        return self._executables.cache.capacity

    @capacity.setter
    def capacity(self, capacity: Capacity) -> None:
        self._executables.cache.capacity = capacity

    def __repr__(self) -> str:
        return f"XlaExecutor({device_name(self.device)!r})"

    def _run_bound(self, executable: Loaded, bound: Bound) -> list[Tensor]:
        values = [
            tensor.data if tensor.executor is None else self._checked(tensor)
            for tensor in bound.values
        ]
        return [Tensor.wrap(result, self) for result in executable.run_host(*values)]

    def _checked(self, tensor: Tensor) -> jax.Array:
        buffer: jax.Array = tensor.data
        if not self.owns(buffer):
            raise DeviceError(f"run: {tensor.meta} is not an array of XLA")
        check_placed(buffer, self._device)
        return buffer


def default_executor() -> XlaExecutor:
    """The executor that the core finds under the name `xla`; created on the first call."""
    with _making:
        return _default()


def executor_on(device: str) -> Executor:
    """The executor on a device with the default options; one for each device.

    On the device of the executor that is registered under the name `xla` it is that one.

    Raises:
        DeviceError: there is no such device; the text lists those that exist.

    >>> executor_on("cpu:0")
    XlaExecutor('cpu:0')
    """
    found = find_device(device)
    named = executor_named("xla")
    if getattr(named, "device", None) == found:
        return named
    with _making:
        return _executor_on(found)


_making = threading.Lock()


@functools.cache
def _default() -> XlaExecutor:
    return XlaExecutor()


@functools.cache
def _executor_on(device: jax.Device) -> XlaExecutor:
    return XlaExecutor(device)
