"""The XLA executor: execution programs through `jax.lax` and StableHLO to PJRT.

Read in this order: `devices`, `placement`, `distributed` (devices, meshes, processes), `lowering`
(each op in `jax.lax`), `platforms` (what is known of CPUs and GPUs), `target`, `compiled`
(StableHLO, executables, their cache and reports), `executor`; then `sharding` and `interop` (JAX
functions, artifacts). Importing it does not change any setting of JAX.
"""

from tenferro.compiler import DeviceCosts
from tenferro.compiler.device import SegmentPlan, XlaSegment
from tenferro_xla import sharding
from tenferro_xla.blocks import *
from tenferro_xla.compiled import (
    BucketedExecutable,
    Change,
    Compiled,
    CompileEvent,
    CompileReport,
    Cost,
    LoadedExecutable,
    Lowered,
    Memory,
    SegmentedExecutable,
    Subject,
)
from tenferro_xla.devices import *
from tenferro_xla.distributed import *
from tenferro_xla.executor import *
from tenferro_xla.in_flight import *
from tenferro_xla.interop import Exported, export, from_jax, jax_gradient, load_exported, to_jax
from tenferro_xla.lowering import LoweringOptions, Precision, jax_function, lower
from tenferro_xla.placement import *
from tenferro_xla.platforms import keep_host_memory
from tenferro_xla.settings import *
from tenferro_xla.target import *

__all__ = [
    "FLIGHT",
    "LARGE",
    "VIEWS",
    "BucketedExecutable",
    "Change",
    "CompileEvent",
    "CompileReport",
    "Compiled",
    "Cost",
    "Costs",
    "DeviceCosts",
    "Exported",
    "Flight",
    "LoadedExecutable",
    "Lowered",
    "LoweringOptions",
    "Memory",
    "OnMesh",
    "OneDevice",
    "Options",
    "Placement",
    "Precision",
    "SegmentPlan",
    "SegmentedExecutable",
    "Sharding",
    "Subject",
    "XlaExecutor",
    "XlaSegment",
    "absent",
    "agree",
    "at_fork",
    "automatic",
    "await_parts",
    "canonical",
    "check_divides",
    "default_executor",
    "device_facts",
    "device_name",
    "devices",
    "entry_names",
    "executor_on",
    "export",
    "find_device",
    "from_block",
    "from_jax",
    "import_dlpack",
    "initialize",
    "is_stopped",
    "jax_function",
    "jax_gradient",
    "keep_host_memory",
    "load_exported",
    "lower",
    "mesh_name",
    "named_device",
    "own_settings",
    "placement_of",
    "platform_named",
    "platform_of",
    "platforms",
    "put",
    "read",
    "refuse_forked",
    "refuse_lost",
    "refuse_not_finite",
    "refuse_unreadable",
    "sharding",
    "shutdown",
    "spec_of",
    "taken_options",
    "to_jax",
    "where",
]

Costs = DeviceCosts
"""The former name of `DeviceCosts`."""
