"""Boundary instructions: contractions through the backend, extension ops through their runtimes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tenferro.contract import Extension, ExtensionCaches, ExtensionRegistry
from tenferro.errors import BackendFailureError
from tenferro.exec_ir import ExecOp, ExecProgram
from tenferro.runtime.backend import TensorBackend
from tenferro.runtime.executors import Buffer

Boundary = Callable[[ExecOp, Sequence[Buffer]], tuple[Buffer, ...]]
"""Runs one boundary instruction."""


class BoundaryDispatch:
    """Runs single boundary instructions for one owner, with its registry and caches."""

    def __init__(self, backend: TensorBackend) -> None:
        self.registry = ExtensionRegistry()
        self.caches = ExtensionCaches()
        self._backend = backend

    def __call__(self, op: ExecOp, inputs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """The outputs of `op`.

        Raises:
            UnregisteredExtensionError: the family of an extension op has no runtime here.
            BackendFailureError: the runtime failed, or its results are elsewhere.
        """
        if isinstance(op, Extension):
            results = self.registry.execute(self._backend, op, inputs, self.caches)
            return tuple([self._here(op, result, inputs) for result in results])
        return self._backend.execute_boundary(op, inputs)

    def require_all(self, program: ExecProgram) -> None:
        """Raise UnregisteredExtensionError unless every family of the program has a runtime."""
        for step in program.instructions:
            if isinstance(step.op, Extension):
                self.registry.require(step.op)

    def _here(self, op: Extension, result: Buffer, inputs: Sequence[Buffer]) -> Buffer:
        """A result as a buffer of the backend. One that is elsewhere is not moved."""
        if isinstance(result, np.generic):
            return np.asarray(result)
        if not isinstance(result, (np.ndarray, *map(type, inputs))):
            raise BackendFailureError(
                op.family_id,
                f"{op.family_id}: its runtime returned a {type(result).__name__}, which is not on "
                f"{self._backend.name}; results must be where the inputs are",
            )
        return result
