"""The ExtensionOp contract: what a family of ops from outside says of itself.

Story, file by file: `family_id` names a family, `op` is what its author writes, `rules` holds its
derivatives, `carrier` makes it an op of graphs and programs, `standard` emits its standard ops,
`caches` and `registry` are what an executor runs it with, and `package` is all of that as one
value. Authors import it from `tenferro.extension`.
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
    "vocabulary_of",
]
