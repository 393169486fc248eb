"""Networks of tensors: `einsum`, and its plans.

`tenferro.families.einsum` reads the notation, chooses contraction orders and has the ops. Here
`plan` is a contraction order with its costs and its program, on one or on several devices;
`display` draws a plan and shows a bar for long searches; `memory_limit` slices a plan so that it
keeps a limit; `einsum` holds the functions that users call.
"""

import typing as _typing

from tenferro.compiler import DeviceCosts as DeviceCosts
from tenferro.compiler import MemoryNeed as MemoryNeed
from tenferro.compiler import predict_memory as predict_memory
from tenferro.families.einsum import EINSUM as _EINSUM
from tenferro.families.einsum import PLANNER as PLANNER
from tenferro.families.einsum import Auto as Auto
from tenferro.families.einsum import ContractionOptimizerOptions as ContractionOptimizerOptions
from tenferro.families.einsum import ContractionTree as ContractionTree
from tenferro.families.einsum import EinsumOp as EinsumOp
from tenferro.families.einsum import EinsumOptimize as EinsumOptimize
from tenferro.families.einsum import LeftToRight as LeftToRight
from tenferro.families.einsum import Nested as Nested
from tenferro.families.einsum import NestedEinsum as NestedEinsum
from tenferro.families.einsum import NetworkDerivative as NetworkDerivative
from tenferro.families.einsum import Path as Path
from tenferro.families.einsum import Planner as Planner
from tenferro.families.einsum import SlicedNetwork as SlicedNetwork
from tenferro.families.einsum import SlicedTree as SlicedTree
from tenferro.families.einsum import Step as Step
from tenferro.families.einsum import Subscripts as Subscripts
from tenferro.families.einsum import Tree as Tree
from tenferro.missing_names import public as _public
from tenferro.network.display import *
from tenferro.network.einsum import *
from tenferro.network.plan import *
from tenferro.ops.control_flow import TreeSum as TreeSum
from tenferro.ops.control_flow import lane_bounds as lane_bounds
from tenferro.ops.extension import ExtensionRegistry as _ExtensionRegistry
from tenferro.ops.extension import ExtensionRuleSet as _ExtensionRuleSet
from tenferro.ops.extension import register_runtimes as _register_runtimes
from tenferro.ops.extension import rules_of as _rules_of

CostModel = DeviceCosts
"""An older name of `DeviceCosts`."""


def ad_rules() -> _ExtensionRuleSet:
    """A new set of the derivative rules of the einsum families; every context has these rules."""
    return _rules_of([_EINSUM])


def register_runtime(registry: _ExtensionRegistry) -> None:
    """Register the runtimes of the einsum families; for `register_extension(register_runtime)`.

    Executors do not need it: they run these families as standard ops.
    """
    _register_runtimes([_EINSUM], registry)


if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = _public(vars())
