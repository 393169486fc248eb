"""The einsum families: a network of tensors as one op, its derivatives, and the same in slices.

Read in this order: `contraction` and `lowering` emit a planned network as core ops; `op` is a
network whose sizes are known late, `derivative` the transforms of one, `sliced` a loop over slices;
`rules` has their derivatives.
"""

from tenferro.families.einsum.contraction import Labeled, Sizes
from tenferro.families.einsum.derivative import NetworkDerivative
from tenferro.families.einsum.lowering import contract_step, emit_network, entered, finished
from tenferro.families.einsum.op import EinsumOp
from tenferro.families.einsum.rules import EinsumRule, TransformRule
from tenferro.families.einsum.sliced import SlicedNetwork
from tenferro.families.runtime import StandardRuntime
from tenferro.family import Package

_FAMILIES = (EinsumOp, NetworkDerivative, SlicedNetwork)

EINSUM = Package(
    name="tenferro-einsum",
    ops=_FAMILIES,
    rules=(EinsumRule(), TransformRule(NetworkDerivative), TransformRule(SlicedNetwork)),
    runtimes=tuple(StandardRuntime(op.FAMILY_ID) for op in _FAMILIES),
)

__all__ = [
    "EINSUM",
    "EinsumOp",
    "Labeled",
    "NetworkDerivative",
    "Sizes",
    "SlicedNetwork",
    "contract_step",
    "emit_network",
    "entered",
    "finished",
]
