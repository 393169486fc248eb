""""""

from tenferro_xla.compiled.bucketing import *
from tenferro_xla.compiled.cache import *
from tenferro_xla.compiled.compile_log import *
from tenferro_xla.compiled.executable import *
from tenferro_xla.compiled.partitioned import *
from tenferro_xla.compiled.segmented import *
from tenferro_xla.compiled.stablehlo import *
from tenferro_xla.compiled.stages import *
