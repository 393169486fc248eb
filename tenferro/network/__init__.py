"""Networks of tensors: `einsum`, and what a contraction is before it is computed.

How a network is written and in which order it is contracted is `tenferro.planning`; the extension
families are in `tenferro.families`. Here, file by file: `program` emits a planned network and
compiles it, `plan` is all of that as a value, which `drawing` shows and `budget` keeps within a
limit; `einsum` is what users call.
"""

from tenferro.compiler import DeviceCosts, MemoryNeed, predict_memory
from tenferro.families import EINSUM, EinsumOp, NetworkDerivative, SlicedNetwork
from tenferro.family import ExtensionRegistry, ExtensionRuleSet, register_runtimes, rules_of
from tenferro.network.einsum import PLANS, einsum, einsum_plan
from tenferro.network.plan import EinsumPlan
from tenferro.planning import (
    PLANNER,
    Auto,
    ContractionOptimizerOptions,
    ContractionTree,
    EinsumOptimize,
    LeftToRight,
    Nested,
    NestedEinsum,
    Path,
    Planner,
    SlicedTree,
    Step,
    Subscripts,
    Tree,
)

CostModel = DeviceCosts
"""What `DeviceCosts` was called while planning had costs of its own."""


def ad_rules() -> ExtensionRuleSet:
    """A fresh set with the derivative rules of the einsum families, which every context has."""
    return rules_of([EINSUM])


def register_runtime(registry: ExtensionRegistry) -> None:
    """Give an executor the runtimes of the einsum families: `register_extension(register_runtime)`.

    An executor has them without: it runs these families as standard ops.
    """
    register_runtimes([EINSUM], registry)


__all__ = [
    "PLANNER",
    "PLANS",
    "Auto",
    "ContractionOptimizerOptions",
    "ContractionTree",
    "CostModel",
    "DeviceCosts",
    "EinsumOp",
    "EinsumOptimize",
    "EinsumPlan",
    "LeftToRight",
    "MemoryNeed",
    "Nested",
    "NestedEinsum",
    "NetworkDerivative",
    "Path",
    "Planner",
    "SlicedNetwork",
    "SlicedTree",
    "Step",
    "Subscripts",
    "Tree",
    "ad_rules",
    "einsum",
    "einsum_plan",
    "predict_memory",
    "register_runtime",
]
