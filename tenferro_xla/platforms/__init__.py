"""What is known of each platform of XLA: its costs, memory, compiler options and passes.

Read in this order: `platform` (what may be known, and the platform of which nothing is), `cuda`,
the passes `barriers`, `stencils`, `sums` and `complex_as_real`, `cpu`. No other module of executors
asks which platform it is on.
"""

from tenferro_xla.platforms.barriers import *
from tenferro_xla.platforms.complex_as_real import *
from tenferro_xla.platforms.cpu import *
from tenferro_xla.platforms.cuda import *
from tenferro_xla.platforms.platform import *
from tenferro_xla.platforms.stencils import *
from tenferro_xla.platforms.sums import *
