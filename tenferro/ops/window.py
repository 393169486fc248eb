"""Slice and Pad, each the other's transpose, and Concatenate."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import (
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    each_active,
    jointly_linear,
    multilinear,
)
from tenferro.errors import AxisError, DTypeError, GraphError, ShapeError
from tenferro.exec_ir import Array, payload
from tenferro.ops.arithmetic import SUB
from tenferro.ops.base import StdTensorOp, check_axes, types
from tenferro.ops.broadcast_reduce import ReduceSum, full, uniform, zeros_like
from tenferro.shape import Dim, Exact, TensorMeta, floordiv, maximum


@payload
class Slice(StdTensorOp, name="slice"):
    """Elements `starts[i] : limits[i] : strides[i]` along each axis."""

    starts: tuple[Dim, ...]
    limits: tuple[Dim, ...]
    strides: tuple[int, ...]

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The number of elements picked along each axis."""
        if not len(self.starts) == len(self.limits) == len(self.strides) == x.rank:
            raise AxisError(
                f"slice: starts, limits and strides must have one entry for each axis of {x}"
            )
        sizes: list[Dim] = []
        for axis, size in enumerate(x.exact_shape(self.name, "operand")):
            start, limit, stride = self.starts[axis], self.limits[axis], self.strides[axis]
            pairs = itertools.combinations((0, start, limit, size), 2)
            gaps = [after - before for before, after in pairs]
            if stride < 1 or any(isinstance(gap, int) and gap < 0 for gap in gaps):
                raise ShapeError(
                    f"slice: {start}:{limit}:{stride} does not lie within axis {axis} of {x}"
                )
            sizes.append(_count(start, limit, stride))
        return TensorMeta.of(x.dtype, sizes)

    def numpy(self, x: Array) -> Array:
        """Basic indexing."""
        return x[
            tuple(
                slice(*window)
                for window in zip(self.starts, self.limits, self.strides, strict=True)
            )
        ]

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Pad the cotangent with zeros where nothing was picked."""
        meta = at.ctx.meta(at.inputs[0])
        sizes = meta.exact_shape(self.name, "operand")
        high: list[Dim] = []
        for start, limit, stride, size in zip(
            self.starts, self.limits, self.strides, sizes, strict=True
        ):
            high.append(size - start - _spread(_count(start, limit, stride), stride - 1))
        pad = Pad(self.starts, tuple(high), tuple(stride - 1 for stride in self.strides))
        return each_active(
            at, lambda ct: at.emit(pad, ct, full(at.emitter, 0, TensorMeta.of(meta.dtype, ())))
        )

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop a slice of everything; a slice of a constant is a constant."""
        (x,) = operands
        meta = at.ctx.meta(x)
        if meta.dims == self.limits and not any(self.starts) and all(s == 1 for s in self.strides):
            return x
        value = uniform(at, x)
        return None if value is None else full(at, value, self.infer(meta))


