"""Cholesky factors, and systems solved by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tenferro.config import flag
from tenferro.ir import AnyTensor, ArrayLike, NumpyArray
from tenferro.linalg.arguments import _pair, check_dtype, check_square, square, systems
from tenferro.linalg.matrix_op import H, family, hermitian, hermitian_part, stacked, sym, tril0
from tenferro.linalg.triangular_solve import triangular_solve
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
)
from tenferro.ops.functions import apply, array_function, emit, named

__all__ = ["CholeskyFactorResult", "cho_factor", "cho_solve", "cholesky"]


@family(name="cholesky")
@dataclass(frozen=True)
class Cholesky(FamilyOp):
    """The lower triangular L with L Lᴴ = (A + Aᴴ) / 2.

    The triangle is NaN if the matrix is not positive definite; what is above is zero always.
    """

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("cholesky", *input_dtypes)
        check_square("cholesky", dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))]

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        """By LAPACK's potrf."""
        results = [np.empty_like(a)]
        return [
            *map(np.tril, stacked(lambda x: (np.linalg.cholesky(x),), [hermitian_part(a)], results))
        ]

    def jvp(self, at: FormulaSite) -> Terms:
        """dL = L tril₀(L⁻¹ sym(dA) L⁻ᴴ), where tril₀ halves the diagonal.

        The transpose is two triangular solves and a product as well (Murray, arXiv:1602.07527).
        """
        (factor,), (da,) = at.results, at.tangents
        half = triangular_solve(factor, sym(da))
        inner = triangular_solve(factor, half, left=False, trans="c")
        return [factor @ tril0(inner)]


# Factorizations: Cholesky, LU, QR, Schur and Hessenberg.


@array_function(module="tenferro.linalg")
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> AnyTensor:
    """The lower triangular L with L Lᴴ = `a`, for Hermitian positive definite `a`.

    The triangle is NaN for each matrix that is not positive definite.

    Args:
        a: matrices, of shape [..., n, n].
        upper: return the upper triangular U = Lᴴ instead.
        symmetrize_input: read (a + aᴴ) / 2, so that gradients are Hermitian. Otherwise only one
            triangle is read, the lower one, or the upper one if `upper`.

    Raises:
        ShapeError: `a` is not square.
        DTypeError: `a` is of half precision.

    >>> tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    Tensor([[2., 0.],
            [1., 2.]])
    """
    x = square("cholesky", a)
    if not symmetrize_input:
        read = H(x) if upper else x
        x = hermitian(read)
    lower = emit(Extension(Cholesky()), x)
    return H(lower) if upper else lower


class CholeskyFactorResult(NamedTuple):
    """A Cholesky factor, and whether it is the lower one."""

    c: AnyTensor
    lower: bool


def cho_factor(a: ArrayLike, lower: bool = False) -> CholeskyFactorResult:
    """The Cholesky factor of Hermitian positive definite matrices, for `cho_solve`.

    Args:
        a: matrices, of shape [..., n, n]; (a + aᴴ) / 2 is read.
        lower: the factor is L with L Lᴴ = a, else U with Uᴴ U = a.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.

    >>> tn.linalg.cho_solve(tn.linalg.cho_factor([[2.0, 1.0], [1.0, 3.0]]), [3.0, 4.0])
    Tensor([1., 1.])
    """
    lower = flag("cho_factor: lower", lower)
    return CholeskyFactorResult(apply(_cho_factor, a, upper=not lower), lower)


@named("cho_factor")
def _cho_factor(a: AnyTensor, upper: bool) -> AnyTensor:
    return cholesky(square("cho_factor", a), upper=upper)


def cho_solve(c_and_lower: tuple[ArrayLike, bool], b: ArrayLike) -> AnyTensor:
    """The solution x of a x = b, by the Cholesky factor of a.

    Args:
        c_and_lower: what `cho_factor` returns for a.
        b: right sides, of shape [..., n, k], or one vector of shape [n].

    Raises:
        ShapeError: the factor is not square, or b does not have its number of rows.
        DTypeError: an operand is of half precision.

    >>> lower = tn.linalg.cholesky([[4.0, 0.0], [0.0, 1.0]])
    >>> tn.linalg.cho_solve((lower, True), [4.0, 1.0])
    Tensor([1., 1.])
    """
    factor, lower = _pair("cho_solve", "c_and_lower", c_and_lower)
    is_lower = flag("cho_solve: whether the factor is the lower one", lower)
    return apply(_cho_solve, factor, b, lower=is_lower)


@named("cho_solve")
def _cho_solve(factor: AnyTensor, b: AnyTensor, lower: bool) -> AnyTensor:
    a, x, restore = systems("cho_solve", factor, b)
    half = triangular_solve(a, x, lower=lower, trans="n" if lower else "c")
    return restore(triangular_solve(a, half, lower=lower, trans="c" if lower else "n"))
