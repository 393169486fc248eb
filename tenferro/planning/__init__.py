"""Contraction orders of networks of tensors: their notation, and planners that choose them.

File by file: `subscripts` and `nested` read the notation; `sizes` and `paths` check it against the
operands; `tree` is a contraction order with its flops and sizes, `cost` predicts its run time;
`optimize` lists the strategies; `foreign` takes those of opt_einsum and cotengra; `merging` makes a
network smaller before it is planned; `greedy`, `anneal`, `refine` and `search` search for an order
within what `effort` allows; `planner` caches the orders; `slicing` chooses labels to loop over.
This package does not depend on how a contraction is computed.
"""

from tenferro.planning.cost import step_seconds, tree_seconds
from tenferro.planning.foreign import Order, order_of
from tenferro.planning.nested import NestedEinsum
from tenferro.planning.optimize import (
    Auto,
    ContractionOptimizerOptions,
    EinsumOptimize,
    LeftToRight,
    Nested,
    Path,
    Tree,
    as_optimize,
)
from tenferro.planning.paths import LinearPath, Pairs, left_to_right, pairs_of_path, path_of_pairs
from tenferro.planning.planner import (
    PLANNER,
    Planner,
    Specification,
    check_memory,
    options_of,
    specification,
)
from tenferro.planning.search import find_tree
from tenferro.planning.sizes import build_size_dict
from tenferro.planning.slicing import SlicedTree, cut_loop, depends, find_slices
from tenferro.planning.subscripts import Label, Labels, Subscripts, is_lettered, labels_text
from tenferro.planning.tree import ContractionTree, Step, concrete_sizes, entering_labels, steps_of

__all__ = [
    "PLANNER",
    "Auto",
    "ContractionOptimizerOptions",
    "ContractionTree",
    "EinsumOptimize",
    "Label",
    "Labels",
    "LeftToRight",
    "LinearPath",
    "Nested",
    "NestedEinsum",
    "Order",
    "Pairs",
    "Path",
    "Planner",
    "SlicedTree",
    "Specification",
    "Step",
    "Subscripts",
    "Tree",
    "as_optimize",
    "build_size_dict",
    "check_memory",
    "concrete_sizes",
    "cut_loop",
    "depends",
    "entering_labels",
    "find_slices",
    "find_tree",
    "is_lettered",
    "labels_text",
    "left_to_right",
    "options_of",
    "order_of",
    "pairs_of_path",
    "path_of_pairs",
    "specification",
    "step_seconds",
    "steps_of",
    "tree_seconds",
]
