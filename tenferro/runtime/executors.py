"""The protocol of executors, its optional parts, lookup by name.

The core does not import a backend. A distribution registers its executor under the entry-point
group `tenferro.executors`, as a module with a function `default_executor()`.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from types import FrameType, ModuleType
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np

from tenferro.compiler import DEFAULT_OPTIONS, MemoryReport, OptimizerOptions
from tenferro.config import DEFAULT_EXECUTOR, config
from tenferro.errors import ExecutorError, MissingDependencyError, ShardingError
from tenferro.ir import ExecOp, ExecProgram, Leaf, NumpyArray
from tenferro.ops.extension import Package

__all__ = [
    "INFERRED",
    "Buffer",
    "CompilesSlowly",
    "Executable",
    "Executor",
    "RefusesTypes",
    "RunsOnMesh",
    "Shardings",
    "TakesPackages",
    "check_executor",
    "executor_module",
    "executor_named",
    "installed_executors",
    "memory_of",
    "on_mesh",
    "owner_of",
    "register_executor",
    "tensor_owner",
    "with_compiler_options",
    "with_missing_packages",
    "with_packages",
]


# The protocol of executors, and executors by name.

Buffer = Any
"""An array of an executor: a NumPy array, or a device array."""


class Executable(Protocol):
    """A compiled program: buffers in, buffers out."""

    def __call__(self, *buffers: Buffer) -> Sequence[Buffer]:
        """Run on buffers of the executor."""

    def run_host(self, *values: Buffer | NumpyArray) -> Sequence[Buffer]:
        """Run on values of which some may be NumPy arrays; these are uploaded first."""


@runtime_checkable
class RefusesTypes(Protocol):
    """An executable that has a shorter way, which refuses buffers of other types before it runs."""

    @property
    def direct(self) -> Callable[..., Sequence[Buffer]]:
        """Runs on buffers of the executor. Look it up for each call; errors are for `explain`."""

    def direct_host(self, *values: Buffer | NumpyArray) -> Sequence[Buffer]:
        """The same on values of which some may be NumPy arrays."""

    def explain(self, error: Exception, buffers: Sequence[Buffer]) -> Sequence[Buffer] | None:
        """Raise a typed error if there is one for what `direct` has raised.

        The results, if the program can be run all the same; else None.
        """


@runtime_checkable
class Executor(Protocol):
    """Runs execution programs of known sizes on its own buffers."""

    @property
    def name(self) -> str:
        """The name for `executor_named`, such as `"numpy"`."""

    def compile_exec(
        self,
        program: ExecProgram,
        donate: tuple[int, ...] = (),
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> Executable:
        """Compile the program, optimized for the device and for these sizes of its symbols.

        `donate` are positions of inputs whose buffers may be overwritten; `options` select the
        passes.
        """

    def run_op(self, op: ExecOp, *buffers: Buffer) -> tuple[Buffer, ...]:
        """Run one op now and return its outputs."""

    def put(self, array: NumpyArray) -> Buffer:
        """A NumPy array as a buffer of this executor."""

    def get(self, buffer: Buffer) -> NumpyArray:
        """A buffer as a NumPy array."""

    def owns(self, value: object) -> bool:
        """Whether a value is a buffer of this executor."""


@runtime_checkable
class CompilesSlowly(Protocol):
    """An executor that takes long to compile, so that another one may answer first."""

    @property
    def compile_seconds(self) -> float:
        """About how long it compiles for each kernel of a program."""

    @property
    def on_host(self) -> bool:
        """Whether its buffers are in the memory of the host."""


_HOST_BUFFER = np.empty(0)
_registered: dict[str, Executor] = {}
_lock = threading.Lock()


def register_executor(executor: Executor) -> Executor:
    """Register an executor under its name; return the one that was registered first."""
    with _lock:
        return _registered.setdefault(executor.name, executor)


def tensor_owner(executor: Executor) -> Executor | None:
    """`Tensor.executor` of tensors around its buffers; None if the buffers are NumPy arrays."""
    return None if executor.owns(_HOST_BUFFER) else executor


def executor_named(name: str) -> Executor:
    """The default executor with this name.

    Raises:
        ExecutorError: no installed distribution registers it; the text lists the registered names.

    >>> import tenferro
    >>> executor_named("numpy").name
    'numpy'
    """
    if not isinstance(name, str):
        raise ExecutorError(f"executor: takes an executor or its name, got {name!r}")
    registered = _registered.get(name)
    if registered is not None:
        return registered
    executor: Executor = executor_module(name).default_executor()
    return register_executor(executor)


def executor_module(name: str) -> ModuleType:
    """The module that registers an executor; it may have functions beyond `Executor`.

    Raises:
        ExecutorError: no installed distribution registers it, or the module cannot be imported.
        MissingDependencyError: a library that it runs on is missing, broken or too old.
    """
    point = _INSTALLED.find(name)
    if point is None:
        raise _not_installed(name)
    try:
        module = _loaded(point)
    except MissingDependencyError:
        raise
    except ImportError as error:
        raise ExecutorError(f"executor: {name!r} cannot be loaded: {error}") from error
    return module


def _loaded(point: EntryPoint) -> ModuleType:
    """The module of an executor. An interrupt of its import, from the keyboard, comes afterwards.

    A library that is imported in part cannot be imported again.
    """
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    if point.module in sys.modules or not is_main or not callable(handler):
        return point.load()  # type: ignore[no-any-return]
    interrupts: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interrupt: interrupts.append(interrupt))
    try:
        return point.load()  # type: ignore[no-any-return]
    finally:
        signal.signal(signal.SIGINT, handler)
        if interrupts:
            handler(*interrupts[-1])


def check_executor(caller: str, executor: object) -> None:
    """Raise ExecutorError unless it is an executor, or the name of one. Imports none.

    None stands for the executor that `TENFERRO_EXECUTOR` names.
    """
    if executor is None:
        if config.executor == DEFAULT_EXECUTOR:
            return  # reading what is installed takes milliseconds
        executor = config.executor
    if not isinstance(executor, str | Executor):
        raise ExecutorError(f"{caller}: executor must be an executor or its name, got {executor!r}")
    if isinstance(executor, str) and not is_executor(executor):
        raise _not_installed(executor)


def _not_installed(name: str) -> ExecutorError:
    is_default = name == config.executor and name != DEFAULT_EXECUTOR
    where = "TENFERRO_EXECUTOR" if is_default else "executor"
    names = ", ".join(installed_executors())
    return ExecutorError(f"{where}: no executor is named {name!r}; installed: {names}")


def installed_executors() -> tuple[str, ...]:
    """The names that `executor_named` accepts. Imports no executor."""
    return tuple(sorted({*_INSTALLED.points(), *_registered}))


def is_executor(name: str) -> bool:
    """Whether `executor_named` accepts a name. Imports no executor."""
    return name in _registered or _INSTALLED.find(name) is not None


class _Installed:
    """The executors of installed distributions by name, read from the system once.

    Reading takes milliseconds. What is installed later is found when a name is looked for that is
    not there.
    """

    def __init__(self) -> None:
        self._points: dict[str, EntryPoint] | None = None

    def points(self) -> dict[str, EntryPoint]:
        """All that are known."""
        return self.read() if self._points is None else self._points

    def read(self) -> dict[str, EntryPoint]:
        """All that there are now."""
        points = {point.name: point for point in entry_points(group=_NUMPY.group)}
        self._points = {**points, _NUMPY.name: _NUMPY}
        return self._points

    def find(self, name: str) -> EntryPoint | None:
        """The one with this name."""
        return self.points().get(name) or self.read().get(name)


_NUMPY = EntryPoint("numpy", "tenferro.runtime.native_executor", "tenferro.executors")
_INSTALLED = _Installed()


def owner_of(value: object) -> Executor | None:
    """The executor whose buffer `value` is, or None when it is not a device buffer.

    Checks only executors whose device library the process has imported; others cannot own the
    value.
    """
    root = type(value).__module__.partition(".")[0]
    if root not in ("jax", "jaxlib") or "jax" not in sys.modules:
        return None
    executor = executor_named("xla")
    if not executor.owns(value):
        return None
    holding = getattr(executor, "holding", None)  # of executors that have others on meshes
    return executor if holding is None else holding(value)


# How the inputs and outputs of a program are divided among the devices of a mesh.


@dataclass(frozen=True, slots=True)
class Shardings:
    """The shardings of a program's inputs and outputs; None, or no entry, is inferred.

    Attributes:
        names: of the inputs, for errors.
    """

    inputs: tuple[Any, ...] = ()
    outputs: tuple[Any, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)

    def inferred_from(self, leaves: Sequence[Any]) -> Shardings:
        """These, where inputs that are inferred are divided as arrays are."""
        declared = (*self.inputs, *(None,) * (len(leaves) - len(self.inputs)))
        inputs = [
            getattr(leaf, "sharding", None) if sharding is None else sharding
            for leaf, sharding in zip(leaves, declared, strict=True)
        ]
        return Shardings(tuple(inputs), self.outputs, self.names)


INFERRED = Shardings()


@runtime_checkable
class RunsOnMesh(Protocol):
    """An executor that can run on the devices of a mesh."""

    def with_mesh(self, mesh: object, slices: Any = None) -> Executor:
        """An executor like this one on the mesh; the same one for equal arguments.

        `slices` are the axes of the mesh whose devices share the slices of networks.
        """

    def sharding(self, given: object, where: str) -> Any:
        """The sharding that a user writes, on the executor's mesh; `where` is for errors."""

    def holding(self, buffer: Buffer) -> Executor:
        """The executor for a buffer: this one, or the one on the mesh that the buffer is on."""

    def compile_exec(
        self,
        program: ExecProgram,
        donate: tuple[int, ...] = (),
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
        shardings: Shardings = INFERRED,
    ) -> Executable:
        """Compile the program for inputs and outputs that are divided so."""


