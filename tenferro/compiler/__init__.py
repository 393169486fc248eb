"""From a compiled program to what executors run: lowering, and the passes that optimize it.

Read in this order: `lower`, `passes`, the files of `canonical` in the order of `CANONICAL`,
`reroll`, `device` and `layout` (for a target), `memory` (needs, limits, reports), `pipeline`, and
`report` (loops, branches, random keys).
"""

from tenferro.compiler.background import *
from tenferro.compiler.canonical import *
from tenferro.compiler.cost_model import *
from tenferro.compiler.device import *
from tenferro.compiler.layout import *
from tenferro.compiler.lower import *
from tenferro.compiler.memory import *
from tenferro.compiler.partitioned_axes import *
from tenferro.compiler.passes import *
from tenferro.compiler.pipeline import *
from tenferro.compiler.report import *
from tenferro.compiler.reroll.reroll import *
from tenferro.compiler.schedule import *

LayoutCosts = DeviceCosts
"""The former name of `DeviceCosts`."""
