"""From a compiled program to what executors run: lowering, and the passes that optimize it.

Read in this order: `lower`, `assumptions`, `slot_emitter`, the files of `passes` in the order of
`PASSES`, `pipeline`.
"""

from tenferro.compiler.assumptions import guards_of
from tenferro.compiler.expand import expand_extensions
from tenferro.compiler.layout import LayoutCosts
from tenferro.compiler.lower import compile_std_to_exec
from tenferro.compiler.passes import (
    AlgebraicSimplifier,
    CommonSubexpressions,
    DeadCode,
    DotDecomposer,
    DotDimensionSorter,
    Needs,
    Pass,
    TransposeFolding,
)
from tenferro.compiler.pipeline import PASSES, OptimizerOptions, compile_program, optimize
from tenferro.compiler.renumber import renumber
from tenferro.compiler.slot_emitter import SlotEmitter
from tenferro.compiler.text import parse

__all__ = [
    "PASSES",
    "AlgebraicSimplifier",
    "CommonSubexpressions",
    "DeadCode",
    "DotDecomposer",
    "DotDimensionSorter",
    "LayoutCosts",
    "Needs",
    "OptimizerOptions",
    "Pass",
    "SlotEmitter",
    "TransposeFolding",
    "compile_program",
    "compile_std_to_exec",
    "expand_extensions",
    "guards_of",
    "optimize",
    "parse",
    "renumber",
]
