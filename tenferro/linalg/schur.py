"""Schur and Hessenberg forms, which have no derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tenferro.errors import ConfigError, UnsupportedADRuleError
from tenferro.ir import AnyTensor, ArrayLike, NumpyArray
from tenferro.linalg.arguments import COMPLEX_OF, check_dtype, check_square, square
from tenferro.linalg.matrix_op import family, over_batch, scipy_linalg
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
)
from tenferro.ops.functions import array_function, convert, emit_all

__all__ = ["HessenbergResult", "SchurResult", "hessenberg", "schur"]


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
        return over_batch(one, [a], outputs)[: self.output_count]

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
        result: Sequence[Any] = scipy_linalg().schur(a)
        return result


@family(name="hessenberg")
@dataclass(frozen=True)
class Hessenberg(_UnitaryForm):
    """A = Q H Qᴴ with unitary Q; H is zero below its first subdiagonal."""

    advice = "differentiate a function of the matrix itself"

    def one(self, a: NumpyArray) -> Sequence[Any]:
        """By LAPACK's gehrd."""
        result: Sequence[Any] = scipy_linalg().hessenberg(a, calc_q=True)
        return result


class SchurResult(NamedTuple):
    """Of `schur`: x = Z T Zᴴ."""

    T: AnyTensor
    Z: AnyTensor


@array_function(module="tenferro.linalg", results=SchurResult)
def schur(a: ArrayLike, output: str = "real") -> SchurResult:
    """The Schur form T and the unitary Z of square matrices a = Z T Zᴴ.

    T is upper triangular; for real a with 2×2 blocks for pairs of complex eigenvalues. It has no
    derivative. XLA has it on the CPU only.

    Args:
        a: matrices, of shape [..., n, n].
        output: "complex" makes T triangular, and complex for real a too.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.
        ConfigError: there is no such output.

    >>> tn.linalg.schur([[1.0, 2.0], [0.0, 3.0]]).T
    Tensor([[1., 2.],
            [0., 3.]])
    """
    if output not in ("real", "complex"):
        raise ConfigError(f"schur: output must be 'real' or 'complex', got {output!r}")
    value = square("schur", a)
    if output == "complex":
        value = convert(value, COMPLEX_OF[value.meta.dtype])
    return SchurResult(*emit_all(Extension(Schur()), value))


class HessenbergResult(NamedTuple):
    """Of `hessenberg`: x = Q H Qᴴ."""

    H: AnyTensor
    Q: AnyTensor


@array_function(module="tenferro.linalg", results=HessenbergResult)
def hessenberg(a: ArrayLike, calc_q: bool = False) -> HessenbergResult | AnyTensor:
    """The Hessenberg form H of square matrices a = Q H Qᴴ, zero below its first subdiagonal.

    It has no derivative. XLA has it on the CPU only.

    Args:
        a: matrices, of shape [..., n, n].
        calc_q: whether the unitary Q is returned too.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.

    >>> tn.linalg.hessenberg([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[1., 2.],
            [3., 4.]])
    """
    form, vectors = emit_all(Extension(Hessenberg()), square("hessenberg", a))
    return HessenbergResult(form, vectors) if calc_q else form
