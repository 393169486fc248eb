"""Sizes as values: ShapeOf; DynamicTruncate and PadToMatch, which are transposes of each other.

They run on the host, since the ops after them depend on the sizes that they read or make.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tenferro.core import Batched, BatchSite, Emitter, JvpSite, Slots, TransposeSite, V, each_active
from tenferro.errors import BatchingError, DTypeError, RuntimeSizeError, ShapeError
from tenferro.ir import (
    BOOL,
    INT64,
    Category,
    Dim,
    Exact,
    MaskSite,
    NumpyArray,
    Resolution,
    RuntimeScalar,
    ShapeExtent,
    TensorMeta,
    Unknown,
    UpperBound,
    at_most,
    dtype_kind,
    maximum,
    minimum,
    payload,
    same_size,
    symbol,
)
from tenferro.ops.base import Inactive, LinearInFirst, StdTensorOp, check_axes, types
from tenferro.ops.broadcast import full, scalar
from tenferro.ops.slicing import Pad, Slice

__all__ = ["DynamicTruncate", "PadToMatch", "ShapeOf", "size_of_scalar"]

SEMANTICS = "truncate"
"""How a scalar becomes a size: rounded half away from zero, negative numbers to 0."""


@payload
class ShapeOf(Inactive, name="shape_of"):
    """The size of one axis, as a rank-0 int64."""

    axis: int

    category = Category.HOST

    def reads_shape_only(self, operand: int) -> bool:
        return True

    def masked(self, at: MaskSite) -> None:
        """The size without padding, which is an input of the program."""
        leaf = at.padded(0).get(self.axis)
        if leaf is None:
            at.keep(at.operand(0))
        else:
            at.define(at.true_size(leaf))

    def infer(self, x: TensorMeta) -> TensorMeta:
        """A scalar that is known to be the size of the axis."""
        check_axes(self.name, (self.axis,), x.rank, x)
        return TensorMeta(INT64, (), x.extents[self.axis])

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The size of the axis, which is the same for all entries."""
        return ((at.emit(ShapeOf(self.axis + 1), *at.inputs), False),)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return np.asarray(x.shape[self.axis], np.int64)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The size as a constant, if it is a known number."""
        extent = at.ctx.meta(operands[0]).extents[self.axis]
        known = isinstance(extent, Exact) and isinstance(extent.dim, int)
        return at.emit(scalar(extent.size, INT64)) if known else None


@payload
class DynamicTruncate(StdTensorOp, name="dynamic_truncate"):
    """The first elements along `axis`; the second operand, a scalar, is their number.

    The scalar is rounded half away from zero and clamped between 0 and the extent of the axis.
    """

    axis: int

    category = Category.HOST
    n_inputs = 2
    moves = True
    size_operand = 1

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray] | None = None
    ) -> Resolution:
        """The slice to the size in `scalars`; without `scalars`, to the size that types imply."""
        like = self.infer(*metas) if scalars is None else metas[0]
        limits = list(like.exact_shape(self.name))
        if scalars is not None:
            limits[self.axis] = minimum(size_of_scalar(scalars[1]), limits[self.axis])
        return Resolution(Slice((0,) * len(limits), tuple(limits), (1,) * len(limits)), (0,))

    def infer(self, x: TensorMeta, size: TensorMeta) -> TensorMeta:
        """The operand's type with an extent of at most that of the operand along `axis`."""
        check_axes(self.name, (self.axis,), x.rank, x)
        if size.rank != 0:
            raise ShapeError(f"{self.name}: the size must be a scalar, got {size}")
        if dtype_kind(size.dtype) not in "iuf":
            raise DTypeError(f"{self.name}: the size must be an integer or real, got {size}")
        extents = list(x.extents)
        if size.as_size is not None:
            extents[self.axis] = smaller(size.as_size, x.extents[self.axis])
        else:
            extents[self.axis] = _decided(x.extents[self.axis])
        return x.with_extents(extents)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The first elements of each entry.

        Raises:
            BatchingError: the entries have sizes of their own.
        """
        if at.batched[1]:
            raise BatchingError(
                "vmap: dynamic_truncate: the size differs from entry to entry; truncate outside of "
                "vmap, or keep the size, by pad=True or with tn.where"
            )
        return ((at.emit(DynamicTruncate(self.axis + 1), *at.inputs), True),)

    def numpy(self, x: NumpyArray, size: NumpyArray) -> NumpyArray:
        count = min(size_of_scalar(size), x.shape[self.axis])
        return x[(slice(None),) * self.axis + (slice(count),)]

    def linear(self, at: JvpSite[V]) -> bool:
        """In the first operand; its derivative reads the size off the result."""
        return at.tangent[1] is None

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        tangent = at.tangent[0]
        if tangent is None:
            return (None,)
        return (at.emit(self, tangent, at.emit(ShapeOf(self.axis), at.out[0])),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        like = _axis_like(at, self.axis, self.name)
        return each_active(at, lambda ct: at.emit(PadToMatch(self.axis), ct, like))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The operand, if the size is certainly at least the extent of the axis."""
        x, size = operands
        known = at.ctx.meta(size).as_size
        extent = at.ctx.meta(x).extents[self.axis]
        return x if known is not None and _fits(extent, known) else None


