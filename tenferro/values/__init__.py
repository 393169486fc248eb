"""Values of users: tensors, and moving them to the executor of a program.

Read in this order: `executors` (protocol, and lookup by name), `shardings`, `memory`, `devices`,
`free_memory`, `planning_device` (what plans are made for), `host` (NumPy arrays), `emitter`,
`placing`, `display` (how tensors are printed), `tensor`, `lifting` (kinds of values), `sizes`
(symbols solved from shapes), `program`, `binding`.
"""

from tenferro.values.binding import Bound, bind_inputs, bind_shapes, bind_specs
from tenferro.values.devices import device_names, executor_on
from tenferro.values.display import page_of
from tenferro.values.emitter import RunEmitter
from tenferro.values.executors import (
    Buffer,
    CompilesSlowly,
    Executable,
    Executor,
    RefusesTypes,
    check_executor,
    executor_module,
    executor_named,
    installed_executors,
    owner_of,
    register_executor,
    tensor_owner,
)
from tenferro.values.free_memory import free_host_bytes
from tenferro.values.host import buffer_meta, host_array, refuse_masked, sealed
from tenferro.values.lifting import (
    ShownType,
    fitted,
    is_array,
    meta_of_value,
    weak_number,
    wrap_all,
)
from tenferro.values.limits import bring_limit, collecting_limits
from tenferro.values.memory import memory_of
from tenferro.values.packages import (
    TakesPackages,
    bring_packages,
    collecting_packages,
    with_brought,
    with_packages,
)
from tenferro.values.placing import place, where_to_run
from tenferro.values.planning_device import (
    HOST_MODEL,
    KnowsDevice,
    holder_of,
    planned_free_bytes,
    planned_model,
    planning_for,
    runs_family,
)
from tenferro.values.program import GraphProgram, ProgramInput, check_program, leading
from tenferro.values.shardings import INFERRED, RunsOnMesh, Shardings, on_mesh
from tenferro.values.shortcut import SHORTCUT
from tenferro.values.sizes import Solved, learn_sizes, lone_symbol, solve_sizes
from tenferro.values.tensor import Tensor, as_operand, mentions_symbols, run_eagerly

__all__ = [
    "HOST_MODEL",
    "INFERRED",
    "SHORTCUT",
    "Bound",
    "Buffer",
    "CompilesSlowly",
    "Executable",
    "Executor",
    "GraphProgram",
    "KnowsDevice",
    "ProgramInput",
    "RefusesTypes",
    "RunEmitter",
    "RunsOnMesh",
    "Shardings",
    "ShownType",
    "Solved",
    "TakesPackages",
    "Tensor",
    "as_operand",
    "bind_inputs",
    "bind_shapes",
    "bind_specs",
    "bring_limit",
    "bring_packages",
    "buffer_meta",
    "check_executor",
    "check_program",
    "collecting_limits",
    "collecting_packages",
    "device_names",
    "executor_module",
    "executor_named",
    "executor_on",
    "fitted",
    "free_host_bytes",
    "holder_of",
    "host_array",
    "installed_executors",
    "is_array",
    "leading",
    "learn_sizes",
    "lone_symbol",
    "memory_of",
    "mentions_symbols",
    "meta_of_value",
    "on_mesh",
    "owner_of",
    "page_of",
    "place",
    "planned_free_bytes",
    "planned_model",
    "planning_for",
    "refuse_masked",
    "register_executor",
    "run_eagerly",
    "runs_family",
    "sealed",
    "solve_sizes",
    "tensor_owner",
    "weak_number",
    "where_to_run",
    "with_brought",
    "with_packages",
    "wrap_all",
]
