"""The families of Schur and Hessenberg forms, which have no derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.core import JvpSite, Slots, V
from tenferro.errors import UnsupportedADRuleError
from tenferro.families.composite import KernelOp
from tenferro.families.linalg.matrix_op import check_dtype, check_square
from tenferro.ir import Dim, DType
from tenferro.ops.extension import ExtensionAdRule, ExtensionOp, OutputMeta, family_id

__all__ = ["Hessenberg", "Schur"]


@dataclass(frozen=True)
class _UnitaryForm(KernelOp):
    """Two matrices F and Q with A = Q F Qᴴ, or F alone.

    Attributes:
        vectors: whether Q is computed.
    """

    vectors: bool = True

    input_count = 1
    kernel = "tenferro.families.linalg.lapack:unitary_form"

    @property
    def output_count(self) -> int:
        """F and Q, or F."""
        return 1 + self.vectors

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of A."""
        name = type(self).__name__.lower()
        dtype = check_dtype(name, *input_dtypes)
        check_square(name, dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))] * self.output_count

    def prune_outputs(self, live: tuple[bool, ...]) -> _UnitaryForm | None:
        """The op without Q, if only F is read."""
        return type(self)(vectors=False) if live == (True, False) else None


@family_id(namespace="tenferro-linalg", name="schur", version=1)
@dataclass(frozen=True)
class Schur(_UnitaryForm):
    """A = Q T Qᴴ with unitary Q. T is upper triangular; for real A with 2×2 blocks for pairs of
    complex eigenvalues.
    """


@family_id(namespace="tenferro-linalg", name="hessenberg", version=1)
@dataclass(frozen=True)
class Hessenberg(_UnitaryForm):
    """A = Q H Qᴴ with unitary Q; H is zero below its first subdiagonal."""


class NoDerivative(ExtensionAdRule):
    """Refuses to differentiate a family, and says what to do.

    Args:
        family: the op class.
        advice: what to do instead.
    """

    def __init__(self, family: type[ExtensionOp], advice: str) -> None:
        self._family_id = family.FAMILY_ID
        self._advice = advice

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family_id

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """Always raises UnsupportedADRuleError."""
        raise UnsupportedADRuleError(
            op.family_id, "linearize", f"has no derivative; {self._advice}"
        )


SCHUR_RULE = NoDerivative(
    Schur, "differentiate functions of the matrix, such as expm, or eigenvalues by eigvals"
)
HESSENBERG_RULE = NoDerivative(Hessenberg, "differentiate a function of the matrix itself")
