"""Networks of tensors: `einsum`, and its plans.

`tenferro.families.einsum` reads the notation, chooses contraction orders and has the ops. Here
`plan` is a contraction order with its costs and its program, on one or on several devices;
`display` draws a plan and shows a bar for long searches; `memory_limit` slices a plan so that it
keeps a limit; `einsum` holds the functions that users call.
"""

from tenferro.compiler import DeviceCosts, MemoryNeed, predict_memory
from tenferro.families.einsum import (
    EINSUM,
    PLANNER,
    Auto,
    ContractionOptimizerOptions,
    ContractionTree,
    EinsumOp,
    EinsumOptimize,
    LeftToRight,
    Nested,
    NestedEinsum,
    NetworkDerivative,
    Path,
    Planner,
    SlicedNetwork,
    SlicedTree,
    Step,
    Subscripts,
    Tree,
)
from tenferro.network.display import *
from tenferro.network.einsum import *
from tenferro.network.plan import *
from tenferro.ops.control_flow import TreeSum, lane_bounds
from tenferro.ops.extension import ExtensionRegistry, ExtensionRuleSet, register_runtimes, rules_of

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
    "SharedPlan",
    "SlicedNetwork",
    "SlicedTree",
    "Step",
    "Subscripts",
    "Tree",
    "TreeSum",
    "ad_rules",
    "einsum",
    "einsum_plan",
    "lane_bounds",
    "predict_memory",
    "progress_bar",
    "register_runtime",
]

CostModel = DeviceCosts
"""An older name of `DeviceCosts`."""


def ad_rules() -> ExtensionRuleSet:
    """A new set of the derivative rules of the einsum families; every context has these rules."""
    return rules_of([EINSUM])


def register_runtime(registry: ExtensionRegistry) -> None:
    """Register the runtimes of the einsum families; for `register_extension(register_runtime)`.

    Executors do not need it: they run these families as standard ops.
    """
    register_runtimes([EINSUM], registry)
