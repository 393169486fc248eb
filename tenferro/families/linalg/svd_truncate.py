"""Blocks of singular vectors whose number is data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.families.linalg.matrix_op import (
    ExpandedOp,
    check_dtype,
    check_matrix,
    check_same,
    columns,
    embedded,
    family,
    rows,
)
from tenferro.families.linalg.subspaces import block_tangents, part
from tenferro.families.linalg.svd import Svd, by_triplets
from tenferro.ir import Dim, NumpyArray, minimum
from tenferro.ops import STOP_GRADIENT, Iota
from tenferro.ops.extension import DTypes, Extension, FormulaSite, OutputTypes, Shapes, Terms
from tenferro.ops.functions import Expression

__all__ = ["SvdTruncated", "kept_triplets", "svd_factors", "svd_truncated"]


@family(name="svd_truncated")
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

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("svd_truncate", input_dtypes[0], *input_dtypes[2:4])
        batch, m, n = check_matrix("svd_truncate", dtype, input_shapes[0])
        check_same("svd_truncate", "the numbers of values", minimum(m, n), input_shapes[1][-1])
        k = self._columns(input_shapes[1][-1])
        return [(dtype, (*batch, *shape)) for shape in [(m, k), (k, k), (n, k)]]

    def _columns(self, values: Dim) -> Dim:
        return values if self.limit is None else minimum(values, self.limit)

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """Slices, with zeros beyond the rank."""
        _, s, u, vh, rank = inputs
        k = self._columns(s.shape[-1])
        values = part(s, 0, k)
        inside = is_leading(values, rank).astype(s.dtype)
        block = embedded(values * inside).astype(u.dtype)
        return [part(u, 0, k) * columns(inside), block, part(vh.H, 0, k) * columns(inside)]

    def kernel(self, *arrays: NumpyArray) -> list[NumpyArray]:
        return by_triplets(self, *arrays)

    def jvp(self, at: FormulaSite) -> Terms:
        """As of `SvdBlock`, with zeros in the place of what is discarded."""
        (_, s, left, right, rank), (_, b, _), da = at.operands, at.results, at.tangents[0]
        if da is None:
            return [None] * 3
        discarded = s * (1.0 - is_leading(s, rank).astype(s.dtype))
        return block_tangents(at, without_zeros(b, s, rank), (left, discarded, right.H))


def is_leading(values: Expression, rank: Expression) -> Expression:
    """Whether the place along the last axis is one of the first `rank`, which is of shape [...]."""
    at = values.emitter
    places = Expression(at, at.emit(Iota(values.dtype, values.shape[-1])))
    return places < rows(rank).astype(values.dtype)


def without_zeros(block: Expression, values: Expression, rank: Expression) -> Expression:
    """B with twice the largest singular value on the diagonal of what is discarded.

    It is regular, and where it is multiplied by columns of zeros they do not matter.
    """
    k = block.shape[-1]
    rest = 1.0 - is_leading(part(values, 0, k), rank).astype(values.dtype)
    filling = embedded(rest * values.max(axis=-1, keepdims=True) * 2.0)
    (constant,) = filling.emit_all(STOP_GRADIENT)
    return block + constant.astype(block.dtype)


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
    inside = is_leading(values, rank).astype(s.dtype)
    return values * inside, part(u, 0, k) * columns(inside), part(vh.mT, 0, k).mT * rows(inside)
