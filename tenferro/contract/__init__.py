"""The ExtensionOp contract: what a family of ops from outside says of itself.

Story, file by file: `family_id` names a family, `op` is what its author writes, `rules` holds its
derivatives, `carrier` makes it an op of graphs and programs, `caches` and `runtime` are what an
executor runs it with. Authors import all of it from `tenferro.extension`.
"""

from tenferro.contract.caches import ExtensionCache, ExtensionCaches
from tenferro.contract.carrier import Extension
from tenferro.contract.family_id import FamilyId, family_id, parse_family_id
from tenferro.contract.op import ExtensionOp, OutputMeta
from tenferro.contract.rules import ExtensionAdRule, ExtensionRuleSet
from tenferro.contract.runtime import ExtensionRegistry, ExtensionRuntime, Register

__all__ = [
    "Extension",
    "ExtensionAdRule",
    "ExtensionCache",
    "ExtensionCaches",
    "ExtensionOp",
    "ExtensionRegistry",
    "ExtensionRuleSet",
    "ExtensionRuntime",
    "FamilyId",
    "OutputMeta",
    "Register",
    "family_id",
    "parse_family_id",
]
