"""From a compiled program to what executors run: lowering, and the passes that optimize it.

Read in this order: `lower`, `assumptions`, `passing`, the files of `canonical` in the order of
`CANONICAL`, `target`, `numbering`, `pipeline`; `late` is for sizes that data decide or that are
rounded up, `structure` tells of loops and branches, and `text` reads programs back.
"""

from tenferro.compiler.assumptions import guards_of
from tenferro.compiler.canonical import (
    ROLLED,
    AlgebraicSimplifier,
    CommonSubexpressions,
    ConjugateSinking,
    DeadCode,
    DotDimensionSorter,
    LoopInlining,
    LoopInvariants,
    LoopJoining,
    LoopProducts,
    PadJoining,
    RepeatedOperands,
    Rolling,
    SummedProducts,
    SwitchJoining,
    TransposeFolding,
    WhileJoining,
)
from tenferro.compiler.key_reuse import check_keys
from tenferro.compiler.late import (
    Axes,
    Buckets,
    Masked,
    MaskPadding,
    Rounding,
    SegmentPlan,
    Specialised,
    XlaSegment,
    is_dynamic,
    mask_program,
    plan_segments,
    refuse_dynamic,
    specialise,
)
from tenferro.compiler.lower import compile_std_to_exec, without_rules
from tenferro.compiler.memory_limit import MemoryLimit, in_words, tighter
from tenferro.compiler.numbering import Numbering
from tenferro.compiler.passing import Needs, Observer, Pass, PassReport, run_passes
from tenferro.compiler.pipeline import (
    CANONICAL,
    DEFAULT_OPTIONS,
    NATIVE,
    PASSES,
    OptimizerOptions,
    Target,
    compile_program,
    contraction_passes,
    optimize,
    optimize_for,
    resolve_sizes,
)
from tenferro.compiler.remat import MemoryReport, Rematerialize, memory_report
from tenferro.compiler.structure import JACOBIAN, structure
from tenferro.compiler.target import (
    CPU,
    NEUTRAL,
    BindSizes,
    CheckpointInlining,
    ContractionLayout,
    DeviceCosts,
    DotDecomposer,
    ExpandFamilies,
    PlanFamilies,
    Settle,
    StopGradientRemoval,
)
from tenferro.compiler.target.memory import MemoryNeed, predict_memory
from tenferro.compiler.target.schedule import (
    COMPILED,
    COMPILED_AS_WRITTEN,
    DeviceModel,
    Runs,
)
from tenferro.compiler.text import parse

LayoutCosts = DeviceCosts
"""The former name of `DeviceCosts`."""

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
    "LoopInlining",
    "LoopInvariants",
    "LoopJoining",
    "LoopProducts",
    "MaskPadding",
    "Masked",
    "MemoryLimit",
    "MemoryNeed",
    "MemoryReport",
    "Needs",
    "Numbering",
    "Observer",
    "OptimizerOptions",
    "PadJoining",
    "Pass",
    "PassReport",
    "PlanFamilies",
    "Rematerialize",
    "RepeatedOperands",
    "Rolling",
    "Rounding",
    "Runs",
    "SegmentPlan",
    "Settle",
    "Specialised",
    "StopGradientRemoval",
    "SummedProducts",
    "SwitchJoining",
    "Target",
    "TransposeFolding",
    "WhileJoining",
    "XlaSegment",
    "check_keys",
    "compile_program",
    "compile_std_to_exec",
    "contraction_passes",
    "guards_of",
    "in_words",
    "is_dynamic",
    "mask_program",
    "memory_report",
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
