"""The XLA executor: execution programs through `jax.lax` and StableHLO to PJRT.

Read in this order: `places` (devices, meshes, processes), `passes` (rewritings for XLA), `lowering`
(each op in `jax.lax`), `platforms` (what is known of CPUs and GPUs), `target`, `compiled`
(StableHLO, executables, their cache and reports), `executor`; then `sharding` and `interop` (JAX
functions, artifacts). Importing it does not change any setting of JAX.
"""

from tenferro.compiler import DeviceCosts, SegmentPlan, XlaSegment
from tenferro_xla import sharding
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
from tenferro_xla.executor import XlaExecutor
from tenferro_xla.interop import Exported, export, from_jax, jax_gradient, load_exported, to_jax
from tenferro_xla.lowering import LoweringOptions, Precision, jax_function, lower
from tenferro_xla.named import default_executor, executor_on
from tenferro_xla.places import (
    device_name,
    devices,
    find_device,
    import_dlpack,
    named_device,
    platforms,
)
from tenferro_xla.platforms import device_facts, keep_host_memory

Costs = DeviceCosts
"""The former name of `DeviceCosts`."""

__all__ = [
    "BucketedExecutable",
    "Change",
    "CompileEvent",
    "CompileReport",
    "Compiled",
    "Cost",
    "Costs",
    "DeviceCosts",
    "Exported",
    "LoadedExecutable",
    "Lowered",
    "LoweringOptions",
    "Memory",
    "Precision",
    "SegmentPlan",
    "SegmentedExecutable",
    "Subject",
    "XlaExecutor",
    "XlaSegment",
    "default_executor",
    "device_facts",
    "device_name",
    "devices",
    "executor_on",
    "export",
    "find_device",
    "from_jax",
    "import_dlpack",
    "jax_function",
    "jax_gradient",
    "keep_host_memory",
    "load_exported",
    "lower",
    "named_device",
    "platforms",
    "sharding",
    "to_jax",
]
