"""Blocks of singular vectors whose number is data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Dim, NumpyArray, minimum
from tenferro.linalg.arguments import check_dtype, check_matrix, check_same, integer, matrix, number
from tenferro.linalg.matrix_functions import hermitian_function
from tenferro.linalg.matrix_op import (
    ExpandedOp,
    H,
    columns,
    embedded,
    family,
    places,
    rows,
    scaled,
)
from tenferro.linalg.subspaces import block_tangents, part
from tenferro.linalg.svd import Svd, by_triplets
from tenferro.ops import STOP_GRADIENT, scalar
from tenferro.ops.extension import DTypes, Extension, FormulaSite, OutputTypes, Shapes, Terms
from tenferro.ops.functions import (
    analytic,
    array_function,
    elementwise,
    emit,
    emit_all,
    manipulation,
    reductions,
)
from tenferro.ops.functions.elementwise import where

__all__ = ["svd_truncate"]


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

    def formula(self, *inputs: Any) -> Sequence[AnyTensor]:
        """Slices, with zeros beyond the rank."""
        _, s, u, vh, rank = inputs
        values, left, right = self.leading(s, u, H(vh), rank)
        return [left, embedded(values).astype(u.dtype), right]

    def leading(
        self, s: AnyTensor, u: AnyTensor, v: AnyTensor, rank: AnyTensor
    ) -> tuple[AnyTensor, AnyTensor, AnyTensor]:
        """The first singular values, and their columns of U and V, with zeros beyond the rank."""
        k = self._columns(s.shape[-1])
        values = part(s, 0, k)
        inside = is_leading(values, rank).astype(s.dtype)
        return values * inside, part(u, 0, k) * columns(inside), part(v, 0, k) * columns(inside)

    def kernel(self, *arrays: NumpyArray) -> list[NumpyArray]:
        return by_triplets(self, *arrays)

    def jvp(self, at: FormulaSite) -> Terms:
        """As of `SvdBlock`, with zeros in the place of what is discarded."""
        (_, s, left, right, rank), (_, b, _), da = at.operands, at.results, at.tangents[0]
        if da is None:
            return [None] * 3
        discarded = s * (1.0 - is_leading(s, rank).astype(s.dtype))
        return block_tangents(at, without_zeros(b, s, rank), (left, discarded, H(right)))


def is_leading(values: AnyTensor, rank: AnyTensor) -> AnyTensor:
    """Whether the place along the last axis is one of the first `rank`, which is of shape [...]."""
    return places(values, values.shape[-1], values.dtype) < rows(rank).astype(values.dtype)


def without_zeros(block: AnyTensor, values: AnyTensor, rank: AnyTensor) -> AnyTensor:
    """B with twice the largest singular value on the diagonal of what is discarded.

    It is regular, and where it is multiplied by columns of zeros they do not matter.
    """
    k = block.shape[-1]
    rest = 1.0 - is_leading(part(values, 0, k), rank).astype(values.dtype)
    filling = embedded(rest * values.max(axis=-1, keepdims=True) * 2.0)
    return block + emit(STOP_GRADIENT, filling).astype(block.dtype)


_EQUAL = 1e-9
"""The relative gap up to which singular values belong to one multiplet."""


@array_function(module="tenferro.linalg")
def svd_truncate(
    x: ArrayLike,
    *,
    max_rank: int | None = None,
    cutoff: float = 0.0,
    cutoff_mode: str = "rel",
    absorb: str | None = None,
    renorm: bool = False,
    multiplets: bool = True,
    pad: bool = False,
) -> tuple[AnyTensor, ...]:
    """Factors of matrices of lower rank that are near x; the singular values give the ranks.

    (U, s, Vh) without `absorb`, else two factors: (U B, Vh) for "left", (U, B Vh) for "right" and
    (U B^½, B^½ Vh) for "both", with the blocks of `svd_block`. Their derivatives are as there, with
    the rank as a constant; those of (U, s, Vh) are as of single singular vectors.

    Values s of s₁ ≥ s₂ ≥ … are kept by mode: "rel", s > cutoff · s₁; "abs", s > cutoff; "sum2",
    until the squares of the others sum to at most the cutoff; "rsum2", to at most cutoff · Σs².
    At least one is kept, at most max_rank, and none that is zero up to rounding.

    Each matrix of a batch has its own rank. The factors are as wide as the largest of these, with
    zeros in the place of what the others discard. With `pad` they are always max_rank wide, or
    min(m, n) if this is less: `vmap` takes this form only, and all functions take its results.

    Without `pad`, the rank is a dynamic size in a traced function: products and sums of the factors
    take it, but not functions that need exact sizes, such as `reshape` and `eigh`. Computed by a
    `tn.EagerRuntime`, with derivatives, all functions take it.

    Args:
        x: matrices, of shape [..., m, n].
        max_rank: the largest rank.
        cutoff: what is small.
        cutoff_mode: "rel", "abs", "sum2" or "rsum2".
        absorb: which factors take the singular values.
        renorm: scale the result to the Frobenius norm of x.
        multiplets: keep less, so that no two values are separated whose relative gap is at most
            1e-9; or more, where nothing else would be left, if max_rank allows it.
        pad: fill up with zeros, so that no size depends on data.

    Raises:
        ShapeError: x has fewer than two axes, or its matrices have no elements.
        ConfigError: an option is none of these.

    Source: the options are those of quimb and ITensor.

    >>> left, right = tn.linalg.svd_truncate(
    ...     [[4.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.1]], cutoff=0.1, absorb="both"
    ... )
    >>> left @ right
    Tensor([[4., 0., 0.],
            [0., 2., 0.],
            [0., 0., 0.]])
    """
    if cutoff_mode not in ("rel", "abs", "sum2", "rsum2"):
        raise ConfigError(
            "svd_truncate: cutoff_mode must be 'rel', 'abs', 'sum2' or 'rsum2', "
            f"got {cutoff_mode!r}"
        )
    if absorb not in (None, "left", "right", "both"):
        raise ConfigError(
            f"svd_truncate: absorb must be None, 'left', 'right' or 'both', got {absorb!r}"
        )
    limit = None if max_rank is None else integer("svd_truncate", "max_rank", max_rank)
    if max_rank is not None and (limit is None or limit < 1):
        raise ConfigError(
            f"svd_truncate: max_rank must be an integer of at least 1, got {max_rank!r}"
        )
    cutoff = number("svd_truncate", "cutoff", cutoff)
    a = matrix("svd_truncate", x)
    if 0 in a.shape[-2:]:
        raise ShapeError(f"svd_truncate: the rank is at least 1, but {a.meta} has no elements")
    s, u, vh = emit_all(Extension(Svd()), a)
    rank = _rank(s, cutoff, cutoff_mode, limit, multiplets)
    op = SvdTruncated(limit)
    left, block, right = emit_all(Extension(op), a, s, u, vh, rank)
    scale = _norm(a) / _norm(block) if renorm else None
    size = None if pad else _largest(rank)
    if absorb is None:
        values, left, right = op.leading(s, u, vh.mT, rank)
        values = values if scale is None else values * rows(scale)
        return _truncated(size, (left, -1), (values, -1), (right.mT, -2))
    regular = without_zeros(block, s, rank)
    one, other = _absorbed(left, block, H(right), regular, absorb, scale)
    return _truncated(size, (one, -1), (other, -2))


def _rank(
    s: AnyTensor, cutoff: float, mode: str, max_rank: int | None, multiplets: bool
) -> AnyTensor:
    """The number of singular values that are kept, of shape [...]."""
    largest = s.max(axis=-1, keepdims=True)
    nonzero = s > largest * (float(np.finfo(s.dtype).eps) * 16)
    if mode in ("rel", "abs"):
        more = s > (largest * cutoff if mode == "rel" else cutoff)
    else:
        squares = s * s
        total = squares.sum(axis=-1, keepdims=True)
        summed = reductions.cumsum(squares, axis=-1)
        discarded = total - summed + squares  # if this one is the first
        more = discarded > (total * cutoff if mode == "rsum2" else cutoff)
    count = (nonzero.astype(s.dtype) * more.astype(s.dtype)).sum(axis=-1, keepdims=True)
    count = elementwise.maximum(count, 1.0)
    limit = float("inf") if max_rank is None else float(max_rank)
    count = elementwise.minimum(count, limit)
    if multiplets:
        count = _between_multiplets(s, count, limit)
    return count.sum(axis=-1).astype("int64")


def _between_multiplets(s: AnyTensor, count: AnyTensor, limit: float) -> AnyTensor:
    """The next smaller number that does not cut a multiplet, else the next larger one.

    If there is neither, as where values are NaN, the number itself.
    """
    following = manipulation.pad(s[..., 1:], -1, pad_width=[*[(0, 0)] * (s.ndim - 1), (0, 1)])
    numbers = places(s, s.shape[-1], s.dtype) + 1.0
    # the last one is allowed too, before −1
    allowed = s - following > s.max(axis=-1, keepdims=True) * _EQUAL
    below = where(allowed, numbers, 0.0)
    below = where(numbers <= count, below, 0.0).max(axis=-1, keepdims=True)
    above = where(allowed, numbers, float("inf"))
    above = where(numbers >= count, above, float("inf"))
    above = above.min(axis=-1, keepdims=True)
    above = where(above < limit + 1, above, count)
    return where(below > 0, below, above)


def _largest(rank: AnyTensor) -> AnyTensor:
    """The largest rank in a batch; 1 if there are none."""
    if 0 in rank.shape:
        return emit(scalar(1, rank.dtype))
    return rank.max() if rank.ndim else rank


def _norm(x: AnyTensor) -> AnyTensor:
    """The Frobenius norm of each matrix."""
    squares = (x * x.conj()).real  # not abs, which has no second derivative at 0
    return analytic.sqrt(squares.sum(axis=(-2, -1)))


def _absorbed(
    u: AnyTensor,
    b: AnyTensor,
    vh: AnyTensor,
    regular: AnyTensor,
    absorb: str,
    scale: AnyTensor | None,
) -> tuple[AnyTensor, AnyTensor]:
    if absorb == "both":
        root = hermitian_function(regular, "sqrt")
        one, other = u @ root, root @ vh
        if scale is not None:
            half = analytic.sqrt(scale).astype(u.dtype)
            one, other = scaled(half, one), scaled(half, other)
        return one, other
    one, other = (u @ b, vh) if absorb == "left" else (u, b @ vh)
    if scale is None:
        return one, other
    factor = scale.astype(u.dtype)
    return (scaled(factor, one), other) if absorb == "left" else (one, scaled(factor, other))


def _truncated(size: Any | None, *arrays: tuple[Any, int]) -> tuple[AnyTensor, ...]:
    """The arrays with the first `size` elements along their axes, or whole."""
    if size is not None:
        arrays = tuple(
            (manipulation.dynamic_truncate(array, size, axis=array.ndim + axis), axis)
            for array, axis in arrays
        )
    return tuple(array for array, _ in arrays)