@payload
class PadToMatch(LinearInFirst, name="pad_to_match"):
    """The first operand padded with zeros at the end of `axis` to the extent of the second.

    Only the shape of the second operand is read. A larger first operand is unchanged.
    """

    axis: int

    axis_fields = ("axis",)

    category = Category.HOST
    n_inputs = 2
    follows_shapes = True

    def reads_shape_only(self, operand: int) -> bool:
        return operand == 1

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray] | None = None
    ) -> Resolution:
        shape, target = (meta.exact_shape(self.name) for meta in metas)
        none = (0,) * len(shape)
        missing = maximum(target[self.axis] - shape[self.axis], 0)
        high = (*none[: self.axis], missing, *none[self.axis + 1 :])
        return Resolution(Pad(none, high, none), (0, scalar(0, metas[0].dtype)))

    def infer(self, x: TensorMeta, reference: TensorMeta) -> TensorMeta:
        """The operand's type with the larger of the two extents along `axis`."""
        check_axes(self.name, (self.axis,), x.rank, x)
        if reference.rank != x.rank:
            raise ShapeError(
                f"{self.name}: operands have types {types([x, reference])}; "
                "the reference must have as many axes"
            )
        extents = list(x.extents)
        extents[self.axis] = larger(x.extents[self.axis], reference.extents[self.axis])
        return x.with_extents(extents)

    def numpy(self, x: NumpyArray, reference: NumpyArray) -> NumpyArray:
        missing = max(reference.shape[self.axis] - x.shape[self.axis], 0)
        widths = [(0, missing if axis == self.axis else 0) for axis in range(x.ndim)]
        return np.pad(x, widths)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        size = at.emit(ShapeOf(self.axis), _axis_like(at, self.axis, self.name))
        return each_active(at, lambda ct: at.emit(DynamicTruncate(self.axis), ct, size))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The operand, if it is certainly at least as large as the reference."""
        x, reference = (at.ctx.meta(operand).extents[self.axis] for operand in operands)
        return operands[0] if _fits(reference, x) else None


def size_of_scalar(size: NumpyArray) -> int:
    """The size that a scalar means: rounded half away from zero, negative numbers to 0.

    Raises:
        RuntimeSizeError: the scalar is NaN or infinite.

    >>> [size_of_scalar(np.asarray(number)) for number in (2.5, 2.4, -7, 3)]
    [3, 2, 0, 3]
    """
    number: float = size.item()
    if not math.isfinite(number):
        raise RuntimeSizeError(
            f"dynamic_truncate: the size is {number}, which is not a size; pass a finite number"
        )
    whole = math.floor(number)
    return max(whole if number - whole < 0.5 else whole + 1, 0)


def smaller(a: ShapeExtent, b: ShapeExtent) -> ShapeExtent:
    """The extent of the smaller of two sizes."""
    if _fits(a, b):
        return a
    if _fits(b, a):
        return b
    size = _combined(minimum, a, b)
    if isinstance(a, Exact) and isinstance(b, Exact):
        return Exact(minimum(a.dim, b.dim))
    bounds = [extent.dim for extent in (a, b) if not isinstance(extent, Unknown)]
    if not bounds:
        return Unknown(size)
    return UpperBound(minimum(bounds[0], bounds[-1]), size)


def larger(a: ShapeExtent, b: ShapeExtent) -> ShapeExtent:
    """The extent of the larger of two sizes."""
    if _fits(a, b):
        return b
    if _fits(b, a):
        return a
    size = _combined(maximum, a, b)
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return Unknown(size)
    bound = maximum(a.dim, b.dim)
    both_exact = isinstance(a, Exact) and isinstance(b, Exact)
    return Exact(bound) if both_exact else UpperBound(bound, size)


def _fits(a: ShapeExtent, b: ShapeExtent) -> bool:
    """Whether the first size is certainly at most the second."""
    if same_size(a, b):
        return True
    if not isinstance(a, Unknown) and isinstance(b, Exact) and at_most(a.dim, b.dim):
        return True
    return a.size is not None and b.size is not None and at_most(a.size, b.size)


def _combined(pick: Callable[[Dim, Dim], Dim], a: ShapeExtent, b: ShapeExtent) -> Dim | None:
    return None if a.size is None or b.size is None else pick(a.size, b.size)


def _decided(extent: ShapeExtent) -> ShapeExtent:
    """The extent of an axis after truncation to a data-dependent size."""
    if extent == Exact(0):
        return extent
    size = None
    if extent.size is not None:
        size = symbol(RuntimeScalar(1, extent.size, SEMANTICS))
    return Unknown(size) if isinstance(extent, Unknown) else UpperBound(extent.dim, size)


def _axis_like(at: TransposeSite[V], axis: int, primitive: str) -> V:
    """A value with the size of one axis of operand 0, without reading the elements of that."""
    meta = at.ctx.meta(at.inputs[0])
    shape = [extent if i == axis else Exact(1) for i, extent in enumerate(meta.extents)]
    return full(at.emitter, False, TensorMeta(BOOL, shape), primitive)
