"""The interface of native backends: kernels in a session, contraction, moving buffers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tenferro.exec_ir import Array, ExecOp
from tenferro.values import Buffer


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

    def upload_host_tensor(self, array: Array) -> Buffer:
        """A host array as a buffer of this backend."""

    def download_to_host(self, buffer: Buffer) -> Array:
        """A buffer as a host array."""

    def reclaim_buffer(self, buffer: Buffer) -> None:
        """Take back a buffer that will not be read again."""
