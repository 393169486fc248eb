"""The graph engine: identity, fragments, views, materialization, programs.

It knows nothing of tensors. Read in this order: `op`, `keys`, `fragment`, `resolve`, `materialize`,
`program`, `evaluate`; then `cache`, `dump` and `dot`.
"""

from tenferro.computegraph.cache import BoundedCache, CacheOwner, CacheStats, Capacity
from tenferro.computegraph.dot import to_dot
from tenferro.computegraph.dump import name_of
from tenferro.computegraph.evaluate import evaluate
from tenferro.computegraph.fragment import (
    External,
    Fragment,
    FragmentBuilder,
    Local,
    OpNode,
    ValNode,
    ValRef,
)
from tenferro.computegraph.keys import (
    PRIMAL,
    Derived,
    GlobalOpKey,
    GlobalValKey,
    Input,
    Linear,
    OpMode,
    Primal,
    SingleOutputNode,
    input_key,
    interned_count,
    op_key,
)
from tenferro.computegraph.materialize import MaterializedGraph, materialize_merge
from tenferro.computegraph.op import GraphOp, Op
from tenferro.computegraph.program import (
    CompiledProgram,
    Instruction,
    Instructions,
    ProgramCache,
    compile_graph,
    statically_frozen,
)
from tenferro.computegraph.resolve import (
    FragmentResolver,
    ResolvedView,
    Resolver,
    StructuralResolver,
    ValDef,
    require_values,
    require_view,
    resolve,
    resolve_keys,
)

__all__ = [
    "PRIMAL",
    "BoundedCache",
    "CacheOwner",
    "CacheStats",
    "Capacity",
    "CompiledProgram",
    "Derived",
    "External",
    "Fragment",
    "FragmentBuilder",
    "FragmentResolver",
    "GlobalOpKey",
    "GlobalValKey",
    "GraphOp",
    "Input",
    "Instruction",
    "Instructions",
    "Linear",
    "Local",
    "MaterializedGraph",
    "Op",
    "OpMode",
    "OpNode",
    "Primal",
    "ProgramCache",
    "ResolvedView",
    "Resolver",
    "SingleOutputNode",
    "StructuralResolver",
    "ValDef",
    "ValNode",
    "ValRef",
    "compile_graph",
    "evaluate",
    "input_key",
    "interned_count",
    "materialize_merge",
    "name_of",
    "op_key",
    "require_values",
    "require_view",
    "resolve",
    "resolve_keys",
    "statically_frozen",
    "to_dot",
]
