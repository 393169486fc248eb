"""Running execution programs on native backends.

Read in this order: `backend` (what a backend is), `prepared` (a program as one function),
`numpy_backend`, `segment`, `dispatch`, `extensions`, `executor`, `blas_threads`.
"""

from tenferro.runtime.backend import BackendSession, TensorBackend
from tenferro.runtime.blas_threads import BLAS_THREADS
from tenferro.runtime.dispatch import run_segmented, run_unsegmented
from tenferro.runtime.executor import NUMPY_EXECUTOR, GraphExecutor, default_executor
from tenferro.runtime.extensions import Boundary, BoundaryDispatch
from tenferro.runtime.numpy_backend import NumpyBackend
from tenferro.runtime.prepared import PreparedProgram
from tenferro.runtime.segment import Segment, segment_exec_program
from tenferro.values import (
    SHORTCUT,
    Bound,
    Buffer,
    Executable,
    Executor,
    GraphProgram,
    ProgramInput,
    RunEmitter,
    Tensor,
    bind_inputs,
    bind_shapes,
    bind_specs,
    buffer_meta,
    check_program,
    device_names,
    executor_module,
    executor_named,
    executor_on,
    host_array,
    installed_executors,
    owner_of,
    register_executor,
    run_eagerly,
    tensor_owner,
    with_packages,
)

__all__ = [
    "BLAS_THREADS",
    "NUMPY_EXECUTOR",
    "SHORTCUT",
    "BackendSession",
    "Bound",
    "Boundary",
    "BoundaryDispatch",
    "Buffer",
    "Executable",
    "Executor",
    "GraphExecutor",
    "GraphProgram",
    "NumpyBackend",
    "PreparedProgram",
    "ProgramInput",
    "RunEmitter",
    "Segment",
    "Tensor",
    "TensorBackend",
    "bind_inputs",
    "bind_shapes",
    "bind_specs",
    "buffer_meta",
    "check_program",
    "default_executor",
    "device_names",
    "executor_module",
    "executor_named",
    "executor_on",
    "host_array",
    "installed_executors",
    "owner_of",
    "register_executor",
    "run_eagerly",
    "run_segmented",
    "run_unsegmented",
    "segment_exec_program",
    "tensor_owner",
    "with_packages",
]
