"""Derivative rules of extension ops, and the sets that own them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.errors import DuplicateRuleError, UnsupportedADRuleError
from tenferro.family.family_id import parse_family_id
from tenferro.family.op import ExtensionOp


class ExtensionAdRule(ABC):
    """The derivative rules of one family.

    They may emit standard ops and extension ops; a family they emit needs rules of its own in the
    same set before it is differentiated again. None is a symbolic zero, in and out: rules make no
    zeros.
    """

    @property
    @abstractmethod
    def family_id(self) -> str:
        """The family."""

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """Tangents of the outputs, linear in `at.tangent`; one entry for each output.

        A family without this rule, such as a terminal helper, does not define it.
        """
        raise UnsupportedADRuleError(
            op.family_id, "linearize", "has no linearize rule; it cannot be differentiated further"
        )

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """Cotangents of the active inputs from `at.ct`; one entry for each input, None if fixed.

        A family that is never linear in its inputs does not define it.
        """
        raise UnsupportedADRuleError(
            op.family_id, "transpose", "has no transpose rule; it is linear in none of its inputs"
        )


class ExtensionRuleSet:
    """Derivative rules by family; what an `AdContext` is built with.

    There is no other place where rules are looked up: no global, no thread-local state.

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
            MalformedFamilyIdError: the rule's family id is not one.
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
        """A set with the same rules; adding to one leaves the other alone."""
        other = ExtensionRuleSet()
        other._rules = dict(self._rules)
        return other

    def over(self, others: ExtensionRuleSet) -> ExtensionRuleSet:
        """Both sets' rules; of a family that is in both, this set's."""
        both = others.copy()
        both._rules |= self._rules
        return both

    def __or__(self, other: ExtensionRuleSet) -> ExtensionRuleSet:
        """Both sets' rules.

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
