"""Derivative rules of extension ops, and sets of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.errors import DuplicateRuleError, UnsupportedADRuleError
from tenferro.family.family_id import parse_family_id
from tenferro.family.op import ExtensionOp


class ExtensionAdRule(ABC):
    """The derivative rules of one family.

    They may emit standard ops and extension ops. To differentiate again, the same set needs rules
    for the emitted families. None is a symbolic zero, as argument and as result: rules do not make
    arrays of zeros.
    """

    @property
    @abstractmethod
    def family_id(self) -> str:
        """The family."""

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """Tangents of the outputs, linear in `at.tangent`; one entry for each output.

        Families that are not differentiated further do not define it.
        """
        raise UnsupportedADRuleError(
            op.family_id, "linearize", "has no linearize rule; it cannot be differentiated further"
        )

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """Cotangents of the active inputs from `at.ct`; one for each input, None if it is fixed.

        Families that are not linear in any input do not define it.
        """
        raise UnsupportedADRuleError(
            op.family_id,
            "transpose",
            "has no transpose rule; it is not linear in any of its inputs",
        )


class ExtensionRuleSet:
    """Derivative rules by family, for an `AdContext`.

    Rules are looked up only in such a set; there are no global or thread-local rules.

    >>> rules = ExtensionRuleSet()
    >>> rules.lookup("my-package.fft.v1") is None
    True
    """

    def __init__(self) -> None:
        self._rules: dict[str, ExtensionAdRule] = {}

    def register_rule(self, rule: ExtensionAdRule) -> None:
        """Add the rules of one family.

        Raises:
            DuplicateRuleError: the set has rules for the family already.
            MalformedFamilyIdError: the rule's family id is malformed.
        """
        family = rule.family_id
        parse_family_id(family)
        if family in self._rules:
            raise DuplicateRuleError(family, f"AD rule for family_id {family!r} already registered")
        self._rules[family] = rule

    def lookup(self, family_id: str) -> ExtensionAdRule | None:
        """The rules of a family, or None."""
        return self._rules.get(family_id)

    def copy(self) -> ExtensionRuleSet:
        """A set with the same rules. Adding to one does not change the other."""
        duplicate = ExtensionRuleSet()
        duplicate._rules = dict(self._rules)
        return duplicate

    def over(self, others: ExtensionRuleSet) -> ExtensionRuleSet:
        """The union of both sets; if both have a family, with the rules of this one."""
        both = others.copy()
        both._rules |= self._rules
        return both

    def __or__(self, other: ExtensionRuleSet) -> ExtensionRuleSet:
        """The union of both sets.

        Raises:
            DuplicateRuleError: a family is in both.
        """
        both = self.copy()
        for rule in other:
            both.register_rule(rule)
        return both

    def __iter__(self) -> Iterator[ExtensionAdRule]:
        return iter(tuple(self._rules.values()))

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, family_id: object) -> bool:
        return family_id in self._rules

    def __repr__(self) -> str:
        return f"ExtensionRuleSet({', '.join(self._rules)})"
