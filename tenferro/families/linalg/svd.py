"""The family of singular value decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.svd_derivative import SvdJvp
from tenferro.families.linalg.types import REAL_OF, check_dtype, check_matrix
from tenferro.families.linear_formula import FactorRule
from tenferro.family import OutputMeta, family_id
from tenferro.shape import Dim, DType, minimum


@family_id(namespace="tenferro-linalg", name="svd", version=1)
@dataclass(frozen=True)
class Svd(KernelOp):
    """Singular values s, descending, U and Vᴴ, with A = U diag(s) Vᴴ.

    A is m×n and k the smaller of both. U is m×k and Vᴴ k×n, or m×m and n×n.

    Attributes:
        full_matrices: whether U and V are square.
        mode, width: what derivatives do at multiple singular values; see `Degeneracy`.
        vectors: whether U and V are computed.
    """

    full_matrices: bool = False
    mode: str = "nan"
    width: float = 1e-12
    vectors: bool = True

    input_count = 1
    kernel = "tenferro.families.linalg.kernels.singular:svd"

    @property
    def output_count(self) -> int:
        """s, U and Vᴴ, or s."""
        return 3 if self.vectors else 1

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types of s, which is real, U and Vᴴ."""
        dtype = check_dtype("svd", *input_dtypes)
        batch, m, n = check_matrix("svd", dtype, input_shapes[0])
        k = minimum(m, n)
        left, right = (m, n) if self.full_matrices else (k, k)
        types = [(REAL_OF[dtype], (*batch, k)), (dtype, (*batch, m, left))]
        return [*types, (dtype, (*batch, right, n))][: self.output_count]

    def prune_outputs(self, live: tuple[bool, ...]) -> Svd | None:
        """The op without vectors, if only s is read."""
        if live != (True, False, False):
            return None
        return Svd(False, self.mode, self.width, vectors=False)


SVD_RULE = FactorRule(
    Svd,
    lambda op: SvdJvp(op.mode, op.width),
    whole=lambda op: op if op.vectors else replace(op, vectors=True),
)
