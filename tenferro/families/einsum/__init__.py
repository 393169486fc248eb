"""Networks of tensors: subscripts, contraction orders, slices, and the ops of networks.

Read in this order: `subscripts` (labels of axes), `contraction_tree` (an order and its costs),
`reconfigure` (better trees), `search` (finds trees), `planner` (what `optimize=` takes), `slicing`;
then `contraction` (a planned network as core ops), `einsum_op` (a network whose sizes are not yet
known, and its transforms) and `sliced_op` (the loop over slices; rules of all of them).
"""

from tenferro.families.einsum.contraction import *
from tenferro.families.einsum.contraction_tree import *
from tenferro.families.einsum.einsum_op import *
from tenferro.families.einsum.planner import *
from tenferro.families.einsum.search import *
from tenferro.families.einsum.sliced_op import *
from tenferro.families.einsum.sliced_op import EinsumRule, NetworkBatchRule, SlicedRule
from tenferro.families.einsum.slicing import *
from tenferro.families.einsum.subscripts import *
from tenferro.ops.extension import Package, TransformRule
from tenferro.runtime import StandardRuntime

_FAMILIES = (EinsumOp, NetworkDerivative, SlicedNetwork)

EINSUM = Package(
    name="tenferro-einsum",
    ops=_FAMILIES,
    rules=(EinsumRule(), TransformRule(NetworkDerivative), SlicedRule()),
    runtimes=tuple(StandardRuntime(op.FAMILY_ID) for op in _FAMILIES),
    batch_rules=tuple(NetworkBatchRule(op) for op in _FAMILIES),
)
