"""Schur and Hessenberg forms, which have no derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tenferro.errors import UnsupportedADRuleError
from tenferro.families.linalg.lapack import over_batch, scipy_linalg
from tenferro.families.linalg.matrix_op import check_dtype, check_square, family
from tenferro.ir import NumpyArray
from tenferro.ops.extension import DTypes, FamilyOp, FormulaSite, OutputTypes, Shapes, Terms

__all__ = ["Hessenberg", "Schur"]


@dataclass(frozen=True)
class _UnitaryForm(FamilyOp):
    """Two matrices F and Q with A = Q F Qᴴ, or F alone.

    Attributes:
        vectors: whether Q is computed.
        advice: what to differentiate instead.
    """

    vectors: bool = True

    input_count = 1
    advice: ClassVar[str]

    @property
    def output_count(self) -> int:
        """F and Q, or F."""
        return 1 + self.vectors

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        name = type(self).__name__.lower()
        dtype = check_dtype(name, *input_dtypes)
        check_square(name, dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))] * self.output_count

    def prune_outputs(self, live: tuple[bool, ...]) -> _UnitaryForm | None:
        """The op without Q, if only F is read."""
        return type(self)(vectors=False) if live == (True, False) else None

    def one(self, a: NumpyArray) -> Sequence[Any]:
        """F and Q of one matrix."""
        raise NotImplementedError

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        outputs = [np.empty_like(a), np.empty_like(a)]
        one = self.one if a.size else lambda x: (x, x)
        return over_batch(one, [a], [2], outputs)[: self.output_count]

    def jvp(self, at: FormulaSite) -> Terms:
        """Always raises UnsupportedADRuleError."""
        reason = f"has no derivative; {self.advice}"
        raise UnsupportedADRuleError(self.family_id, "linearize", reason)


@family(name="schur")
@dataclass(frozen=True)
class Schur(_UnitaryForm):
    """A = Q T Qᴴ with unitary Q. T is upper triangular; for real A with 2×2 blocks for pairs of
    complex eigenvalues.
    """

    advice = "differentiate functions of the matrix, such as expm, or eigenvalues by eigvals"

    def one(self, a: NumpyArray) -> Sequence[Any]:
        """By LAPACK's gees."""
        return scipy_linalg().schur(a)  # type: ignore[no-any-return]


@family(name="hessenberg")
@dataclass(frozen=True)
class Hessenberg(_UnitaryForm):
    """A = Q H Qᴴ with unitary Q; H is zero below its first subdiagonal."""

    advice = "differentiate a function of the matrix itself"

    def one(self, a: NumpyArray) -> Sequence[Any]:
        """By LAPACK's gehrd."""
        return scipy_linalg().hessenberg(a, calc_q=True)  # type: ignore[no-any-return]
