"""The families of determinants and of adjugates, by LU factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.arrays import Expression
from tenferro.families.linalg.factored import FactoredOp, check_factored
from tenferro.families.linalg.lu import lu
from tenferro.families.linalg.types import REAL_OF, check_same
from tenferro.family import Extension, OutputMeta, family_id
from tenferro.shape import Dim, DType


@family_id(namespace="tenferro-linalg", name="determinant", version=1)
@dataclass(frozen=True)
class Determinant(FactoredOp):
    """det A, or its sign and the logarithm of its modulus, for A, its LU factors and permutation.

    Attributes:
        kind: `"det"` or `"slogdet"`.
    """

    kind: str = "det"

    input_count = 3
    kernel = "tenferro.families.linalg.kernels.determinants:determinant"
    by_factors = "tenferro.families.linalg.kernels.determinants:determinant_by_factors"

    @property
    def output_count(self) -> int:
        """One, or two for `"slogdet"`."""
        return 1 if self.kind == "det" else 2

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """One number for each matrix."""
        dtype, batch, _ = check_factored(self.kind, input_dtypes, input_shapes)
        return [(dtype, batch), (REAL_OF[dtype], batch)][: self.output_count]


@family_id(namespace="tenferro-linalg", name="adjugate", version=1)
@dataclass(frozen=True)
class Adjugate(FactoredOp):
    """The adjugate of A, or its derivative along E; right for singular matrices too.

    The inputs are A, its packed LU factors, its permutation, and E for order 1. adj(A) is the
    matrix with A adj(A) = det(A), of rank one where A lacks one rank and zero where it lacks more.

    Attributes:
        order: 0, or 1 for the derivative.
    """

    order: int = 0

    output_count = 1
    kernel = "tenferro.families.linalg.kernels.determinants:adjugate"
    by_factors = "tenferro.families.linalg.kernels.determinants:adjugate_by_factors"

    @property
    def input_count(self) -> int:
        """A, its factors, and E for order 1."""
        return 3 + self.order

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of A."""
        dtype, batch, n = check_factored("det", input_dtypes[:3], input_shapes[:3])
        for direction in input_shapes[3:]:
            for ours, theirs in zip((*batch, n, n), direction, strict=True):
                check_same("det", "the sizes of A and E", ours, theirs)
        return [(dtype, tuple(input_shapes[0]))]


FIRST_LIMIT, SECOND_LIMIT = 3 / 4, 1 / 3
"""Exponents of 1/ε: beyond these condition numbers (of Frobenius) the formulas with A⁻¹ for the
first and second derivative of det lose too many digits; see the kernel of `adjugate`."""


def determinant(a: Expression, kind: str) -> tuple[Expression, ...]:
    """The outputs of `Determinant`, by the LU factors of A."""
    packed, _, permutation = lu(a)
    return a.emit_all(Extension(Determinant(kind)), packed, permutation)
