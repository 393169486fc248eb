"""The family of pseudoinverses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.core import JvpSite, Slots, V
from tenferro.families.composite import KernelOp
from tenferro.families.linalg.matrix_op import REAL_OF, check_dtype, check_matrix, check_same
from tenferro.ir import Dim, DType
from tenferro.ops.extension import ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops.functions import expressions

__all__ = ["Pinv"]


@family_id(namespace="tenferro-linalg", name="pinv", version=1)
@dataclass(frozen=True)
class Pinv(KernelOp):
    """The pseudoinverse A⁺ of A.

    Attributes:
        rtol: singular values up to this, relative to the largest, count as zero; None is the
            rounding error of the dtype times the larger size.
        given: whether a second input, real and with one number for each matrix, is read as `rtol`.
    """

    rtol: float | None = None
    given: bool = False

    output_count = 1
    kernel = "tenferro.families.linalg.lapack:pinv"

    @property
    def input_count(self) -> int:
        """A, and its tolerance."""
        return 1 + self.given

    def cutoff(self, m: int, n: int, dtype: DType) -> float:
        """The largest value, relative to the largest, that counts as zero."""
        return max(m, n) * float(np.finfo(dtype).eps) if self.rtol is None else self.rtol

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of Aᴴ."""
        dtype = check_dtype("pinv", input_dtypes[0])
        batch, m, n = check_matrix("pinv", dtype, input_shapes[0])
        if self.given:
            check_dtype("pinv", REAL_OF[dtype], input_dtypes[1])
            for ours, theirs in zip(batch, input_shapes[1], strict=True):
                check_same("pinv", "the batch sizes of A and rtol", ours, theirs)
        return [(dtype, (*batch, n, m))]


class PinvRule(ExtensionAdRule):
    """dA⁺ = −A⁺dA A⁺ + A⁺A⁺ᴴdAᴴ(1 − A A⁺) + (1 − A⁺A)dAᴴA⁺ᴴA⁺, along matrices of equal rank.

    No difference of singular values occurs (Golub and Pereyra 1973).
    """

    family_id = Pinv.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The formula."""
        if at.tangent[0] is None:
            return (None,)
        a, p, da = expressions(at.emitter, (at.primal[0], at.out[0], at.tangent[0]))
        left = p @ (p.H @ da.H)
        right = (da.H @ p.H) @ p
        result = left - (left @ a) @ p + right - p @ (a @ right) - p @ da @ p
        return (result.value,)
