"""The backend that defines what every op means: NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from tenferro.exec_ir import Array, ExecOp, ExecProgram
from tenferro.runtime.extensions import Boundary
from tenferro.runtime.prepared import PreparedProgram


class NumpyBackend:
    """Runs ops by their own NumPy meaning. It is also its own session."""

    name = "numpy"

    @contextmanager
    def with_backend_session(self) -> Iterator[NumpyBackend]:
        """A scope in which NumPy's floating-point warnings are off, as IEEE results are meant."""
        with np.errstate(all="ignore"):
            yield self

    def prepare(self, program: ExecProgram, boundary: Boundary) -> PreparedProgram | None:
        """The program as one function, which skips what dispatch costs for each instruction.

        None if there is none: data decide sizes, or a subclass has a say in what runs.
        """
        if type(self) is not NumpyBackend or not PreparedProgram.fits(program):
            return None
        return PreparedProgram(program, boundary)

    def execute(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The op's NumPy meaning."""
        return tuple([np.asarray(result) for result in op.evaluate(inputs)])

    def execute_boundary(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The op's NumPy meaning, in a session of its own."""
        with self.with_backend_session():
            return self.execute(op, inputs)

    def upload_host_tensor(self, array: Array) -> Array:
        """The array itself."""
        return array

    def download_to_host(self, buffer: Array) -> Array:
        """The array itself."""
        return buffer

    def reclaim_buffer(self, buffer: Array) -> None:
        """NumPy frees an array with its last reference."""

    def __repr__(self) -> str:
        return "NumpyBackend()"
