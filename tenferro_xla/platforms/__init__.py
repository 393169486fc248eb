"""What is known of each platform of XLA: its costs, memory, compiler options and passes.

Read in this order: `platform` (what may be known, and the platform of which nothing is),
`options` (which compiler options this XLA knows), `cpu`, `cuda`, `known`, `facts` (for reports),
`host_memory`. No other module of executors asks which platform it is on.
"""

from tenferro_xla.platforms.cpu import CPU_PLATFORM
from tenferro_xla.platforms.cuda import CUDA_PLATFORM
from tenferro_xla.platforms.facts import device_facts
from tenferro_xla.platforms.host_memory import keep_host_memory
from tenferro_xla.platforms.known import platform_named, platform_of
from tenferro_xla.platforms.options import Options, taken_options
from tenferro_xla.platforms.platform import Option, Platform

__all__ = [
    "CPU_PLATFORM",
    "CUDA_PLATFORM",
    "Option",
    "Options",
    "Platform",
    "device_facts",
    "keep_host_memory",
    "platform_named",
    "platform_of",
    "taken_options",
]
