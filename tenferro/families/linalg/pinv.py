"""Pseudoinverses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenferro.families.linalg.lapack import adjoint, stacked
from tenferro.families.linalg.matrix_op import (
    REAL_OF,
    check_dtype,
    check_matrix,
    check_sizes,
    family,
)
from tenferro.ir import DType, NumpyArray
from tenferro.ops.extension import DTypes, FamilyOp, FormulaSite, OutputTypes, Shapes, Terms

__all__ = ["Pinv"]


@family(name="pinv")
@dataclass(frozen=True)
class Pinv(FamilyOp):
    """The pseudoinverse A⁺ of A.

    Attributes:
        rtol: singular values up to this, relative to the largest, count as zero; None is the
            rounding error of the dtype times the larger size.
        given: whether a second input, real and with one number for each matrix, is read as `rtol`.
    """

    rtol: float | None = None
    given: bool = False

    output_count = 1

    @property
    def input_count(self) -> int:
        """A, and its tolerance."""
        return 1 + self.given

    def cutoff(self, m: int, n: int, dtype: DType) -> float:
        """The largest value, relative to the largest, that counts as zero."""
        return max(m, n) * float(np.finfo(dtype).eps) if self.rtol is None else self.rtol

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("pinv", input_dtypes[0])
        batch, m, n = check_matrix("pinv", dtype, input_shapes[0])
        if self.given:
            check_dtype("pinv", REAL_OF[dtype], input_dtypes[1])
            check_sizes("pinv", "the batch sizes of A and rtol", batch, input_shapes[1])
        return [(dtype, (*batch, n, m))]

    def kernel(self, a: NumpyArray, *rtol: NumpyArray) -> list[NumpyArray]:
        """By singular values."""
        result = np.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
        if 0 in a.shape:
            return [result]

        def kernel(x: NumpyArray, *rtol: NumpyArray) -> tuple[NumpyArray]:
            u, s, vh = np.linalg.svd(x, full_matrices=False)
            cutoff = rtol[0][..., 0] if rtol else self.cutoff(x.shape[-2], x.shape[-1], s.dtype)
            nonzero = s > cutoff * s[..., :1]
            inverse = np.where(nonzero, 1 / np.where(nonzero, s, 1), 0)
            return ((adjoint(vh) * inverse[..., None, :]) @ adjoint(u),)

        return stacked(kernel, [a, *[each[..., None, None] for each in rtol]], [result])

    def jvp(self, at: FormulaSite) -> Terms:
        """dA⁺ = −A⁺dA A⁺ + A⁺A⁺ᴴdAᴴ(1 − A A⁺) + (1 − A⁺A)dAᴴA⁺ᴴA⁺, along matrices of equal rank.

        No difference of singular values occurs (Golub and Pereyra 1973).
        """
        a, (p,), da = at.operands[0], at.results, at.tangents[0]
        if da is None:
            return [None]
        left = p @ (p.H @ da.H)
        right = (da.H @ p.H) @ p
        return [left - (left @ a) @ p + right - p @ (a @ right) - p @ da @ p]
