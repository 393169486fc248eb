"""`XlaExecutor`: programs compiled by XLA, and arrays on its devices."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    DeviceCosts,
    DeviceModel,
    MemoryReport,
    Observer,
    OptimizerOptions,
    memory_report,
)
from tenferro.compiler.device import SegmentPlan, SizeRounding, plan_segments, refuse_dynamic
from tenferro.config import config
from tenferro.core import CacheStats, Capacity
from tenferro.errors import DeviceError
from tenferro.ir import ExecOp, ExecProgram, Leaf, NumpyArray
from tenferro.ops.extension import Package, require_function
from tenferro.runtime import (
    INFERRED,
    BoundInputs,
    Executor,
    GraphProgram,
    Shardings,
    Tensor,
    added_packages,
    bind_inputs,
    bind_specs,
    executor_named,
)
from tenferro_xla.compiled import (
    CompileReport,
    CompileRequest,
    Executables,
    Lent,
    Loaded,
    Lowered,
    buckets_of,
    check_placed,
    pinned_by,
    prepare,
    upload,
)
from tenferro_xla.devices import device_name, devices, find_device, own_settings
from tenferro_xla.in_flight import PROCESS, await_parts, refuse_lost, refuse_unreadable
from tenferro_xla.lowering import ExtensionLowerings, Precision, SharedSlices
from tenferro_xla.placement import (
    VIEWS,
    OneDevice,
    OnMesh,
    Placement,
    absent,
    placement_of,
    read,
    where,
)
from tenferro_xla.target import OfDevice, mapping_of_options, platform_of, target_for

__all__ = ["XlaExecutor", "default_executor", "executor_on"]


# The arrays of an executor: where they are, and moving them there and back.


class Arrays:
    """The arrays of JAX on one device, or divided among the devices of a mesh."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._whole = placement.whole
        self._platform = platform_of(placement.first)
        self._is_alone = jax.process_count() == 1
        shares = isinstance(placement, OneDevice) and not self._platform.own_memory
        self._lent = Lent(self._whole, self._platform.alignment) if shares else None
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

    def put(self, array: NumpyArray) -> jax.Array:
        """A NumPy array as an array here, which does not share memory with it.

        On a mesh each device holds all of it.
        """
        return upload(array, self._whole, self._platform)

    def lend(self, tensor: Tensor) -> jax.Array | NumpyArray:
        """The buffer of a tensor on the host; an array here of the same memory where it can be."""
        return tensor._buffer if self._lent is None else self._lent(tensor)

    def get(self, buffer: jax.Array) -> NumpyArray:
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
        if PROCESS.forked:
            refuse_unreadable("block_until_ready", buffer)
        try:
            if self._is_alone:
                buffer.block_until_ready()
            else:
                await_parts(buffer)
        except (RuntimeError, ValueError) as error:
            refuse_lost(error)
            raise


# XlaExecutor: runs programs through StableHLO and XLA.


