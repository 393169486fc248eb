"""What the front ends ask of an executor, and finding one by name.

The core names no backend: a distribution registers its executor under the entry-point group
`tenferro.executors`, as a module with a function `default_executor()`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tenferro.compiler import DEFAULT_OPTIONS, OptimizerOptions
from tenferro.errors import ExecutorError
from tenferro.exec_ir import Array, ExecOp, ExecProgram
from tenferro.family import Package
from tenferro.shape import Leaf

Buffer = Any
"""An array of an executor: a NumPy array, or a device array."""


class Executable(Protocol):
    """A compiled program: buffers in, buffers out."""

    def __call__(self, *buffers: Buffer) -> Sequence[Buffer]:
        """Run on buffers of the executor."""

    def run_host(self, *values: Buffer | Array) -> Sequence[Buffer]:
        """The same where inputs may be NumPy arrays, which are uploaded on the way."""


@runtime_checkable
class Executor(Protocol):
    """Runs execution programs on buffers of its own, once their sizes are known."""

    @property
    def name(self) -> str:
        """Name under which it is found, such as `"numpy"`."""

    def compile_exec(
        self,
        program: ExecProgram,
        donate: tuple[int, ...] = (),
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> Executable:
        """The program for these sizes of its symbols, optimized for the device, ready to run.

        `donate` are inputs whose buffers it may overwrite; `options` say which passes run.
        """

    def run_op(self, op: ExecOp, *buffers: Buffer) -> tuple[Buffer, ...]:
        """One op, at once."""

    def put(self, array: Array) -> Buffer:
        """A NumPy array as a buffer of this executor."""

    def get(self, buffer: Buffer) -> Array:
        """A buffer as a NumPy array."""

    def owns(self, value: object) -> bool:
        """Whether a value is a buffer of this executor."""


@runtime_checkable
class TakesPackages(Protocol):
    """An executor to which packages of extension families can be given."""

    def with_packages(self, packages: Sequence[Package]) -> Executor:
        """An executor like this one that has further packages."""


_HOST_BUFFER = np.empty(0)
_found: dict[str, Executor] = {}
_lock = threading.Lock()


def register_executor(executor: Executor) -> Executor:
    """Make an executor known by its name; the first of a name stays."""
    with _lock:
        return _found.setdefault(executor.name, executor)


def tensor_owner(executor: Executor) -> Executor | None:
    """The executor that tensors around its buffers name; None where buffers are NumPy arrays."""
    return None if executor.owns(_HOST_BUFFER) else executor


def executor_named(name: str) -> Executor:
    """The default executor of that name.

    Raises:
        ExecutorError: no installed distribution has it; the text lists those that exist.

    >>> import tenferro
    >>> executor_named("numpy").name
    'numpy'
    """
    if not isinstance(name, str):
        raise ExecutorError(f"executor: takes an executor or its name, got {name!r}")
    found = _found.get(name)
    if found is not None:
        return found
    executor: Executor = executor_module(name).default_executor()
    return register_executor(executor)


def with_packages(executor: Executor, packages: Sequence[Package]) -> Executor:
    """The executor itself without packages, else one like it that has them too.

    Raises:
        ExecutorError: packages cannot be given to the executor.
        ExtensionRegistryError: a package is given twice, or is not one.

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


def executor_module(name: str) -> ModuleType:
    """The module that registers an executor, with what it offers beyond `Executor`.

    Raises:
        ExecutorError: no installed distribution has it, or the module cannot be imported.
    """
    point = _points().get(name)
    if point is None:
        known = ", ".join(installed_executors())
        raise ExecutorError(f"executor: no executor is named {name!r}; installed: {known}")
    try:
        module: ModuleType = point.load()
    except ImportError as error:
        raise ExecutorError(f"executor: {name!r} cannot be loaded: {error}") from error
    return module


def installed_executors() -> tuple[str, ...]:
    """The names that `executor_named` knows here. Nothing is imported to find out."""
    return tuple(sorted({*_points(), *_found}))


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="tenferro.executors")}


def owner_of(value: object) -> Executor | None:
    """The executor whose buffer `value` is, or None when it is no device buffer.

    A device library that the process has not imported cannot have made the value, and is not
    imported to ask.
    """
    root = type(value).__module__.partition(".")[0]
    if root not in ("jax", "jaxlib") or "jax" not in sys.modules:
        return None
    executor = executor_named("xla")
    return executor if executor.owns(value) else None
