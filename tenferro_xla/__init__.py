"""The XLA executor: execution programs through `jax.lax` and StableHLO to PJRT.

Read in this order: `lowering`, `devices`, `stablehlo`, `executor`; then `jaxpr` and `interop`.
Importing it changes no setting of JAX.
"""

from tenferro_xla.devices import device_name, devices, find_device
from tenferro_xla.executor import Compiled, Lowered, XlaExecutor, default_executor
from tenferro_xla.interop import from_jax, jax_gradient, to_jax
from tenferro_xla.lowering import LoweringOptions, Precision, jax_function, lower
from tenferro_xla.stablehlo import Cost, LoadedExecutable, Memory

__all__ = [
    "Compiled",
    "Cost",
    "LoadedExecutable",
    "Lowered",
    "LoweringOptions",
    "Memory",
    "Precision",
    "XlaExecutor",
    "default_executor",
    "device_name",
    "devices",
    "find_device",
    "from_jax",
    "jax_function",
    "jax_gradient",
    "lower",
    "to_jax",
]
