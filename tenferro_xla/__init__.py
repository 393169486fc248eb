"""The XLA executor: execution programs through `jax.lax` and StableHLO to PJRT.

Read in this order: `lowering`, `contractions`, `devices`, `stablehlo`; `recompiles`, `segments`,
`segmented`, `masking`, `pad_safety`, `bucketing`, `executables`; `stages`, `executor`; then
`jaxpr`, `interop`, `artifact` and `memory`.
Importing it changes no setting of JAX.
"""

from tenferro_xla.artifact import Exported, export, load_exported
from tenferro_xla.bucketing import BucketedExecutable
from tenferro_xla.contractions import Costs
from tenferro_xla.devices import device_name, devices, find_device
from tenferro_xla.executor import XlaExecutor, default_executor
from tenferro_xla.interop import from_jax, jax_gradient, to_jax
from tenferro_xla.lowering import LoweringOptions, Precision, jax_function, lower
from tenferro_xla.memory import keep_host_memory
from tenferro_xla.recompiles import Change, CompileEvent, CompileReport, Subject
from tenferro_xla.segmented import SegmentedExecutable
from tenferro_xla.segments import SegmentPlan, XlaSegment
from tenferro_xla.stablehlo import Cost, LoadedExecutable, Memory
from tenferro_xla.stages import Compiled, Lowered

__all__ = [
    "BucketedExecutable",
    "Change",
    "CompileEvent",
    "CompileReport",
    "Compiled",
    "Cost",
    "Costs",
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
    "device_name",
    "devices",
    "export",
    "find_device",
    "from_jax",
    "jax_function",
    "jax_gradient",
    "keep_host_memory",
    "load_exported",
    "lower",
    "to_jax",
]
