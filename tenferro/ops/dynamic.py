"""Sizes as values: ShapeOf; and DynamicTruncate and PadToMatch, each the other's transpose.

They run on the host, since what follows depends on the sizes that they read or make.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V, each_active
from tenferro.errors import DTypeError, RuntimeSizeError, ShapeError
from tenferro.exec_ir import Array, Category, MaskSite, Resolution, payload
from tenferro.ops.base import Inactive, StdTensorOp, check_axes, types
from tenferro.ops.broadcast_reduce import full
from tenferro.ops.constant import scalar
from tenferro.ops.window import Pad, Slice
from tenferro.shape import (
    BOOL,
    INT64,
    Dim,
    Exact,
    RuntimeScalar,
    ShapeExtent,
    TensorMeta,
    Unknown,
    UpperBound,
    at_most,
    maximum,
    minimum,
    same_size,
    symbol,
)

SEMANTICS = "truncate"
"""How a scalar becomes a size: rounded half away from zero, and 0 where it is less."""


@payload
class ShapeOf(Inactive, name="shape_of"):
    """The size of one axis, as a rank-0 int64."""

    axis: int

    category = Category.HOST

    def reads_shape_only(self, operand: int) -> bool:
        """It does."""
        return True

    def masked(self, at: MaskSite) -> None:
        """The true size, which is an input."""
        leaf = at.padded(0).get(self.axis)
        if leaf is None:
            at.keep(at.operand(0))
        else:
            at.define(at.true_size(leaf))

    def infer(self, x: TensorMeta) -> TensorMeta:
        """A scalar, known to be that size."""
        check_axes(self.name, (self.axis,), x.rank, x)
        return TensorMeta(INT64, (), x.extents[self.axis])

    def numpy(self, x: Array) -> Array:
        """An entry of `numpy.shape`."""
        return np.asarray(x.shape[self.axis], np.int64)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The number itself, where it is known."""
        extent = at.ctx.meta(operands[0]).extents[self.axis]
        known = isinstance(extent, Exact) and isinstance(extent.dim, int)
        return at.emit(scalar(extent.size, INT64)) if known else None


@payload
class DynamicTruncate(StdTensorOp, name="dynamic_truncate"):
    """The first elements along `axis`, as many as the scalar second operand says.

    The scalar is rounded, half away from zero, and held between 0 and the extent of the axis.
    """

    axis: int

    category = Category.HOST
    n_inputs = 2
    moves = True
    size_operand = 1

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, Array] | None = None
    ) -> Resolution:
        """A slice: to the number of the size, or, without it, to the size that the types tell."""
        limits = list(self.infer(*metas).exact_shape(self.name)) if scalars is None else []
        if scalars is not None:
            limits = list(metas[0].exact_shape(self.name))
            limits[self.axis] = minimum(size_of_scalar(scalars[1]), limits[self.axis])
        return Resolution(Slice((0,) * len(limits), tuple(limits), (1,) * len(limits)), (0,))

    def infer(self, x: TensorMeta, size: TensorMeta) -> TensorMeta:
        """The operand's type with at most its extent along `axis`."""
        check_axes(self.name, (self.axis,), x.rank, x)
        if size.rank != 0:
            raise ShapeError(f"{self.name}: the size must be a scalar, got {size}")
        if size.dtype.kind not in "iuf":
            raise DTypeError(f"{self.name}: the size must be an integer or real, got {size}")
        extents = list(x.extents)
        if size.as_size is not None:
            extents[self.axis] = smaller(size.as_size, x.extents[self.axis])
        else:
            extents[self.axis] = _decided(x.extents[self.axis])
        return x.with_extents(extents)

    def numpy(self, x: Array, size: Array) -> Array:
        """Basic indexing."""
        count = min(size_of_scalar(size), x.shape[self.axis])
        return x[(slice(None),) * self.axis + (slice(count),)]

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent, truncated to the size that the result has."""
        tangent = at.tangent[0]
        if tangent is None:
            return (None,)
        return (at.emit(self, tangent, at.emit(ShapeOf(self.axis), at.out[0])),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, padded to what it was truncated from."""

        def pull(ct: V) -> V:
            like = _axis_like(at, at.inputs[0], self.axis, self.name)
            return at.emit(PadToMatch(self.axis), ct, like)

        return each_active(at, pull, lambda ct: None)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """All of it, where the size is that of the operand."""
        x, size = operands
        known = at.ctx.meta(size).as_size
        extent = at.ctx.meta(x).extents[self.axis]
        return x if known is not None and _fits(extent, known) else None


