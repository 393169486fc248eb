"""From a compiled program to what executors run: lowering, and the passes that optimize it.

Read in this order: `lower`, `passes`, the files of `canonical` in the order of `CANONICAL`,
`reroll`, `device` and `layout` (for a target), `pipeline`; `report` tells of memory, loops and
branches, and `text` reads programs back.
"""

from tenferro.compiler.background import *
from tenferro.compiler.canonical.conjugates import ConjugateSinking
from tenferro.compiler.canonical.dots import DotDimensionSorter, SummedProducts, TransposeFolding
from tenferro.compiler.canonical.loop_fusion import LoopFusion
from tenferro.compiler.canonical.loop_invariants import LoopInvariantCodeMotion, ScanPushoutDot
from tenferro.compiler.canonical.pads_to_concatenate import PadsToConcatenate
from tenferro.compiler.canonical.simplify import (
    AlgebraicSimplifier,
    CommonSubexpressions,
    DeadCode,
    LoopInlining,
    RenumberSlots,
)
from tenferro.compiler.cost_model import *
from tenferro.compiler.cost_model import DeviceCosts
from tenferro.compiler.device.bucketing import (
    Axes,
    Buckets,
    Masked,
    MaskPadding,
    Rounding,
    mask_program,
)
from tenferro.compiler.device.dot_decomposer import DotDecomposer
from tenferro.compiler.device.rematerialize import Rematerialize
from tenferro.compiler.device.segments import (
    SegmentPlan,
    Specialised,
    XlaSegment,
    is_dynamic,
    plan_segments,
    refuse_dynamic,
    specialise,
)
from tenferro.compiler.device.specialize import (
    BindSizes,
    CheckpointInlining,
    ExpandFamilies,
    PlanFamilies,
    Settle,
    SharedLanes,
    StopGradientRemoval,
)
from tenferro.compiler.key_reuse import *
from tenferro.compiler.layout.assignment import ContractionLayout
from tenferro.compiler.lower import *
from tenferro.compiler.memory import *
from tenferro.compiler.partitioned_axes import *
from tenferro.compiler.passes import *
from tenferro.compiler.pipeline import *
from tenferro.compiler.report import *
from tenferro.compiler.reroll.reroll import ROLLED, Rolling
from tenferro.compiler.schedule import *
from tenferro.compiler.text import *

__all__ = [
    "CANONICAL",
    "COMPILED",
    "COMPILED_AS_WRITTEN",
    "CPU",
    "DEFAULT_OPTIONS",
    "JACOBIAN",
    "NATIVE",
    "NEUTRAL",
    "PASSES",
    "ROLLED",
    "SIMPLIFICATION",
    "TURNS",
    "AlgebraicSimplifier",
    "Axes",
    "BindSizes",
    "Buckets",
    "CheckpointInlining",
    "CommonSubexpressions",
    "ConjugateSinking",
    "ContractionLayout",
    "DeadCode",
    "DeviceCosts",
    "DeviceModel",
    "DotDecomposer",
    "DotDimensionSorter",
    "ExpandFamilies",
    "LayoutCosts",
    "LoopFusion",
    "LoopInlining",
    "LoopInvariantCodeMotion",
    "MaskPadding",
    "Masked",
    "MemoryLimit",
    "MemoryNeed",
    "MemoryReport",
    "Needs",
    "Observer",
    "OptimizerOptions",
    "PadsToConcatenate",
    "Pass",
    "PassReport",
    "Pinned",
    "PlanFamilies",
    "Rematerialize",
    "RenumberSlots",
    "Rolling",
    "Rounding",
    "Runs",
    "ScanPushoutDot",
    "SegmentPlan",
    "Settle",
    "SharedLanes",
    "Specialised",
    "StopGradientRemoval",
    "Stopped",
    "SummedProducts",
    "Target",
    "TransposeFolding",
    "XlaSegment",
    "all_guards",
    "check_keys",
    "compile_program",
    "compile_std_to_exec",
    "contraction_passes",
    "give_way",
    "guards_of",
    "in_words",
    "is_dynamic",
    "kernels",
    "mask_program",
    "memory_report",
    "numpy_seconds",
    "optimize",
    "optimize_for",
    "parse",
    "plan_segments",
    "predict_memory",
    "refuse_dynamic",
    "resolve_sizes",
    "run_passes",
    "specialise",
    "structure",
    "tighter",
    "without_rules",
]

LayoutCosts = DeviceCosts
"""The former name of `DeviceCosts`."""
