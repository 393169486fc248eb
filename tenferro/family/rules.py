"""Derivative rules and batch rules of extension ops, and sets of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from tenferro.chainrules import Batched, BatchSite, JvpSite, Slots, TransposeSite, V
from tenferro.errors import DuplicateRuleError, ExtensionRegistryError, UnsupportedADRuleError
from tenferro.family.family_id import parse_family_id
from tenferro.family.op import ExtensionOp


class _OfFamily:
    """What belongs to one family, named by its id or by its op class.

    A subclass defines `family_id`, or `family`, the op class.
    """

    family: ClassVar[type[ExtensionOp]]

    @property
    def family_id(self) -> str:
        """The family."""
        return self.family.FAMILY_ID


class ExtensionAdRule(_OfFamily):
    """The derivative rules of one family: of the op class `family`, or of the id `family_id`.

    They may emit standard ops and extension ops. To differentiate again, the same set needs rules
    for the emitted families. None is a symbolic zero, as argument and as result: rules do not make
    arrays of zeros.
    """

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


class ExtensionBatchRule(_OfFamily, ABC):
    """The batch rule of one family: of the op class `family`, or of the id `family_id`.

    It says what an application of the op to each entry of batches is, as ops on whole batches.
    """

    @abstractmethod
    def batch(self, op: ExtensionOp, at: BatchSite[V]) -> Batched[V]:
        """The outputs for all entries, and for each whether it is batched.

        The batch is axis 0 of each input in `at.inputs` that `at.batched` marks, and of each output
        that is batched. Other inputs are the same for all entries; `at.repeated(i)` is input i as a
        batch in any case. There are `at.size` entries.
        """


_BATCH = " batch"  # no family id ends with it
_CLASS = " class"


def batch_rule_name(family_id: str) -> str:
    """The name under which contexts look up the batch rule of a family."""
    return family_id + _BATCH


def class_name(family_id: str) -> str:
    """The name under which contexts look up the class of the ops of a family."""
    return family_id + _CLASS


def runtime_name(family_id: str) -> str:
    """The name under which contexts tell whether what they batch is run by the family's runtime."""
    return family_id + " runtime"


class ExtensionRuleSet:
    """Derivative rules and batch rules by family, for an `AdContext` and `vmap`.

    Rules are looked up only in such a set; there are no global or thread-local rules. Iteration,
    `len` and `in` are about derivative rules; `batch_rules` has the others.

    >>> rules = ExtensionRuleSet()
    >>> rules.lookup("my-package.fft.v1") is None
    True
    """

    def __init__(self) -> None:
        self._rules: dict[str, ExtensionAdRule] = {}
        self._batch_rules: dict[str, ExtensionBatchRule] = {}
        self._classes: dict[str, type[ExtensionOp]] = {}

    def register_rule(
        self, rule: ExtensionAdRule, op_class: type[ExtensionOp] | None = None
    ) -> None:
        """Add the derivative rules of one family.

        Args:
            rule: the rules.
            op_class: the class of the ops that they take; by default the `family` of the rules.

        Raises:
            DuplicateRuleError: the set has rules for the family already.
            MalformedFamilyIdError: the rule's family id is malformed.
        """
        _require("register_rule", rule, ExtensionAdRule)
        family = rule.family_id
        parse_family_id(family)
        if family in self._rules:
            raise DuplicateRuleError(family, f"AD rule for family_id {family!r} already registered")
        self._rules[family] = rule
        self._learn(rule, op_class)

    def register_batch_rule(
        self, rule: ExtensionBatchRule, op_class: type[ExtensionOp] | None = None
    ) -> None:
        """Add the batch rule of one family; `op_class` as for `register_rule`.

        Raises:
            DuplicateRuleError: the set has one for the family already.
            MalformedFamilyIdError: the rule's family id is malformed.
        """
        _require("register_batch_rule", rule, ExtensionBatchRule)
        family = rule.family_id
        parse_family_id(family)
        if family in self._batch_rules:
            raise DuplicateRuleError(
                family, f"batch rule for family_id {family!r} already registered"
            )
        self._batch_rules[family] = rule
        self._learn(rule, op_class)

    def _learn(self, rule: _OfFamily, op_class: type[ExtensionOp] | None) -> None:
        """Note the class of the ops that rules take, if it is known."""
        known = getattr(rule, "family", None) if op_class is None else op_class
        if isinstance(known, type):
            self._classes[rule.family_id] = known

    def lookup(self, name: str) -> ExtensionAdRule | ExtensionBatchRule | type[ExtensionOp] | None:
        """The rules registered under a name, or None.

        The name of derivative rules is their family, that of a batch rule its `batch_rule_name`.
        The class of the ops that they take is found under the `class_name` of the family.
        """
        if name.endswith(_CLASS):
            return self._classes.get(name.removesuffix(_CLASS))
        if name.endswith(_BATCH):
            return self._batch_rules.get(name.removesuffix(_BATCH))
        return self._rules.get(name)

    @property
    def batch_rules(self) -> tuple[ExtensionBatchRule, ...]:
        """The batch rules."""
        return tuple(self._batch_rules.values())

    def copy(self) -> ExtensionRuleSet:
        """A set with the same rules. Adding to one does not change the other."""
        duplicate = ExtensionRuleSet()
        duplicate._rules = dict(self._rules)
        duplicate._batch_rules = dict(self._batch_rules)
        duplicate._classes = dict(self._classes)
        return duplicate

    def over(self, others: ExtensionRuleSet) -> ExtensionRuleSet:
        """The union of both sets; if both have rules of a family, with those of this one."""
        both = others.copy()
        both._rules |= self._rules
        both._batch_rules |= self._batch_rules
        both._classes |= self._classes
        return both

    def __or__(self, other: ExtensionRuleSet) -> ExtensionRuleSet:
        """The union of both sets.

        Raises:
            DuplicateRuleError: both have rules of one family.
        """
        both = self.copy()
        for rule in other:
            both.register_rule(rule, other._classes.get(rule.family_id))
        for batch_rule in other.batch_rules:
            both.register_batch_rule(batch_rule, other._classes.get(batch_rule.family_id))
        return both

    def __iter__(self) -> Iterator[ExtensionAdRule]:
        return iter(tuple(self._rules.values()))

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, family_id: object) -> bool:
        return family_id in self._rules

    def __repr__(self) -> str:
        return f"ExtensionRuleSet({', '.join(self._rules)})"


def _require(name: str, rule: object, kind: type[_OfFamily]) -> None:
    """Raise ExtensionRegistryError for what is not a rule."""
    if not isinstance(rule, kind) or not hasattr(rule, "family_id"):
        shown = f"the class {rule.__name__}" if isinstance(rule, type) else repr(rule)
        family = str(getattr(rule, "family_id", "rules"))
        raise ExtensionRegistryError(
            family,
            f"takes an {kind.__name__} with family or family_id, got {shown}",
            name,
        )
