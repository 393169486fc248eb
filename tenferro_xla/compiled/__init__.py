"""Programs compiled by XLA: lowering, executables, their cache, running, and reports.

Read in this order: `stablehlo`, `buffer_pool`, `executable`, `segmented` and `bucketing` (sizes
that data decide or that are rounded up), `partitioned` (meshes), `compile_log`, `disk_cache`,
`cache`, `stages`.
"""

from tenferro_xla.compiled.bucketing import *
from tenferro_xla.compiled.cache import *
from tenferro_xla.compiled.compile_log import *
from tenferro_xla.compiled.executable import *
from tenferro_xla.compiled.partitioned import *
from tenferro_xla.compiled.segmented import *
from tenferro_xla.compiled.stablehlo import *
from tenferro_xla.compiled.stages import *
