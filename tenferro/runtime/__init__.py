"""Running execution programs: tensors, backends, segments, executors."""

from tenferro.runtime.backend import BackendSession, TensorBackend
from tenferro.runtime.dispatch import run_segmented, run_unsegmented
from tenferro.runtime.executor import NUMPY_EXECUTOR, GraphExecutor
from tenferro.runtime.executors import (
    Buffer,
    Executable,
    Executor,
    executor_module,
    executor_named,
    installed_executors,
    owner_of,
    register_executor,
    tensor_owner,
)
from tenferro.runtime.extensions import BoundaryDispatch
from tenferro.runtime.numpy_backend import NumpyBackend
from tenferro.runtime.program import (
    Bound,
    GraphProgram,
    ProgramInput,
    as_declared,
    bind_inputs,
    bind_shapes,
    bind_specs,
    check_program,
)
from tenferro.runtime.segment import Segment, segment_exec_program
from tenferro.runtime.tensor import RunEmitter, Tensor, buffer_meta, host_array, run_eagerly

__all__ = [
    "NUMPY_EXECUTOR",
    "BackendSession",
    "Bound",
    "BoundaryDispatch",
    "Buffer",
    "Executable",
    "Executor",
    "GraphExecutor",
    "GraphProgram",
    "NumpyBackend",
    "ProgramInput",
    "RunEmitter",
    "Segment",
    "Tensor",
    "TensorBackend",
    "as_declared",
    "bind_inputs",
    "bind_shapes",
    "bind_specs",
    "buffer_meta",
    "check_program",
    "executor_module",
    "executor_named",
    "host_array",
    "installed_executors",
    "owner_of",
    "register_executor",
    "run_eagerly",
    "run_segmented",
    "run_unsegmented",
    "segment_exec_program",
    "tensor_owner",
]
