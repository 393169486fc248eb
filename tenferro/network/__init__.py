"""Networks of tensors: `einsum`, how it is planned, and the op it is where sizes are known late.

Story, file by file: `subscripts` and `nested` read the notation, `sizes` and `paths` check it
against operands, `tree` is a contraction order with its costs, `optimize` says how one is found,
`greedy`, `refine` and `search` find it by `cost`, `planner` and `plan` hold it, `contraction` and
`lowering` emit it, `op`, `derivative`, `rules` and `runtime` are the extension families, `einsum`
is what users call.
"""

from tenferro.network.cost import CostModel
from tenferro.network.derivative import NetworkDerivative
from tenferro.network.einsum import einsum, einsum_plan
from tenferro.network.nested import NestedEinsum
from tenferro.network.op import EinsumOp
from tenferro.network.optimize import (
    Auto,
    ContractionOptimizerOptions,
    EinsumOptimize,
    LeftToRight,
    Nested,
    Path,
    Tree,
)
from tenferro.network.plan import EinsumPlan
from tenferro.network.planner import PLANNER, Planner
from tenferro.network.rules import ad_rules
from tenferro.network.runtime import register_runtime
from tenferro.network.subscripts import Subscripts
from tenferro.network.tree import ContractionTree, Step

__all__ = [
    "PLANNER",
    "Auto",
    "ContractionOptimizerOptions",
    "ContractionTree",
    "CostModel",
    "EinsumOp",
    "EinsumOptimize",
    "EinsumPlan",
    "LeftToRight",
    "Nested",
    "NestedEinsum",
    "NetworkDerivative",
    "Path",
    "Planner",
    "Step",
    "Subscripts",
    "Tree",
    "ad_rules",
    "einsum",
    "einsum_plan",
    "register_runtime",
]
