"""The family of blocks of singular vectors whose number is data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.core import JvpSite, Slots, V
from tenferro.families.linalg.matrix_op import (
    ExpandedOp,
    check_dtype,
    check_matrix,
    check_same,
    columns,
    embedded,
    rows,
    skew,
    sym,
)
from tenferro.families.linalg.subspaces import coupled, part, sylvester
from tenferro.families.linalg.svd import Svd
from tenferro.ir import Dim, DType, minimum
from tenferro.ops import STOP_GRADIENT, Iota
from tenferro.ops.extension import Extension, ExtensionAdRule, OutputMeta, family_id
from tenferro.ops.functions import Expression, expressions, values_of

__all__ = ["SvdTruncated", "kept_triplets", "svd_factors", "svd_truncated"]


@family_id(namespace="tenferro-linalg", name="svd_truncated", version=1)
@dataclass(frozen=True)
class SvdTruncated(ExpandedOp):
    """U, B and V for the r largest singular values of A, filled with zeros up to `limit` of them.

    The inputs are A, its singular values and vectors, which only save a factorization, and r, a
    whole number without derivatives. B is diagonal in value.

    Attributes:
        limit: columns of U and V, if there are as many singular values; None is all of these.
    """

    limit: int | None = None

    input_count = 5
    output_count = 3
    kernel = "tenferro.families.linalg.lapack:of_factors"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types of U, B and V."""
        dtype = check_dtype("svd_truncate", input_dtypes[0], *input_dtypes[2:4])
        batch, m, n = check_matrix("svd_truncate", dtype, input_shapes[0])
        check_same("svd_truncate", "the numbers of values", minimum(m, n), input_shapes[1][-1])
        k = self._columns(input_shapes[1][-1])
        return [(dtype, (*batch, *shape)) for shape in [(m, k), (k, k), (n, k)]]

    def _columns(self, values: Dim) -> Dim:
        return values if self.limit is None else minimum(values, self.limit)

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """Slices, with zeros in the place of what is discarded."""
        _, s, u, vh, rank = inputs
        k = self._columns(s.shape[-1])
        values = part(s, 0, k)
        kept = is_kept(values, rank).astype(s.dtype)
        block = embedded(values * kept).astype(u.dtype)
        return [part(u, 0, k) * columns(kept), block, part(vh.H, 0, k) * columns(kept)]


def is_kept(values: Expression, rank: Expression) -> Expression:
    """Whether the place along the last axis is one of the first `rank`, which is of shape [...]."""
    at = values.emitter
    places = Expression(at, at.emit(Iota(values.dtype, values.shape[-1])))
    return places < rows(rank).astype(values.dtype)


def without_zeros(block: Expression, values: Expression, rank: Expression) -> Expression:
    """B with twice the largest singular value on the diagonal of what is discarded.

    It is regular, and where it is multiplied by columns of zeros they do not matter.
    """
    k = block.shape[-1]
    rest = 1.0 - is_kept(part(values, 0, k), rank).astype(values.dtype)
    filling = embedded(rest * values.max(axis=-1, keepdims=True) * 2.0)
    (constant,) = filling.emit_all(STOP_GRADIENT)
    return block + constant.astype(block.dtype)


class SvdTruncatedRule(ExtensionAdRule):
    """The rule of `SvdBlock`, with zeros in the place of what is discarded."""

    family_id = SvdTruncated.FAMILY_ID

    def linearize(self, op: ExpandedOp, at: JvpSite[V]) -> Slots[V]:  # type: ignore[override]
        """The tangents; the factors and the rank carry none."""
        a, s, left, right, rank = expressions(at.emitter, at.primal)
        u, b, v, da = expressions(at.emitter, (*at.out, at.tangent[0]))
        if da is None:
            return (None,) * 3
        forward, backward = da @ v, da.H @ u
        inner = u.H @ forward
        regular = without_zeros(b, s, rank)
        turn = sylvester(regular, regular, skew(inner), 1)
        discarded = s * (1.0 - is_kept(s, rank).astype(s.dtype))
        x, y = coupled(
            regular,
            a - u @ b @ v.H,
            forward - u @ inner,
            backward - v @ inner.H,
            (left, discarded, right.H),
        )
        return values_of([u @ turn + x, sym(inner), y - v @ turn])


def svd_truncated(
    a: Expression, factors: Sequence[Expression], rank: Expression, limit: int | None
) -> tuple[Expression, ...]:
    """U, B and V of `SvdTruncated`, and B without its zeros."""
    u, b, v = a.emit_all(Extension(SvdTruncated(limit)), *factors, rank)
    return u, b, v, without_zeros(b, factors[0], rank)


def svd_factors(a: Expression) -> tuple[Expression, ...]:
    """Singular values, U and Vᴴ."""
    return a.emit_all(Extension(Svd()))


def kept_triplets(
    factors: Sequence[Expression], rank: Expression, limit: int | None
) -> tuple[Expression, ...]:
    """The first `limit` singular values, and their U and Vᴴ, with zeros beyond the rank."""
    s, u, vh = factors
    k = s.shape[-1] if limit is None else minimum(s.shape[-1], limit)
    values = part(s, 0, k)
    kept = is_kept(values, rank).astype(s.dtype)
    return values * kept, part(u, 0, k) * columns(kept), part(vh.mT, 0, k).mT * rows(kept)
