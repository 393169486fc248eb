"""The optimizer passes, one file each. Their order is `PASSES` in `compiler.pipeline`."""

from tenferro.compiler.passes.algebraic_simplifier import AlgebraicSimplifier
from tenferro.compiler.passes.common_subexpressions import CommonSubexpressions
from tenferro.compiler.passes.conjugate_sinking import ConjugateSinking
from tenferro.compiler.passes.contraction_layout import ContractionLayout
from tenferro.compiler.passes.dead_code import DeadCode
from tenferro.compiler.passes.dot_decomposer import DotDecomposer
from tenferro.compiler.passes.dot_dimension_sorter import DotDimensionSorter
from tenferro.compiler.passes.protocol import Needs, Pass
from tenferro.compiler.passes.transpose_folding import TransposeFolding

__all__ = [
    "AlgebraicSimplifier",
    "CommonSubexpressions",
    "ConjugateSinking",
    "ContractionLayout",
    "DeadCode",
    "DotDecomposer",
    "DotDimensionSorter",
    "Needs",
    "Pass",
    "TransposeFolding",
]
