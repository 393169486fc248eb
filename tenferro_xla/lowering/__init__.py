"""Each op in terms of `jax.lax`, by topic.

`registry` finds the lowering of an op and turns a program into a JAX function; importing a module
registers its lowerings.
"""

from tenferro_xla.lowering import collectives as collectives
from tenferro_xla.lowering import control_flow as control_flow
from tenferro_xla.lowering import elementwise as elementwise
from tenferro_xla.lowering import extents as extents
from tenferro_xla.lowering import gather_scatter as gather_scatter
from tenferro_xla.lowering import linalg as linalg
from tenferro_xla.lowering import reductions as reductions
from tenferro_xla.lowering import schur as schur
from tenferro_xla.lowering import shapes as shapes
from tenferro_xla.lowering import small_matrices as small_matrices
from tenferro_xla.lowering import special as special
from tenferro_xla.lowering.extensions import *
from tenferro_xla.lowering.registry import *
