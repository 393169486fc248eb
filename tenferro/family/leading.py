"""The batch rule of ops whose leading axes are a batch anyway."""

from __future__ import annotations

from tenferro.chainrules import Batched, BatchSite, V
from tenferro.family.carrier import Extension
from tenferro.family.family_id import family_of
from tenferro.family.op import ExtensionOp
from tenferro.family.rules import ExtensionBatchRule


class LeadingBatchRule(ExtensionBatchRule):
    """The batch rule of a family for which one more leading axis of all inputs is a batch.

    The op itself is applied; inputs that are not batched are repeated.

    Args:
        family: the op class, or the family id.
    """

    def __init__(self, family: str | type[ExtensionOp]) -> None:
        self._family_id = family_of("LeadingBatchRule", family)

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family_id

    def batch(self, op: ExtensionOp, at: BatchSite[V]) -> Batched[V]:
        """The op itself."""
        inputs = [at.repeated(place) for place in range(len(at.inputs))]
        return tuple([(value, True) for value in at.emitter.emit_all(Extension(op), *inputs)])
