"""Networks of tensors: `einsum`, its plans and its ops.

Read in this order: `subscripts` (labels of axes), `contraction_tree` (an order and its costs),
`reconfigure` (better trees), `search` (finds trees), `planner` (what `optimize=` takes), `slicing`;
then `contraction` (a planned network as core ops), `einsum_op` (a network whose sizes are not yet
known, and its transforms) and `sliced_op` (the loop over slices; rules of all of them); then `plan`
(an order with its costs and program, on one or several devices), `display`, `memory_limit` (slices
a plan so that it keeps a limit) and `einsum` (the functions that users call).
"""

import typing as _typing

from tenferro.compiler import DeviceCosts as DeviceCosts
from tenferro.compiler import MemoryNeed as MemoryNeed
from tenferro.compiler import predict_memory as predict_memory
from tenferro.missing_names import public as _public
from tenferro.network.contraction_tree import ContractionTree as ContractionTree
from tenferro.network.contraction_tree import Step as Step
from tenferro.network.display import *
from tenferro.network.einsum import *
from tenferro.network.einsum_op import EinsumOp as EinsumOp
from tenferro.network.einsum_op import NetworkDerivative as NetworkDerivative
from tenferro.network.plan import *
from tenferro.network.planner import PLANNER as PLANNER
from tenferro.network.planner import Planner as Planner
from tenferro.network.search import Auto as Auto
from tenferro.network.search import ContractionOptimizerOptions as ContractionOptimizerOptions
from tenferro.network.search import EinsumOptimize as EinsumOptimize
from tenferro.network.search import LeftToRight as LeftToRight
from tenferro.network.search import Nested as Nested
from tenferro.network.search import Path as Path
from tenferro.network.search import Tree as Tree
from tenferro.network.sliced_op import EINSUM as _EINSUM
from tenferro.network.sliced_op import SlicedNetwork as SlicedNetwork
from tenferro.network.slicing import SlicedTree as SlicedTree
from tenferro.network.subscripts import NestedEinsum as NestedEinsum
from tenferro.network.subscripts import Subscripts as Subscripts
from tenferro.ops.control_flow import TreeSum as TreeSum
from tenferro.ops.control_flow import lane_bounds as lane_bounds

CostModel = DeviceCosts
"""An older name of `DeviceCosts`."""

ad_rules = _EINSUM.ad_rules
register_runtime = _EINSUM.register_runtime

if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = _public(vars(), home="tenferro.network")
