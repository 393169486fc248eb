"""`TensorBackend`, NumPy's, and how extension ops run on one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import numpy as np

from tenferro.errors import BackendFailureError, class_of
from tenferro.ir import ExecOp, ExecProgram, NumpyArray, running_families
from tenferro.ops.control_flow import ControlOp
from tenferro.ops.extension import (
    Extension,
    ExtensionCaches,
    ExtensionRegistry,
    Package,
    register_runtimes,
)
from tenferro.runtime.executors import Buffer
from tenferro.runtime.packages import StandardRuntime, builtin_package, builtin_runtimes

__all__ = [
    "BackendSession",
    "Boundary",
    "BoundaryDispatch",
    "NumpyBackend",
    "TensorBackend",
]


# The interface of native backends: kernels in a session, contraction, moving buffers.


class BackendSession(Protocol):
    """One scope in which consecutive backend instructions run."""

    def execute(self, op: ExecOp, inputs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """Run one instruction of category SESSION."""

    def reclaim_buffer(self, buffer: Buffer) -> None:
        """Take back a buffer that will not be read again."""


class TensorBackend(Protocol):
    """A native backend: dense, contiguous tensors on one device, without implicit transfers."""

    @property
    def name(self) -> str:
        """Name of the backend."""

    def with_backend_session(self) -> AbstractContextManager[BackendSession]:
        """Open a session; `execute` is called inside it."""

    def execute_boundary(self, op: ExecOp, inputs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """Run one instruction of category BOUNDARY, such as a contraction."""

    def upload_host_tensor(self, array: NumpyArray) -> Buffer:
        """A host array as a buffer of this backend."""

    def download_to_host(self, buffer: Buffer) -> NumpyArray:
        """A buffer as a host array."""

    def reclaim_buffer(self, buffer: Buffer) -> None:
        """Take back a buffer that will not be read again."""


# Boundary instructions: contractions through the backend, extension ops through their runtimes.

Boundary = Callable[[ExecOp, Sequence[Buffer]], tuple[Buffer, ...]]
"""Runs one boundary instruction."""


class BoundaryDispatch:
    """Runs single boundary instructions for one owner, with its registry and caches.

    `owner` is what the text of a refusal calls it.
    """

    def __init__(
        self, backend: TensorBackend, packages: Sequence[Package] = (), owner: str = "executor"
    ) -> None:
        self.registry = ExtensionRegistry(owner)
        self.caches = ExtensionCaches()
        self._backend = backend
        register_runtimes(packages, self.registry)

    def __call__(self, op: ExecOp, inputs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """The outputs of `op`.

        Raises:
            UnregisteredExtensionError: the family of an extension op has no runtime here.
            BackendFailureError: the runtime failed, or its results are elsewhere.
        """
        if isinstance(op, ControlOp):
            with running_families(self._in_a_program):
                return self._backend.execute_boundary(op, inputs)
        if not isinstance(op, Extension):
            return self._backend.execute_boundary(op, inputs)
        registry = self._registry_of(op.family_id)
        results = registry.execute(self._backend, op, inputs, self.caches)
        return tuple([self._here(op, result, inputs) for result in results])

    def _in_a_program(self, op: ExecOp, inputs: Sequence[Buffer]) -> Sequence[Buffer]:
        """The outputs of an extension op of a program inside an op.

        Families of tenferro's own run by their meaning there, without the way through a registry.
        """
        return self(op, inputs) if op.family in self.registry else op.evaluate(inputs)

    def require_all(self, program: ExecProgram) -> None:
        """Raise UnregisteredExtensionError unless every family of the program has a runtime."""
        for part in program.walk():
            for op in part.ops_of(Extension):
                self._registry_of(op.family_id).require(op)

    def __contains__(self, family: object) -> bool:
        """Whether ops of a family are run by a runtime; otherwise they are replaced by other ops.

        An op of tenferro's own that has such a form is replaced, unless a runtime was registered
        for its family. Any other family needs its runtime; running it without one is an error.
        """
        if not isinstance(family, str) or family in self.registry:
            return True
        package = builtin_package(family)
        return package is None or not any(
            runtime.family_id == family and isinstance(runtime, StandardRuntime)
            for runtime in package.runtimes
        )

    def _registry_of(self, family: str) -> ExtensionRegistry:
        """The registry with the runtime of a family: that of users first, then tenferro's own."""
        standard = None if family in self.registry else builtin_runtimes(family)
        return self.registry if standard is None else standard

    def _here(self, op: Extension, result: Buffer, inputs: Sequence[Buffer]) -> Buffer:
        """A result as a buffer of the backend. A result on another device is an error."""
        if isinstance(result, np.generic):
            return np.asarray(result)
        if not isinstance(result, (np.ndarray, *map(type, inputs))):
            raise BackendFailureError(
                op.family_id,
                f"{op.family_id}: its runtime returned {class_of(result)}, which is not on "
                f"{self._backend.name}; results must be where the inputs are",
            )
        return result


# The backend that defines what every op means: NumPy.


class NumpyBackend:
    """Runs ops by their own NumPy meaning. It is also its own session."""

    name = "numpy"

    @contextmanager
    def with_backend_session(self) -> Iterator[NumpyBackend]:
        """A scope in which NumPy's floating-point warnings are off, as IEEE results are meant."""
        with np.errstate(all="ignore"):
            yield self

    def execute(self, op: ExecOp, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        """The op's NumPy meaning."""
        return tuple([np.asarray(result) for result in op.evaluate(inputs)])

    def execute_boundary(self, op: ExecOp, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        """The op's NumPy meaning, in a session of its own."""
        with self.with_backend_session():
            return self.execute(op, inputs)

    def upload_host_tensor(self, array: NumpyArray) -> NumpyArray:
        """The array itself."""
        return array

    def download_to_host(self, buffer: NumpyArray) -> NumpyArray:
        """The array itself."""
        return buffer

    def reclaim_buffer(self, buffer: NumpyArray) -> None:
        """NumPy frees an array with its last reference."""

    def __repr__(self) -> str:
        return "NumpyBackend()"
