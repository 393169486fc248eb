"""The names that authors of extension ops import. Such ops trace, differentiate and compile.

An op is a frozen dataclass derived from `ExtensionOp` and named with `@family_id`. `apply` applies
it to arrays. An `ExtensionAdRule` in an `ExtensionRuleSet` defines its derivatives, an
`ExtensionBatchRule` how it is applied to the entries of batches, an `ExtensionRuntime` runs it on a
native backend, and `lower_to_standard_ops`, written with `inline`, lowers it to XLA. A `Package`
has all of these as one value, which every context accepts as `packages=(...)`.

tenferro's own families use further base classes. The class of a `FamilyOp` has its kernel, its
derivatives and its batch rule; `family_package` makes a package of such classes. `FormulaOp` is an
op that a formula defines, and derives derivatives of all orders from the formula. `LinearFormula`
is one whose adjoint is another formula; `differentiable` makes them of the derivatives of an op.
`KernelOp` imports its implementation when it is first run.
"""

import typing as _typing

from tenferro.core import Batched as Batched
from tenferro.core import BatchSite as BatchSite
from tenferro.core import Emitter as Emitter
from tenferro.core import JvpSite as JvpSite
from tenferro.core import Slots as Slots
from tenferro.core import TransposeSite as TransposeSite
from tenferro.errors import BackendFailureError as BackendFailureError
from tenferro.errors import BatchRuleError as BatchRuleError
from tenferro.errors import DTypeError as DTypeError
from tenferro.errors import DuplicateRuleError as DuplicateRuleError
from tenferro.errors import ExtensionError as ExtensionError
from tenferro.errors import ExtensionRegistryError as ExtensionRegistryError
from tenferro.errors import ExtensionRuleError as ExtensionRuleError
from tenferro.errors import ExtensionRuntimeRegistryError as ExtensionRuntimeRegistryError
from tenferro.errors import InvalidConfigError as InvalidConfigError
from tenferro.errors import MalformedFamilyIdError as MalformedFamilyIdError
from tenferro.errors import ShapeError as ShapeError
from tenferro.errors import UnregisteredExtensionError as UnregisteredExtensionError
from tenferro.errors import UnsupportedADRuleError as UnsupportedADRuleError
from tenferro.errors import UnsupportedExtensionError as UnsupportedExtensionError
from tenferro.ir import Dim as Dim
from tenferro.ir import DType as DType
from tenferro.missing_names import public as _public
from tenferro.ops import replay as replay
from tenferro.ops.extension import Extension as Extension
from tenferro.ops.extension import ExtensionAdRule as ExtensionAdRule
from tenferro.ops.extension import ExtensionBatchRule as ExtensionBatchRule
from tenferro.ops.extension import ExtensionCache as ExtensionCache
from tenferro.ops.extension import ExtensionCaches as ExtensionCaches
from tenferro.ops.extension import ExtensionOp as ExtensionOp
from tenferro.ops.extension import ExtensionRegistry as ExtensionRegistry
from tenferro.ops.extension import ExtensionRuleSet as ExtensionRuleSet
from tenferro.ops.extension import ExtensionRuntime as ExtensionRuntime
from tenferro.ops.extension import FactorRule as FactorRule
from tenferro.ops.extension import FamilyId as FamilyId
from tenferro.ops.extension import FamilyOp as FamilyOp
from tenferro.ops.extension import FormulaOp as FormulaOp
from tenferro.ops.extension import FormulaSite as FormulaSite
from tenferro.ops.extension import KernelOp as KernelOp
from tenferro.ops.extension import KernelRuntime as KernelRuntime
from tenferro.ops.extension import LeadingBatchRule as LeadingBatchRule
from tenferro.ops.extension import LinearFormula as LinearFormula
from tenferro.ops.extension import LinearFormulaRule as LinearFormulaRule
from tenferro.ops.extension import OutputMeta as OutputMeta
from tenferro.ops.extension import Package as Package
from tenferro.ops.extension import ReverseOnlyOp as ReverseOnlyOp
from tenferro.ops.extension import TransformRule as TransformRule
from tenferro.ops.extension import differentiable as differentiable
from tenferro.ops.extension import family_id as family_id
from tenferro.ops.extension import one_by_one as one_by_one
from tenferro.ops.extension import parse_family_id as parse_family_id
from tenferro.ops.extension import sizes_differ as sizes_differ
from tenferro.ops.functions import Expression as Expression
from tenferro.runtime import StandardRuntime as StandardRuntime
from tenferro.runtime import family_package as family_package
from tenferro.transforms import apply as apply
from tenferro.transforms import apply_eager as apply_eager
from tenferro.transforms import inline as inline

if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = _public(vars(), home="tenferro.extension")
