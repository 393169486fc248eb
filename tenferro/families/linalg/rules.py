"""The derivative rules of the families, and how the rule of a factorization is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tenferro.chainrules import JvpSite, Slots, V
from tenferro.families.linear_formula import LinearFormula, applied
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp, ExtensionRuleSet

RULES = ExtensionRuleSet()
"""The rules of all families of linear algebra."""


class MatrixFormula(LinearFormula):
    """A formula of linear algebra, which may emit ops of all its families."""

    formula_rules: ClassVar[ExtensionRuleSet] = RULES


class FactorRule(ExtensionAdRule):
    """The rule of a factorization whose tangents are a formula of its results and the tangents.

    Args:
        family: the op class of the factorization.
        derivative: makes the formula from the op. Its fixed inputs are the results of the
            factorization, after its operands if `reads_operands`.
        reads_operands: whether the formula reads the operands too.
        whole: makes the op with all results, of which some may have been pruned. The first ones of
            these are those of a pruned op.
    """

    def __init__(
        self,
        family: type[ExtensionOp],
        derivative: Callable[[Any], LinearFormula],
        reads_operands: bool = False,
        whole: Callable[[Any], ExtensionOp] = lambda op: op,
    ) -> None:
        self._family_id = family.FAMILY_ID
        self._derivative = derivative
        self._reads_operands = reads_operands
        self._whole = whole

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family_id

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The tangents by the formula."""
        whole = self._whole(op)
        out = at.out if whole is op else at.emitter.emit_all(Extension(whole), *at.primal)
        fixed = (*at.primal, *out) if self._reads_operands else out
        tangents = applied(at.emitter, self._derivative(op), fixed, at.tangent)
        return tuple(tangents[: len(at.out)])
