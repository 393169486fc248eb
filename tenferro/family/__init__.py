"""The contract of extension ops: what the author of a family of ops defines.

Read in this order: `family_id` (names of families), `op` (the class that authors derive from),
`frozen` (arrays that authors hand over), `rules` (derivatives and batches), `expansion` (the ops by
which extension ops are replaced), `batching` (batches of families without a batch rule), `carrier`
(extension ops in graphs and programs), `leading` (the batch rule of ops with leading batch axes),
`caches` and `registry` (their runtimes in an executor), `package` (all of these as one value).
Authors import these names from `tenferro.extension`.
"""

from tenferro.family.batching import called_one_by_one, one_by_one
from tenferro.family.caches import ExtensionCache, ExtensionCaches
from tenferro.family.carrier import Extension
from tenferro.family.family_id import FamilyId, family_id, family_of, parse_family_id, require_class
from tenferro.family.frozen import unaliased
from tenferro.family.leading import LeadingBatchRule
from tenferro.family.op import ExtensionOp, OutputMeta, ReverseOnlyOp, attributes_of
from tenferro.family.package import (
    Decode,
    Lowering,
    Package,
    distinct,
    lowering_of,
    register_runtimes,
    rules_of,
    vocabulary_of,
)
from tenferro.family.registry import (
    ExtensionRegistry,
    ExtensionRuntime,
    RaisedByUser,
    Register,
    require_function,
)
from tenferro.family.rules import (
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionRuleSet,
    batch_rule_name,
    runtime_name,
)
from tenferro.family.sizes import sizes_differ

__all__ = [
    "Decode",
    "Extension",
    "ExtensionAdRule",
    "ExtensionBatchRule",
    "ExtensionCache",
    "ExtensionCaches",
    "ExtensionOp",
    "ExtensionRegistry",
    "ExtensionRuleSet",
    "ExtensionRuntime",
    "FamilyId",
    "LeadingBatchRule",
    "Lowering",
    "OutputMeta",
    "Package",
    "RaisedByUser",
    "Register",
    "ReverseOnlyOp",
    "attributes_of",
    "batch_rule_name",
    "called_one_by_one",
    "distinct",
    "family_id",
    "family_of",
    "lowering_of",
    "one_by_one",
    "parse_family_id",
    "register_runtimes",
    "require_class",
    "require_function",
    "rules_of",
    "runtime_name",
    "sizes_differ",
    "unaliased",
    "vocabulary_of",
]
