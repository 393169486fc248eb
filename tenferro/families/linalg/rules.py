"""The derivative rules of all families of linear algebra."""

from __future__ import annotations

from typing import ClassVar

from tenferro.families.linear_formula import LinearFormula
from tenferro.family import ExtensionRuleSet

RULES = ExtensionRuleSet()
"""The rules of all families of linear algebra."""


class MatrixFormula(LinearFormula):
    """A formula of linear algebra, which may emit ops of all its families."""

    formula_rules: ClassVar[ExtensionRuleSet] = RULES
