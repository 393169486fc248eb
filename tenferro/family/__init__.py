"""The contract of extension ops: what the author of a family of ops defines.

Read in this order: `family_id` (names of families), `op` (the class that authors derive from),
`rules` (derivatives), `expansion` (the ops by which extension ops are replaced), `carrier`
(extension ops in graphs and programs), `caches` and `registry` (their runtimes in an executor),
`package` (all of these as one value). Authors import these names from `tenferro.extension`.
"""

from tenferro.family.caches import ExtensionCache, ExtensionCaches
from tenferro.family.carrier import Extension
from tenferro.family.family_id import FamilyId, family_id, parse_family_id
from tenferro.family.op import ExtensionOp, OutputMeta
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
from tenferro.family.registry import ExtensionRegistry, ExtensionRuntime, Register
from tenferro.family.rules import ExtensionAdRule, ExtensionRuleSet
from tenferro.family.sizes import sizes_differ

__all__ = [
    "Decode",
    "Extension",
    "ExtensionAdRule",
    "ExtensionCache",
    "ExtensionCaches",
    "ExtensionOp",
    "ExtensionRegistry",
    "ExtensionRuleSet",
    "ExtensionRuntime",
    "FamilyId",
    "Lowering",
    "OutputMeta",
    "Package",
    "Register",
    "distinct",
    "family_id",
    "lowering_of",
    "parse_family_id",
    "register_runtimes",
    "rules_of",
    "sizes_differ",
    "vocabulary_of",
]
