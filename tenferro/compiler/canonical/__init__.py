"""Passes that need neither sizes nor a device: they run when a function has been traced.

What they leave is the canonical program, which files hold. Their order is `CANONICAL` in
`compiler.pipeline`.
"""

from tenferro.compiler.canonical.algebraic_simplifier import AlgebraicSimplifier
from tenferro.compiler.canonical.common_subexpressions import CommonSubexpressions
from tenferro.compiler.canonical.conjugate_sinking import ConjugateSinking
from tenferro.compiler.canonical.dead_code import DeadCode
from tenferro.compiler.canonical.dot_dimension_sorter import DotDimensionSorter
from tenferro.compiler.canonical.lane_joining import LaneJoining
from tenferro.compiler.canonical.loop_inlining import LoopInlining
from tenferro.compiler.canonical.loop_invariants import LoopInvariants
from tenferro.compiler.canonical.loop_joining import LoopJoining
from tenferro.compiler.canonical.loop_products import LoopProducts
from tenferro.compiler.canonical.pad_joining import PadJoining
from tenferro.compiler.canonical.repeated_operands import RepeatedOperands
from tenferro.compiler.canonical.rolling import ROLLED, Rolling
from tenferro.compiler.canonical.summed_products import SummedProducts
from tenferro.compiler.canonical.switch_joining import SwitchJoining
from tenferro.compiler.canonical.transpose_folding import TransposeFolding
from tenferro.compiler.canonical.while_joining import WhileJoining

__all__ = [
    "ROLLED",
    "AlgebraicSimplifier",
    "CommonSubexpressions",
    "ConjugateSinking",
    "DeadCode",
    "DotDimensionSorter",
    "LaneJoining",
    "LoopInlining",
    "LoopInvariants",
    "LoopJoining",
    "LoopProducts",
    "PadJoining",
    "RepeatedOperands",
    "Rolling",
    "SummedProducts",
    "SwitchJoining",
    "TransposeFolding",
    "WhileJoining",
]
