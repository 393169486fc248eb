"""`GraphExecutor`: segments, dispatch, executables, BLAS threads.

In segments, or one instruction at a time. Both give the same results.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Self, assert_never

import numpy as np

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    NATIVE,
    DeviceModel,
    MemoryReport,
    OptimizerOptions,
    memory_report,
    optimize_for,
)
from tenferro.compiler.device import refuse_dynamic
from tenferro.config import config
from tenferro.core import BoundedCache, CacheOwner, Capacity
from tenferro.errors import ExecutorError
from tenferro.ir import (
    Category,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    Leaf,
    NumpyArray,
    TensorMeta,
    check_budget,
    check_size,
    make_meta,
    verify,
)
from tenferro.ops.extension import ExtensionCaches, Package, Register, require_function
from tenferro.runtime.backends import (
    BackendSession,
    Boundary,
    BoundaryDispatch,
    NumpyBackend,
    TensorBackend,
)
from tenferro.runtime.devices import HOST_MODEL, free_host_bytes, place, planning_for
from tenferro.runtime.executors import Buffer, Executable, Executor, register_executor
from tenferro.runtime.host_arrays import sealed
from tenferro.runtime.packages import added_packages
from tenferro.runtime.plans import Kernel, prepared
from tenferro.runtime.program import GraphProgram, bind_inputs
from tenferro.runtime.tensor import Tensor

__all__ = [
    "NUMPY_EXECUTOR",
    "GraphExecutor",
    "Segment",
    "default_executor",
    "run_segmented",
    "run_unsegmented",
    "segment_exec_program",
]


# Cutting a program into runs of instructions that are dispatched together.


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive instructions of one category. Only SESSION segments hold more than one."""

    category: Category
    instructions: tuple[ExecInstruction, ...]


def segment_exec_program(program: ExecProgram) -> tuple[Segment, ...]:
    """Maximal runs of session instructions, and single host and boundary ones, in order."""
    segments: list[Segment] = []
    for category, steps in groupby(program.instructions, lambda step: step.op.category):
        if category is Category.SESSION:
            segments.append(Segment(category, tuple(steps)))
        else:
            segments += [Segment(category, (step,)) for step in steps]
    return tuple(segments)


# Running an ExecProgram on a backend.

Slots = list[Buffer | None]
Reclaim = Callable[[Buffer], None]


def run_segmented(
    program: ExecProgram,
    segments: Sequence[Segment],
    backend: TensorBackend,
    inputs: Sequence[Buffer],
    boundary: Boundary | None = None,
    max_bytes: int | None = None,
) -> list[Buffer]:
    """Run segment by segment; a session is opened once for all instructions of its segment.

    `boundary` runs instructions of category BOUNDARY; by default the backend does, which does not
    run extensions. `max_bytes` bounds values whose size data decide; None if there are none.

    Raises:
        ExtentError: a value would be larger than `max_bytes`.
    """
    boundary = boundary or backend.execute_boundary
    slots: Slots = [None] * program.n_slots
    for slot, value in zip(program.input_slots, inputs, strict=True):
        slots[slot] = value
    for segment in segments:
        match segment.category:
            case Category.SESSION:
                with backend.with_backend_session() as session:
                    for step in segment.instructions:
                        results = _executed(step, session, slots, max_bytes)
                        _store(step, results, slots, session.reclaim_buffer)
            case Category.HOST | Category.BOUNDARY:
                (step,) = segment.instructions
                results = _run_alone(step, backend, boundary, slots, max_bytes)
                _store(step, results, slots, backend.reclaim_buffer)
            case _:
                assert_never(segment.category)
    return [slots[slot] for slot in program.output_slots]


