"""The einsum families: networks of tensors as one op, their derivatives, and sliced networks.

Read in this order: `contraction` and `lowering` emit a planned network as core ops; `op` has the
network whose sizes are not yet known, `derivative` its transforms, `sliced` the loop over slices;
`rules` has the derivative rules, `batching` the batch rule.
"""

from tenferro.families.einsum.batching import NetworkBatchRule
from tenferro.families.einsum.contraction import Labeled, Sizes
from tenferro.families.einsum.derivative import NetworkDerivative
from tenferro.families.einsum.lowering import contract_step, emit_network, entered, finished
from tenferro.families.einsum.op import EinsumOp
from tenferro.families.einsum.rules import EinsumRule, SlicedRule
from tenferro.families.einsum.sliced import SlicedNetwork
from tenferro.families.formula import TransformRule
from tenferro.families.runtime import StandardRuntime
from tenferro.family import Package

_FAMILIES = (EinsumOp, NetworkDerivative, SlicedNetwork)

EINSUM = Package(
    name="tenferro-einsum",
    ops=_FAMILIES,
    rules=(EinsumRule(), TransformRule(NetworkDerivative), SlicedRule()),
    runtimes=tuple(StandardRuntime(op.FAMILY_ID) for op in _FAMILIES),
    batch_rules=tuple(NetworkBatchRule(op) for op in _FAMILIES),
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
