"""Networks of tensors: `einsum`, how it is planned, and the op it is where sizes are known late.

Story, file by file: `subscripts` and `nested` read the notation, `sizes` and `paths` check it
against operands, `tree` is a contraction order with its costs, `optimize` says how one is found,
`greedy`, `anneal`, `refine` and `search` find it by `cost`, `planner` keeps it, `contraction` and
`lowering` emit it; `op`, `derivative` and `sliced` are the extension families, `rules` and
`runtime` what they need; `slicing` says what to slice, `program` joins it all, `memory` predicts
what it takes, `plan` is all of that as a value, which `drawing` shows and `budget` keeps within a
limit; `einsum` is what users call.
"""

from tenferro.network.cost import CostModel
from tenferro.network.derivative import NetworkDerivative
from tenferro.network.einsum import PLANS, einsum, einsum_plan
from tenferro.network.memory import MemoryNeed, predict_memory
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
from tenferro.network.sliced import Round, SlicedNetwork, make_round
from tenferro.network.slicing import SlicedTree
from tenferro.network.subscripts import Subscripts
from tenferro.network.tree import ContractionTree, Step

__all__ = [
    "PLANNER",
    "PLANS",
    "Auto",
    "ContractionOptimizerOptions",
    "ContractionTree",
    "CostModel",
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
    "Round",
    "SlicedNetwork",
    "SlicedTree",
    "Step",
    "Subscripts",
    "Tree",
    "ad_rules",
    "einsum",
    "einsum_plan",
    "make_round",
    "predict_memory",
    "register_runtime",
]
