"""Programs compiled by XLA: lowering, executables, their cache, running, and reports.

Read in this order: `stablehlo`, `buffer_pool`, `executable`, `derived_executables` (sizes that are
rounded up or that data decide, meshes), `compile_log`, `disk_cache`, `cache`, `stages`.
"""

from tenferro_xla.compiled.cache import *
from tenferro_xla.compiled.compile_log import *
from tenferro_xla.compiled.derived_executables import *
from tenferro_xla.compiled.executable import *
from tenferro_xla.compiled.stablehlo import *
from tenferro_xla.compiled.stages import *