@payload
class PadToMatch(StdTensorOp, name="pad_to_match"):
    """The first operand with zeros after it along `axis`, up to the extent of the second.

    The second operand is read for its shape alone. What has more elements is left alone.
    """

    axis: int

    category = Category.HOST
    n_inputs = 2
    follows_shapes = True

    def reads_shape_only(self, operand: int) -> bool:
        """The second operand is."""
        return operand == 1

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, Array] | None = None
    ) -> Resolution:
        """A padding of the first operand with zeros."""
        shape, wanted = (meta.exact_shape(self.name) for meta in metas)
        none = (0,) * len(shape)
        missing = maximum(wanted[self.axis] - shape[self.axis], 0)
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

    def numpy(self, x: Array, reference: Array) -> Array:
        """`numpy.pad`, at the end of the axis."""
        missing = max(reference.shape[self.axis] - x.shape[self.axis], 0)
        widths = [(0, missing if axis == self.axis else 0) for axis in range(x.ndim)]
        return np.pad(x, widths)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent, padded in the same way."""
        tangent = at.tangent[0]
        return (None if tangent is None else at.emit(self, tangent, at.primal[1]),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, truncated to what was padded."""

        def pull(ct: V) -> V:
            like = _axis_like(at, at.inputs[0], self.axis, self.name)
            return at.emit(DynamicTruncate(self.axis), ct, at.emit(ShapeOf(self.axis), like))

        return each_active(at, pull, lambda ct: None)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The operand, where it has the extent of the reference or more."""
        x, reference = (at.ctx.meta(operand).extents[self.axis] for operand in operands)
        return operands[0] if _fits(reference, x) else None


def size_of_scalar(size: Array) -> int:
    """The size that a scalar means: rounded half away from zero, and 0 where it is less.

    Raises:
        RuntimeSizeError: the scalar is NaN or infinite.

    >>> [size_of_scalar(np.asarray(number)) for number in (2.5, 2.4, -7, 3)]
    [3, 2, 0, 3]
    """
    number: float = size.item()
    if not math.isfinite(number):
        raise RuntimeSizeError(
            f"dynamic_truncate: the size is {number}, which is not a size; give a finite number"
        )
    whole = math.floor(number)
    return max(whole + (number - whole >= 0.5), 0)


def smaller(one: ShapeExtent, other: ShapeExtent) -> ShapeExtent:
    """The extent of the smaller of two sizes."""
    if _fits(one, other):
        return one
    if _fits(other, one):
        return other
    size = _combined(minimum, one, other)
    if isinstance(one, Exact) and isinstance(other, Exact):
        return Exact(minimum(one.dim, other.dim))
    bounds = [extent.dim for extent in (one, other) if not isinstance(extent, Unknown)]
    if not bounds:
        return Unknown(size)
    return UpperBound(minimum(bounds[0], bounds[-1]), size)


def larger(one: ShapeExtent, other: ShapeExtent) -> ShapeExtent:
    """The extent of the larger of two sizes."""
    if _fits(one, other):
        return other
    if _fits(other, one):
        return one
    size = _combined(maximum, one, other)
    if isinstance(one, Unknown) or isinstance(other, Unknown):
        return Unknown(size)
    bound = maximum(one.dim, other.dim)
    both = isinstance(one, Exact) and isinstance(other, Exact)
    return Exact(bound) if both else UpperBound(bound, size)


def _fits(one: ShapeExtent, other: ShapeExtent) -> bool:
    """Whether the first size is certainly no larger than the second."""
    if same_size(one, other):
        return True
    if not isinstance(one, Unknown) and isinstance(other, Exact) and at_most(one.dim, other.dim):
        return True
    return one.size is not None and other.size is not None and at_most(one.size, other.size)


def _combined(pick: Callable[[Dim, Dim], Dim], one: ShapeExtent, other: ShapeExtent) -> Dim | None:
    return None if one.size is None or other.size is None else pick(one.size, other.size)


def _decided(extent: ShapeExtent) -> ShapeExtent:
    """The extent of an axis of which data decide how much is left; of nothing, nothing is."""
    if extent == Exact(0):
        return extent
    size = None
    if extent.size is not None:
        size = symbol(RuntimeScalar(1, extent.size, SEMANTICS))
    return Unknown(size) if isinstance(extent, Unknown) else UpperBound(extent.dim, size)


def _axis_like(at: TransposeSite[V], value: V, axis: int, primitive: str) -> V:
    """A small value that has the size of one axis of `value`, whose elements are not at hand."""
    meta = at.ctx.meta(value)
    shape = [extent if i == axis else Exact(1) for i, extent in enumerate(meta.extents)]
    return full(at.emitter, False, TensorMeta(BOOL, shape), primitive)
