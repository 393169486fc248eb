"""The traced front end: values of a graph, tracing of functions, and compilation to programs.

Read in this order: `capture`, `sites`, `scopes`, `data_sizes`, `tensor`, `again`,
`arguments`, `substitute`, `trees`, `function`, `compiler`, `wrapping`, `results`.
"""

from tenferro.traced.again import also_for_data_sizes
from tenferro.traced.arguments import argument, open_arguments
from tenferro.traced.capture import (
    CapturedArray,
    TrackedTensor,
    capture,
    captured_before,
    capturing_tracked,
)
from tenferro.traced.compiler import GraphCompiler, specialise
from tenferro.traced.function import Trace, is_traced, leaf_meta, trace_function
from tenferro.traced.origins import argument_names
from tenferro.traced.results import Results
from tenferro.traced.scopes import (
    Scope,
    check_named,
    innermost,
    is_tracing,
    open_scopes,
    reopened,
    tracing,
)
from tenferro.traced.sites import called_function, filtered, raising_site, user_site
from tenferro.traced.substitute import joined, settled, substitute
from tenferro.traced.tensor import (
    TracedTensor,
    TraceEmitter,
    as_key,
    record,
)
from tenferro.traced.trees import (
    NAMESPACE,
    Rest,
    TreeDef,
    flatten,
    in_order,
    leaf_names,
    registering,
    require_hashable,
    spread,
    unflatten,
)
from tenferro.traced.wrapping import compiled_within, wraps

__all__ = [
    "NAMESPACE",
    "CapturedArray",
    "GraphCompiler",
    "Rest",
    "Results",
    "Scope",
    "Trace",
    "TraceEmitter",
    "TracedTensor",
    "TrackedTensor",
    "TreeDef",
    "also_for_data_sizes",
    "argument",
    "argument_names",
    "as_key",
    "called_function",
    "capture",
    "captured_before",
    "capturing_tracked",
    "check_named",
    "compiled_within",
    "filtered",
    "flatten",
    "in_order",
    "innermost",
    "is_traced",
    "is_tracing",
    "joined",
    "leaf_meta",
    "leaf_names",
    "open_arguments",
    "open_scopes",
    "raising_site",
    "record",
    "registering",
    "reopened",
    "require_hashable",
    "settled",
    "specialise",
    "spread",
    "substitute",
    "trace_function",
    "tracing",
    "unflatten",
    "user_site",
    "wraps",
]