def on_mesh(caller: str, executor: str | Executor, mesh: object, slices: object = None) -> Executor:
    """The executor on a mesh. `caller` is the function that is called.

    `slices` are the axes whose devices share the slices of networks; None for the executor's own.

    Raises:
        ShardingError: the executor does not run on meshes, or `mesh` is not one, or lacks an axis.
    """
    chosen = executor_named(executor) if isinstance(executor, str) else executor
    if not isinstance(chosen, RunsOnMesh):
        raise ShardingError(
            f"{caller}: the executor {chosen.name!r} does not run on a mesh; use executor='xla'"
        )
    return chosen.with_mesh(mesh, slices)


# What a program needs of memory on an executor.


@runtime_checkable
class PredictsMemory(Protocol):
    """An executor that tells what a program needs before it runs."""

    def memory(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> MemoryReport:
        """The memory that the program needs, for these sizes of its symbols."""


def memory_of(
    executor: Executor,
    program: ExecProgram,
    sizes: Mapping[Leaf, int],
    options: OptimizerOptions,
    shardings: Shardings = INFERRED,
) -> MemoryReport:
    """The memory that a program needs on an executor; on a mesh, where it is divided so.

    Raises:
        ExecutorError: the executor does not tell.
    """
    if not isinstance(executor, PredictsMemory):
        raise ExecutorError(
            f"memory: the executor {executor.name!r} has no method memory(program, sizes, options)"
        )
    on_mesh: dict[str, Any] = {} if shardings == INFERRED else {"shardings": shardings}
    return executor.memory(program, sizes, options, **on_mesh)


# Executors with further packages of extension families.

_extended: WeakKeyDictionary[Executor, dict[tuple[int, ...], Executor]] = WeakKeyDictionary()
"""For each executor those like it with further packages, by the identities of these."""


@runtime_checkable
class TakesPackages(Protocol):
    """An executor that accepts packages of extension families."""

    @property
    def packages(self) -> Sequence[Package]:
        """The packages that it has in addition to tenferro's own."""

    def with_packages(self, packages: Sequence[Package]) -> Executor:
        """An executor like this one with these packages in addition."""


@runtime_checkable
class TakesCompilerOptions(Protocol):
    """An executor whose compiler has options."""

    def with_compiler_options(self, options: Mapping[str, Any]) -> Executor:
        """An executor like this one with these options in addition."""


def with_compiler_options(executor: Executor, options: Mapping[str, Any] | None) -> Executor:
    """The executor itself if there are no options, else one like it with these in addition.

    Raises:
        ExecutorError: the executor has no compiler that takes options.

    >>> from tenferro.runtime import executor_named
    >>> with_compiler_options(executor_named("numpy"), None).name
    'numpy'
    """
    if not options:
        return executor
    if not isinstance(executor, TakesCompilerOptions):
        raise ExecutorError(
            f"compiler_options: the executor {executor.name!r} has no compiler that takes options; "
            "leave them out"
        )
    return executor.with_compiler_options(options)


def with_packages(executor: Executor, packages: Sequence[Package]) -> Executor:
    """The executor itself if `packages` is empty, else one like it with these in addition.

    Raises:
        ExecutorError: the executor does not accept packages.
        ExtensionRegistryError: a package is given twice, or is not one.

    >>> from tenferro.runtime import executor_named
    >>> with_packages(executor_named("numpy"), ()) is executor_named("numpy")
    True
    """
    if not packages:
        return executor
    if not isinstance(executor, TakesPackages):
        raise ExecutorError(
            f"packages: the executor {executor.name!r} has no method with_packages(packages), and "
            "takes none; register the families with it in its own way"
        )
    return executor.with_packages(packages)


def with_missing_packages(executor: Executor, packages: Sequence[Package]) -> Executor:
    """An executor like `executor` that has these packages; itself if it has them already.

    The same packages give the same executor, whose caches are its own.

    Raises:
        ExecutorError: the executor does not accept packages.
        ExtensionRegistryError: two packages have the same family.
    """
    known = executor.packages if isinstance(executor, TakesPackages) else ()
    missing = [package for package in packages if not contains(known, package)]
    if not missing:
        return executor
    extended = _extended.setdefault(executor, {})
    key = tuple(map(id, missing))  # the executors refer to the packages
    if key not in extended:
        extended[key] = with_packages(executor, missing)
    return extended[key]


def contains(packages: Sequence[Package], package: Package) -> bool:
    """Whether this very package is among others."""
    return any(package is other for other in packages)
