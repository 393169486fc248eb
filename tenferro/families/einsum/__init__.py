"""The einsum families: networks of tensors as one op, their derivatives, and sliced networks.

Read in this order: `contraction` emits a planned network as core ops; `einsum_op` has the network
whose sizes are not yet known, and its transforms; `sliced_op` the loop over slices, and the
derivative and batch rules of all of them.
"""

from tenferro.families.composite import TransformRule
from tenferro.families.einsum.contraction import *
from tenferro.families.einsum.einsum_op import *
from tenferro.families.einsum.sliced_op import *
from tenferro.families.einsum.sliced_op import EinsumRule, NetworkBatchRule, SlicedRule
from tenferro.families.runtimes import StandardRuntime
from tenferro.ops.extension import Package

_FAMILIES = (EinsumOp, NetworkDerivative, SlicedNetwork)

EINSUM = Package(
    name="tenferro-einsum",
    ops=_FAMILIES,
    rules=(EinsumRule(), TransformRule(NetworkDerivative), SlicedRule()),
    runtimes=tuple(StandardRuntime(op.FAMILY_ID) for op in _FAMILIES),
    batch_rules=tuple(NetworkBatchRule(op) for op in _FAMILIES),
)