def run_unsegmented(
    program: ExecProgram,
    backend: TensorBackend,
    inputs: Sequence[Buffer],
    boundary: Boundary | None = None,
    max_bytes: int | None = None,
) -> list[Buffer]:
    """Run one instruction at a time, each session instruction in a session of its own.

    For parity checks.
    """
    alone = [Segment(step.op.category, (step,)) for step in program.instructions]
    return run_segmented(program, alone, backend, inputs, boundary, max_bytes)


def _executed(
    step: ExecInstruction, session: BackendSession, slots: Slots, max_bytes: int | None
) -> Sequence[Buffer]:
    """The results of one session instruction; sizes that follow operands are resolved first."""
    op, operands = step.op, [slots[slot] for slot in step.input_slots]
    if op.follows_shapes:
        op, sources = op.resolved([_meta_of(operand) for operand in operands])
        operands = [
            operands[source] if isinstance(source, int) else session.execute(source, ())[0]
            for source in sources
        ]
    if max_bytes is not None:
        _check_sizes(step, op, operands, max_bytes)
    return session.execute(op, operands)


def _check_sizes(
    step: ExecInstruction, op: ExecOp, operands: Sequence[Buffer], max_bytes: int
) -> None:
    """Raise ExtentError if a result whose size data decide would be too large."""
    if all(meta.dims is not None for meta in step.output_metas):
        return
    for meta in op.infer_all([_meta_of(operand) for operand in operands]):
        check_size(meta, op.name, max_bytes)


def _meta_of(buffer: Buffer) -> TensorMeta:
    return make_meta(buffer.dtype, tuple(buffer.shape))


def _run_alone(
    step: ExecInstruction,
    backend: TensorBackend,
    boundary: Boundary,
    slots: Slots,
    max_bytes: int | None,
) -> Sequence[Buffer]:
    op, operands = step.op, [slots[slot] for slot in step.input_slots]
    if max_bytes is not None:
        _check_sizes(step, op, operands, max_bytes)
    if op.category is Category.HOST:
        return _on_host(op, operands, backend)
    if op.follows_shapes:  # an op on the same operands, which holds a program
        op = op.resolved([_meta_of(operand) for operand in operands]).op
    return boundary(op, operands)


def _on_host(op: ExecOp, operands: Sequence[Buffer], backend: TensorBackend) -> tuple[Buffer, ...]:
    """The results of an instruction that looks at sizes, for which only scalars are downloaded.

    Once the sizes are known, what moves elements is an op that the backend runs.
    """
    metas = [_meta_of(operand) for operand in operands]
    if op.follows_shapes or op.size_operand is not None:
        scalars = None
        if op.size_operand is not None:
            scalars = {op.size_operand: backend.download_to_host(operands[op.size_operand])}
        resolved, sources = op.resolved(metas, scalars)
        inputs = [
            operands[each]
            if isinstance(each, int)
            else backend.upload_host_tensor(each.evaluate(())[0])
            for each in sources
        ]
        with backend.with_backend_session() as session:
            return session.execute(resolved, inputs)
    host = [
        np.broadcast_to(np.zeros((), meta.dtype), operand.shape)
        if op.reads_shape_only(place)
        else backend.download_to_host(operand)
        for place, (meta, operand) in enumerate(zip(metas, operands, strict=True))
    ]
    return tuple([backend.upload_host_tensor(value) for value in op.evaluate(host)])


def _store(
    step: ExecInstruction, results: Sequence[Buffer], slots: Slots, reclaim: Reclaim
) -> None:
    """Write the results, and give back operands that nothing reads later."""
    for slot, value in zip(step.output_slots, results, strict=True):
        slots[slot] = value
    for slot, last in zip(step.input_slots, step.last_use, strict=True):
        if last:
            reclaim(slots[slot])
            slots[slot] = None


# GraphExecutor: runs graph programs on a native backend.


