"""The derivative rules of all families of linear algebra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tenferro.families.formula import Transform
from tenferro.families.linalg.clusters import Degeneracy
from tenferro.families.linear_formula import LinearFormula
from tenferro.family import ExtensionRuleSet

RULES = ExtensionRuleSet()
"""The rules of all families of linear algebra."""


class MatrixFormula(LinearFormula):
    """A formula of linear algebra, which may emit ops of all its families."""

    formula_rules: ClassVar[ExtensionRuleSet] = RULES


@dataclass(frozen=True)
class SpectralFormula(MatrixFormula):
    """The derivative of eigenvalues or singular values and their vectors.

    Attributes:
        mode, width: what it does where values are equal; see `Degeneracy`.
        present, transforms: see `LinearFormula`.
    """

    mode: str = "nan"
    width: float = 1e-12
    present: tuple[bool, ...] = (True,)
    transforms: tuple[Transform, ...] = ()

    @property
    def degeneracy(self) -> Degeneracy:
        """What it does where values are equal."""
        final = all(kind == "select" for kind, _ in self.transforms)
        return Degeneracy(self.mode, self.width, final)
