"""Cholesky factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenferro.families.linalg.lapack import hermitian_part, stacked
from tenferro.families.linalg.matrix_op import check_dtype, check_square, family, sym, tril0
from tenferro.families.linalg.triangular_solve import triangular_solve
from tenferro.ir import NumpyArray
from tenferro.ops.extension import DTypes, FamilyOp, FormulaSite, OutputTypes, Shapes, Terms

__all__ = ["Cholesky"]


@family(name="cholesky")
@dataclass(frozen=True)
class Cholesky(FamilyOp):
    """The lower triangular L with L Lᴴ = (A + Aᴴ) / 2; NaN if this is not positive definite."""

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("cholesky", *input_dtypes)
        check_square("cholesky", dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))]

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        """By LAPACK's potrf."""
        return stacked(lambda x: (np.linalg.cholesky(x),), [hermitian_part(a)], [np.empty_like(a)])

    def jvp(self, at: FormulaSite) -> Terms:
        """dL = L tril₀(L⁻¹ sym(dA) L⁻ᴴ), where tril₀ halves the diagonal.

        The transpose is two triangular solves and a product as well (Murray, arXiv:1602.07527).
        """
        (factor,), (da,) = at.results, at.tangents
        half = triangular_solve(factor, sym(da))
        inner = triangular_solve(factor, half, left=False, trans="c")
        return [factor @ tril0(inner)]