class XlaExecutor(Arrays):
    """Runs programs with XLA on one device or on a mesh of devices, always in 64-bit mode.

    There is one executable for each combination of program, input types and donated inputs. Device
    and options belong to the executor. Safe to share between threads.

    Args:
        device: see `find_device`.
        compiler_options: options of the XLA compiler, as `jax.jit` takes them.
        precision: of contractions: "default", "high" or "highest". Contractions are also what the
            optimizer makes of sums of products of elements; see `SummedProducts`.
        max_bytes: the largest value in bytes that a program may hold; checked before XLA sees it.
            None stands for `TENFERRO_MAX_BYTES`; if that is not set, what the device has.
        capacity: the bounds of the cache of executables.
        bucketing: symbols, by name, whose sizes are rounded up before XLA compiles: to
            "powers_of_two", or to the next of some sizes, `{"n": (64, 256)}`. A program whose
            results would change is refused. "auto" rounds sizes up where a program has run at more
            than four, padding cannot change its results, and it costs little compared with
            compiling; None compiles for each size.
        contraction_costs: the costs by which contractions are brought into the form that the device
            is fast at, and by which networks are planned; `"device"` for those that are known of
            it, None to leave contractions as they are.
        packages: families that programs may hold, in addition to those that come with tenferro.
        mesh: the devices, in place of `device`; XLA divides among them what a program computes.
        in_flight: on a mesh, how many calls of programs with collectives may be outstanding in this
            process; by default 1 on the CPU and 16 elsewhere.
        slices_over: the axis of the mesh, or the axes, whose devices share the slices of networks.
        deterministic: whether what they compute is added in one order, whatever their number.
        kept_bytes: how many bytes of large results of compiled functions are kept on the CPU, for
            later calls to write there once nobody has them; None is a sixteenth of what is free.

    Raises:
        ShardingError: `mesh` is not one, is beside a device or `bucketing`, or lacks an axis.
        ConfigError: an option is not of its kind, such as `in_flight`, a number of calls.
        ExecutorError: `precision` is not one of these.
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
        bucketing: Mapping[str, SizeRounding] | Literal["auto"] | None = "auto",
        contraction_costs: DeviceCosts | OfDevice | None = "device",
        packages: Sequence[Package] = (),
        mesh: Mesh | None = None,
        in_flight: int | None = None,
        slices_over: str | Sequence[str] | None = None,
        deterministic: bool = True,
        kept_bytes: int | None = None,
    ) -> None:
        placement = placement_of(device, mesh, bucketing)
        super().__init__(placement)
        self._packages = added_packages(packages)
        self._settings: dict[str, Any] = {
            "device": device,
            "mesh": mesh,
            "packages": self._packages,
            "compiler_options": compiler_options,
            "precision": precision,
            "max_bytes": max_bytes,
            "capacity": capacity,
            "bucketing": bucketing,
            "contraction_costs": contraction_costs,
            "in_flight": in_flight,
            "slices_over": slices_over,
            "deterministic": deterministic,
            "kept_bytes": kept_bytes,
        }
        lowerings = ExtensionLowerings(self._packages)
        target = target_for(
            placement,
            platform_of(placement.first),
            lowerings,
            precision,
            compiler_options,
            max_bytes,
            contraction_costs,
            checked=mesh is None and len(devices()) > 1,
            in_flight=in_flight,
            slices_over=slices_over,
            deterministic=deterministic,
        )
        bounds = capacity or Capacity(config.cache_entries, config.cache_bytes)
        buckets = buckets_of(bucketing, mesh is None)
        self._executables = Executables(target, bounds, buckets, kept_bytes)
        self._on_meshes: dict[object, XlaExecutor] = {}
        self._making = threading.Lock()

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
        self._executables.clear()
        for executor in self._children():
            executor.register_extension(register)

    @property
    def packages(self) -> Sequence[Package]:
        """The packages of extension families in addition to tenferro's own."""
        return self._packages

    def with_packages(self, packages: Sequence[Package]) -> XlaExecutor:
        """An executor like this one that has further packages, and caches of its own.

        Raises:
            ExtensionRegistryError: a package is given twice, or is not one.
        """
        return self._like(packages=(*self._packages, *added_packages(packages)))

    def with_compiler_options(self, options: Mapping[str, Any]) -> XlaExecutor:
        """An executor like this one with further options of the compiler, and caches of its own."""
        own = self._executables.target.compiler_options
        return self._like(compiler_options={**own, **mapping_of_options(options)})

    def with_mesh(self, mesh: object, slices: str | Sequence[str] | None = None) -> XlaExecutor:
        """An executor like this one on a mesh; `slices` is `slices_over`, None for its own.

        Raises:
            ShardingError: it is not a mesh, or does not have these axes.
        """
        placement = OnMesh.of(mesh)
        shared = SharedSlices.over(placement.mesh, slices, self._settings["deterministic"])
        own = self._executables.target.lowering.shared_slices
        if placement == self._placement and shared in (None, own):
            return self
        there = {"device": None, "mesh": placement.mesh, "slices_over": shared and shared.axes}
        with self._making:
            if (placement.mesh, shared) not in self._on_meshes:
                self._on_meshes[placement.mesh, shared] = self._like(**there)
            return self._on_meshes[placement.mesh, shared]

    def holding(self, buffer: jax.Array) -> Executor:
        """The executor for an array: this one, or that on the mesh or device of the array."""
        sharding = buffer.sharding
        if isinstance(sharding, NamedSharding):
            return self.with_mesh(sharding.mesh)
        place = where(buffer)
        is_elsewhere = len(sharding.device_set) == 1 and place != str(self._placement)
        return executor_on(place) if is_elsewhere else self

    def sharding(self, given: object, where: str) -> NamedSharding | None:
        """The sharding on the executor's mesh that a user writes; None is inferred.

        `where` names it in errors.

        Raises:
            ShardingError: it is not one, or does not fit the mesh.
        """
        return self._placement.sharding(given, where)

    def _children(self) -> list[XlaExecutor]:
        """The executors like this one that have been made on meshes."""
        with self._making:
            return list(self._on_meshes.values())

    def _like(self, **changes: Any) -> XlaExecutor:
        """An executor with the same options and lowerings, but for these changes."""
        executor = XlaExecutor(**{**self._settings, **changes})
        executor.register_extension(self._executables.target.lowering.extensions.copy_to)
        return executor

    @property
    def compile_seconds(self) -> float:
        """About how long it compiles for each kernel; 0 on a mesh, where only XLA answers."""
        target = self._executables.target
        return 0.0 if isinstance(target.placement, OnMesh) else target.platform.kernel_seconds

    @property
    def on_host(self) -> bool:
        """Whether its arrays are in the memory of the host."""
        return self._executables.target.platform.name == "cpu"

    def run(self, program: GraphProgram, bindings: Mapping[Any, Any]) -> list[Tensor]:
        """The program's outputs for the given inputs.

        Keys of `bindings` are names or traced tensors. NumPy arrays are uploaded.

        Raises:
            BindingError: the bindings do not fit the program's inputs.
            DeviceError: an array is on another device.
            ExtentError: a value would be larger than the byte budget.
        """
        bound = bind_inputs(program, bindings)
        request = CompileRequest(program.identity, bound.sizes, options=program.options)
        return self._run_bound(self._executables.of(program.exec_program, request), bound)

    def lower(
        self,
        program: GraphProgram,
        specs: Mapping[Any, Any] | None = None,
        observe: Observer | None = None,
        shardings: Shardings = INFERRED,
    ) -> Lowered:
        """The program as StableHLO; `specs`, arrays or `TensorSpec`s, give the sizes of symbols.

        `observe` is called with a report of each pass that has run. On a mesh, arrays are divided
        as `shardings` say; what they do not say of inputs is whole.

        Raises:
            ExecutorError: data decide sizes in the program, so that there is no one module of it;
                see `segments`.
        """
        sizes = bind_specs(program, specs or {})
        own = self._own("lower", shardings) if shardings.inputs else shardings

        def again(options: Mapping[str, Any]) -> Lowered:
            return self.with_compiler_options(options).lower(program, specs, observe, shardings)

        return Lowered(program, sizes, self._executables, self._run_bound, observe, own, again)

    def _own(self, caller: str, shardings: Shardings) -> Shardings:
        """The same on the executor's mesh; `caller` names it in errors."""
        inputs = [
            self._placement.sharding(each, f"{caller}: input {place}")
            for place, each in enumerate(shardings.inputs)
        ]
        return Shardings(tuple(inputs), shardings.outputs)

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
        shardings: Shardings = INFERRED,
    ) -> MemoryReport:
        """The memory that a program needs, as predicted; XLA's own figure is that of `lower`.

        On a mesh it is that of each device; `shardings` are as in `lower`.

        Raises:
            ExecutorError: data decide sizes in the program.
            MemoryLimitError: the memory limit of the options cannot be kept.
        """
        bound = self._executables.resolved(program, dict(sizes or {}), options)
        refuse_dynamic(bound, "memory")
        target, placement = self._executables.target, self._placement
        pinned = pinned_by(bound, placement, self._own("memory", shardings))
        prepared = prepare(bound, target, options, pinned=pinned)
        limit = options.on_device(self.free_bytes).memory_limit
        count = placement.mesh.size if isinstance(placement, OnMesh) else 1
        return memory_report(prepared, target.platform.runs, limit, pinned, count)

    def compile_exec(
        self,
        program: ExecProgram,
        donate: tuple[int, ...] = (),
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
        shardings: Shardings = INFERRED,
    ) -> Loaded:
        """The program, for these sizes of its symbols, ready to run.

        `donate` are inputs whose buffers an output of the same type may use; a buffer without such
        an output is not overwritten. `shardings` say how inputs and outputs are divided on a mesh.

        Raises:
            UnsupportedDynamicShapeError: a symbol has no size.
            ShardingError: a sharding does not divide its array.
            PadSafetyError: the results would change if a size were rounded up.
            ExtentError: a value is larger than the byte budget.
        """
        request = CompileRequest(program.identity, sizes or {}, donate, options, shardings)
        return self._executables.of(program, request)

    def run_op(self, op: ExecOp, *buffers: jax.Array) -> tuple[jax.Array, ...]:
        """The results of one op, computed immediately."""
        return self._executables.run_op(op, *buffers)

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
        """Drop all executables, also those on meshes, and the results whose memory is kept."""
        self._executables.clear()
        for executor in self._children():
            executor.clear()

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache; assigning smaller ones evicts at once."""
        return self._executables.cache.capacity

    @capacity.setter
    def capacity(self, capacity: Capacity) -> None:
        self._executables.cache.capacity = capacity

    def __repr__(self) -> str:
        if isinstance(self._placement, OnMesh):
            return f"XlaExecutor(mesh={self._placement})"
        return f"XlaExecutor({device_name(self.device)!r})"

    def _run_bound(self, executable: Loaded, bound: BoundInputs) -> list[Tensor]:
        values = [
            tensor._buffer if tensor.executor is None else self._checked(tensor)
            for tensor in bound.values
        ]
        return [Tensor.wrap(result, self) for result in executable.run_host(*values)]

    def _checked(self, tensor: Tensor) -> jax.Array:
        buffer: jax.Array = tensor._buffer
        if not self.owns(buffer):
            raise DeviceError(f"run: {tensor.meta} is not an array of XLA")
        check_placed(buffer, self._placement)
        return buffer


# The executors that the core finds by name: the default one, and those on devices.


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
    if getattr(named, "placement", None) == OneDevice(found):
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