@payload
class Pad(StdTensorOp, name="pad"):
    """The first operand with copies of the scalar second one around and between its elements.

    Along axis i, `low[i]` before, `high[i]` after and `interior[i]` between neighbours; a negative
    `low` or `high` cuts off that many.
    """

    low: tuple[Dim, ...]
    high: tuple[Dim, ...]
    interior: tuple[int, ...]

    n_inputs = 2

    def infer(self, x: TensorMeta, value: TensorMeta) -> TensorMeta:
        """The padded extents."""
        if x.dtype != value.dtype:
            raise DTypeError(f"pad: operand and padding value have types {types([x, value])}")
        if value.rank != 0:
            raise ShapeError(f"pad: the padding value must be a scalar, got {value}")
        if not len(self.low) == len(self.high) == len(self.interior) == x.rank:
            raise AxisError(f"pad: low, high and interior must have one entry for each axis of {x}")
        if any(between < 0 for between in self.interior):
            raise ShapeError(f"pad: interior padding {self.interior} of {x} must not be negative")
        sizes: list[Dim] = []
        for axis, size in enumerate(x.exact_shape(self.name, "operand")):
            total = _spread(size, self.interior[axis]) + self.low[axis] + self.high[axis]
            if isinstance(total, int) and total < 0:
                raise ShapeError(f"pad: padding leaves {total} elements along axis {axis} of {x}")
            sizes.append(total)
        return TensorMeta.of(x.dtype, sizes)

    def numpy(self, x: Array, value: Array) -> Array:
        """Fill with the padding value, then put the elements that stay in their places."""
        shape = self.infer(meta_of(x), meta_of(value)).static_shape
        assert shape is not None
        result = np.full(shape, value, dtype=x.dtype)
        source, target = [], []
        for axis, size in enumerate(x.shape):
            step = self.interior[axis] + 1
            places = np.arange(size) * step + self.low[axis]
            inside = np.flatnonzero((places >= 0) & (places < shape[axis]))
            source.append(inside)
            target.append(places[inside])
        result[np.ix_(*target)] = x[np.ix_(*source)]
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in operand and padding value together."""
        return jointly_linear(at, self, lambda operand: zeros_like(at.emitter, operand))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Pick out the operand's places; the padding value gets the sum of the rest."""
        ct = at.ct[0]
        if ct is None:
            return (None, None)
        sizes = at.ctx.meta(at.inputs[0]).exact_shape(self.name, "operand")
        zero = full(at.emitter, 0, TensorMeta.of(at.ctx.meta(ct).dtype, ()))
        none = (0,) * len(sizes)
        # With as much after the last element as between two, so that the slice is of whole strides.
        high = tuple(between - high for between, high in zip(self.interior, self.high, strict=True))
        strides = tuple(between + 1 for between in self.interior)
        spans = tuple(size * stride for size, stride in zip(sizes, strides, strict=True))
        cut = Pad(tuple(-low for low in self.low), high, none)
        picked = at.emit(Slice(none, spans, strides), at.emit(cut, ct, zero))
        everything = tuple(range(len(sizes)))

        def rest(ct: V) -> V:
            return at.emit(
                SUB, at.emit(ReduceSum(everything), ct), at.emit(ReduceSum(everything), picked)
            )

        return each_active(at, lambda ct: picked, rest)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop padding by nothing."""
        return operands[0] if not (any(self.low) or any(self.high) or any(self.interior)) else None


@payload
class Concatenate(StdTensorOp, name="concatenate"):
    """The operands one after another along `axis`."""

    axis: int

    n_inputs = None

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The operands' type, with the sizes along `axis` added."""
        if not metas:
            raise GraphError("concatenate: takes at least one operand")
        first = metas[0]
        check_axes(self.name, (self.axis,), first.rank, first)
        total: Dim = 0
        for meta in metas:
            if meta.dtype != first.dtype:
                raise DTypeError(
                    f"concatenate: operands have types {types(metas)}; convert them to one dtype"
                )
            sizes = meta.exact_shape(self.name, "operand")
            if _without(sizes, self.axis) != _without(first.exact_shape(), self.axis):
                raise ShapeError(
                    f"concatenate: operands {types(metas)} must agree off axis {self.axis}"
                )
            total = total + sizes[self.axis]
        extents = list(first.extents)
        extents[self.axis] = Exact(total)
        return TensorMeta(first.dtype, extents)

    def numpy(self, *arrays: Array) -> Array:
        """`numpy.concatenate`."""
        return np.concatenate(arrays, axis=self.axis)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in all operands together."""
        return jointly_linear(at, self, lambda operand: zeros_like(at.emitter, operand))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Each operand's piece of the cotangent."""
        ct = at.ct[0]
        assert ct is not None
        whole = at.ctx.meta(ct).exact_shape(self.name, "cotangent")
        pieces: list[V | None] = []
        offset: Dim = 0
        for operand, active in zip(at.inputs, at.active, strict=True):
            end = offset + at.ctx.meta(operand).exact_shape(self.name, "operand")[self.axis]
            starts, limits = [0] * len(whole), list(whole)
            window = Slice(
                tuple(_replaced(starts, self.axis, offset)),
                tuple(_replaced(limits, self.axis, end)),
                (1,) * len(whole),
            )
            pieces.append(at.emit(window, ct) if active else None)
            offset = end
        return tuple(pieces)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """One operand alone is the result."""
        return operands[0] if len(operands) == 1 else None


def meta_of(array: Array) -> TensorMeta:
    """The type of a NumPy array."""
    return TensorMeta.of(array.dtype, array.shape)


def _count(start: Dim, limit: Dim, stride: int) -> Dim:
    """How many elements `start:limit:stride` picks."""
    return floordiv(limit - start + stride - 1, stride)


def _spread(size: Dim, between: int) -> Dim:
    """The length of `size` elements with `between` more between each two."""
    return size + maximum(size - 1, 0) * between if between else size


def _without(sizes: Sequence[Dim], axis: int) -> list[Dim]:
    return [size for i, size in enumerate(sizes) if i != axis]


def _replaced(sizes: Sequence[Dim], axis: int, value: Dim) -> list[Dim]:
    return [value if i == axis else size for i, size in enumerate(sizes)]
