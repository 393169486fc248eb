"""The family of Cholesky factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.core import JvpSite, Slots, V
from tenferro.families.composite import KernelOp
from tenferro.families.linalg.matrix_op import check_dtype, check_square, sym, tril0
from tenferro.families.linalg.triangular_solve import triangular_solve
from tenferro.ir import Dim, DType
from tenferro.ops.extension import ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops.functions import expressions

__all__ = ["Cholesky"]


@family_id(namespace="tenferro-linalg", name="cholesky", version=1)
@dataclass(frozen=True)
class Cholesky(KernelOp):
    """The lower triangular L with L Lᴴ = (A + Aᴴ) / 2; NaN if this is not positive definite."""

    input_count = 1
    output_count = 1
    kernel = "tenferro.families.linalg.lapack:cholesky"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of A."""
        dtype = check_dtype("cholesky", *input_dtypes)
        check_square("cholesky", dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))]


class CholeskyRule(ExtensionAdRule):
    """dL = L tril₀(L⁻¹ sym(dA) L⁻ᴴ), where tril₀ halves the diagonal (Murray, arXiv:1602.07527)."""

    family_id = Cholesky.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The formula; its transpose is two triangular solves and a product as well."""
        factor, da = expressions(at.emitter, (at.out[0], at.tangent[0]))
        half = triangular_solve(factor, sym(da))
        inner = triangular_solve(factor, half, left=False, trans="c")
        return ((factor @ tril0(inner)).value,)
