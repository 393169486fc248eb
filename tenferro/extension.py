"""The names that authors of extension ops import. Such ops trace, differentiate and compile.

An op is a frozen dataclass derived from `ExtensionOp` and named with `@family_id`. `apply` applies
it to arrays. An `ExtensionAdRule` in an `ExtensionRuleSet` defines its derivatives, an
`ExtensionBatchRule` how it is applied to the entries of batches, an `ExtensionRuntime` runs it on a
native backend, and `lower_to_standard_ops`, written with `inline`, lowers it to XLA. A `Package`
has all of these as one value, which every context accepts as `packages=(...)`.

tenferro's own families use further base classes. `KernelOp` imports its implementation when it is
first run. `FormulaOp` is an op that a formula defines, and derives derivatives of all orders from
the formula. `LinearFormula` is one whose adjoint is another formula, such as a derivative.
"""

from tenferro.core import Batched, BatchSite, Emitter, JvpSite, Slots, TransposeSite
from tenferro.errors import (
    BackendFailureError,
    BatchRuleError,
    DTypeError,
    DuplicateRuleError,
    ExtensionError,
    ExtensionRegistryError,
    ExtensionRuleError,
    ExtensionRuntimeRegistryError,
    InvalidConfigError,
    MalformedFamilyIdError,
    ShapeError,
    UnregisteredExtensionError,
    UnsupportedADRuleError,
    UnsupportedExtensionError,
)
from tenferro.families import (
    FactorRule,
    FormulaOp,
    KernelOp,
    KernelRuntime,
    LinearFormula,
    LinearFormulaRule,
    StandardRuntime,
    TransformRule,
)
from tenferro.ir import Dim, DType
from tenferro.ops import replay
from tenferro.ops.extension import (
    Extension,
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionCache,
    ExtensionCaches,
    ExtensionOp,
    ExtensionRegistry,
    ExtensionRuleSet,
    ExtensionRuntime,
    FamilyId,
    LeadingBatchRule,
    OutputMeta,
    Package,
    ReverseOnlyOp,
    family_id,
    one_by_one,
    parse_family_id,
    sizes_differ,
)
from tenferro.ops.functions import Expression
from tenferro.transforms import apply, apply_eager, inline

__all__ = [
    "BackendFailureError",
    "BatchRuleError",
    "BatchSite",
    "Batched",
    "DType",
    "DTypeError",
    "Dim",
    "DuplicateRuleError",
    "Emitter",
    "Expression",
    "Extension",
    "ExtensionAdRule",
    "ExtensionBatchRule",
    "ExtensionCache",
    "ExtensionCaches",
    "ExtensionError",
    "ExtensionOp",
    "ExtensionRegistry",
    "ExtensionRegistryError",
    "ExtensionRuleError",
    "ExtensionRuleSet",
    "ExtensionRuntime",
    "ExtensionRuntimeRegistryError",
    "FactorRule",
    "FamilyId",
    "FormulaOp",
    "InvalidConfigError",
    "JvpSite",
    "KernelOp",
    "KernelRuntime",
    "LeadingBatchRule",
    "LinearFormula",
    "LinearFormulaRule",
    "MalformedFamilyIdError",
    "OutputMeta",
    "Package",
    "ReverseOnlyOp",
    "ShapeError",
    "Slots",
    "StandardRuntime",
    "TransformRule",
    "TransposeSite",
    "UnregisteredExtensionError",
    "UnsupportedADRuleError",
    "UnsupportedExtensionError",
    "apply",
    "apply_eager",
    "family_id",
    "inline",
    "one_by_one",
    "parse_family_id",
    "replay",
    "sizes_differ",
]