class GraphExecutor(CacheOwner):
    """Runs `GraphProgram`s on a `TensorBackend`.

    Args:
        backend: the backend that runs the instructions.
        segmented: whether neighbouring instructions share a backend session; the results are the
            same.
        max_bytes: the largest value in bytes that a program may hold; checked before it runs.
        packages: families that programs may hold, in addition to tenferro's own.

    Raises:
        ExtensionRegistryError: a package is given twice, or is not one.

    >>> import numpy as np, tenferro as tn
    >>> x = tn.TracedTensor.input(("n",), "float64", name="x")
    >>> program = tn.GraphCompiler().compile([tn.exp(x) * 2])
    >>> executor = tn.GraphExecutor(tn.NumpyBackend())
    >>> executor.run(program, {x: np.zeros(3)})
    [Tensor([2., 2., 2.])]
    """

    def __init__(
        self,
        backend: TensorBackend,
        *,
        segmented: bool = True,
        max_bytes: int = config.max_bytes,
        packages: Sequence[Package] = (),
    ) -> None:
        if isinstance(backend, type):
            raise ExecutorError(
                f"GraphExecutor: takes a backend, got the class {backend.__name__}; write "
                f"{backend.__name__}()"
            )
        if not hasattr(backend, "with_backend_session"):
            raise ExecutorError(
                f"GraphExecutor: takes a backend, such as NumpyBackend(), got {backend!r}"
            )
        self._backend = backend
        self._segmented = segmented
        self._max_bytes = max_bytes
        self._take(packages)

    def _take(self, packages: Sequence[Package]) -> None:
        """Have these packages, and caches that hold nothing."""
        self._packages = added_packages(packages)
        self._boundary = BoundaryDispatch(self._backend, self._packages)
        self._cache: BoundedCache[object, Executable] = BoundedCache(Capacity(config.cache_entries))

    @property
    def name(self) -> str:
        """The backend's name."""
        return self._backend.name

    @property
    def backend(self) -> TensorBackend:
        """The backend that runs the instructions."""
        return self._backend

    def register_extension(self, register: Register) -> None:
        """Let a package register the runtimes of its families; registering again changes nothing.

        Programs that were specialised before are dropped.

        Raises:
            MalformedFamilyIdError: the family id of a runtime is not one.
            ExtensionRegistryError: `register` is not a function.
        """
        require_function(register)(self._boundary.registry)
        self._cache.clear()

    def runs_family(self, family: str) -> bool:
        """Whether a runtime was registered for an extension family."""
        return family in self._boundary.registry

    @property
    def packages(self) -> Sequence[Package]:
        """The packages of extension families in addition to tenferro's own."""
        return self._packages

    def with_packages(self, packages: Sequence[Package]) -> Self:
        """An executor like this one that has further packages, and caches of its own.

        Raises:
            ExtensionRegistryError: a package is given twice, or is not one.
        """
        executor = copy.copy(self)
        executor._take((*self._packages, *added_packages(packages)))
        executor.register_extension(self._boundary.registry.copy_to)
        return executor

    @property
    def extension_caches(self) -> ExtensionCaches:
        """The caches of the runtimes of extension families, which persist between runs."""
        return self._boundary.caches

    def run(self, program: GraphProgram, bindings: Mapping[Any, Any]) -> list[Tensor]:
        """The program's outputs for the given inputs.

        Keys of `bindings` are names or traced tensors.

        Raises:
            BindingError: the bindings do not fit the program's inputs.
            DeviceError: a tensor is on a device of another executor.
            ExtentError: a value would be larger than the byte budget.
        """
        bound = bind_inputs(program, bindings)
        inputs = [place("run", value, self) for value in bound.values]
        key = (
            program.identity,
            tuple(sorted((str(leaf), size) for leaf, size in bound.sizes.items())),
            program.options,
        )
        run = self._cache.get_or_make(
            key,
            lambda: self.compile_exec(
                program.exec_program, sizes=bound.sizes, options=program.options
            ),
        )
        return [Tensor.wrap(value, None) for value in run(*inputs)]

    def compile_exec(
        self,
        program: ExecProgram,
        donate: tuple[int, ...] = (),
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> NativeExecutable:
        """The program, for these sizes of its symbols, as a function of buffers.

        Donated inputs are not overwritten.
        """
        program = self._optimized(program, sizes, options)
        verify(program)
        check_budget(program, self._max_bytes)
        self._boundary.require_all(program)
        return NativeExecutable(
            program, self._backend, self._boundary, self._segmented, self._max_bytes
        )

    @property
    def device_model(self) -> DeviceModel:
        """What plans are made by: the CPU's."""
        return HOST_MODEL

    def free_bytes(self) -> int:
        """The bytes that the system says are free.

        Raises:
            ConfigError: the system does not tell.
        """
        return free_host_bytes()

    def memory(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> MemoryReport:
        """The memory that a program needs, as predicted.

        Raises:
            ExecutorError: data decide sizes in the program.
            MemoryLimitError: the memory limit of the options cannot be kept.
        """
        optimized = self._optimized(program, sizes, options)
        refuse_dynamic(optimized, "memory")
        limit = options.on_device(self.free_bytes).memory_limit
        return memory_report(optimized, NATIVE.runs, limit)

    def _optimized(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int] | None,
        options: OptimizerOptions,
    ) -> ExecProgram:
        target = replace(NATIVE, families=self._boundary)
        with planning_for(self):
            return optimize_for(program, target, sizes, options.on_device(self.free_bytes))

    def run_op(self, op: ExecOp, *buffers: Buffer) -> tuple[Buffer, ...]:
        """The results of one op, computed immediately."""
        if op.category is Category.BOUNDARY:
            return self._boundary(op, buffers)
        with self._backend.with_backend_session() as session:
            return session.execute(op, buffers)

    def put(self, array: NumpyArray) -> Buffer:
        """A host array as a buffer of the backend."""
        return self._backend.upload_host_tensor(array)

    def get(self, buffer: Buffer) -> NumpyArray:
        """A buffer as a host array."""
        return self._backend.download_to_host(buffer)

    def owns(self, value: object) -> bool:
        """Whether the value is a NumPy array."""
        return isinstance(value, np.ndarray)

    def __repr__(self) -> str:
        packages = "".join(f", {package.name}" for package in self._packages)
        return f"GraphExecutor({self._backend!r}{packages})"


_STORED = 1 << 19
"""Bytes of constants that an executable stores between runs."""


class NativeExecutable:
    """A program ready to run on a native backend.

    Attributes:
        program: what runs, after all passes.
    """

    def __init__(
        self,
        program: ExecProgram,
        backend: TensorBackend,
        boundary: Boundary,
        segmented: bool,
        max_bytes: int,
    ) -> None:
        self.program = program
        limit = max_bytes if program.holds_unknown_shapes else None
        self._backend = backend
        self._run: Kernel
        if not segmented:
            self._run = lambda buffers: run_unsegmented(program, backend, buffers, boundary, limit)
        elif type(backend) is NumpyBackend and limit is None:
            self._run = prepared(program, boundary, _STORED)
        else:
            segments = segment_exec_program(program)
            self._run = lambda buffers: run_segmented(
                program, segments, backend, buffers, boundary, limit
            )

    def __call__(self, *buffers: Buffer) -> list[Buffer]:
        """Run on buffers of the backend."""
        inputs = set(map(id, buffers))
        results = self._run(buffers)
        return [sealed(value.copy() if id(value) in inputs else value) for value in results]

    def run_host(self, *values: Buffer | NumpyArray) -> list[Buffer]:
        """Run on host arrays."""
        return self(*[self._backend.upload_host_tensor(value) for value in values])


NUMPY_EXECUTOR = register_executor(GraphExecutor(NumpyBackend()))


def default_executor() -> Executor:
    """The executor on NumPy arrays that is named `"numpy"`."""
    return NUMPY_EXECUTOR
