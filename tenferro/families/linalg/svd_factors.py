"""The family of thin singular value decompositions that block derivatives are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.arrays.notation import expressions
from tenferro.chainrules import JvpSite, Slots, V
from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.clusters import Degeneracy, exists, factor, off_diagonal
from tenferro.families.linalg.pieces import diagonal, real_part
from tenferro.families.linalg.types import REAL_OF, check_dtype, check_matrix
from tenferro.family import ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.shape import Dim, DType, minimum


@family_id(namespace="tenferro-linalg", name="svd_factors", version=1)
@dataclass(frozen=True)
class SvdFactors(KernelOp):
    """s, U and Vᴴ with A = U diag(s) Vᴴ, for the min(m, n) descending singular values s."""

    input_count = 1
    output_count = 3
    kernel = "tenferro.families.linalg.kernels.triplets:svd_factors"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types of s, which is real, U and Vᴴ."""
        dtype = check_dtype("svd", *input_dtypes)
        batch, m, n = check_matrix("svd", dtype, input_shapes[0])
        r = minimum(m, n)
        return [(REAL_OF[dtype], (*batch, r)), (dtype, (*batch, m, r)), (dtype, (*batch, r, n))]


class SvdFactorsRule(ExtensionAdRule):
    """ds = Re diag(UᴴdA V); NaN for a matrix with equal values.

    The tangents of single vectors are NaN: blocks have the derivatives.
    """

    family_id = SvdFactors.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The tangents."""
        s, u, vh, da = expressions(at.emitter, (*at.out, at.tangent[0]))
        repeated = exists(off_diagonal(Degeneracy().same(s)))
        simple = factor(repeated == False, s.dtype)  # noqa: E712  # an array
        ds = real_part(diagonal(u.H @ da @ vh.H)) * simple[..., 0]
        nan = (ds * float("nan")).sum(axis=-1, keepdims=True)[..., None].astype(u.dtype)
        return (ds.value, (u * nan).value, (vh * nan).value)
