"""Slice, pad, concatenate, dynamic slices: each with its transpose."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    each_active,
    jointly_linear,
)
from tenferro.errors import (
    AxisError,
    DTypeError,
    GraphError,
    ShapeError,
    UnsupportedDynamicShapeError,
)
from tenferro.ir import (
    BOOL,
    INT64,
    AxisOrder,
    Dim,
    Exact,
    ExecOp,
    InputDim,
    Known,
    MaskSite,
    NumpyArray,
    Reach,
    Resolution,
    ShapeExtent,
    SymDim,
    TensorMeta,
    at_most,
    describe,
    floordiv,
    leaves,
    maximum,
    payload,
    same_size,
    substitute,
    sum_of,
    symbol,
)
from tenferro.ops.base import (
    LinearInFirst,
    Multilinear,
    StdTensorOp,
    check_axes,
    check_kind,
    check_same_shape,
    entry_meta,
    exact_meta,
    extent_of,
    inferred_once,
    keep_axes,
    meta_of,
    shifted,
    size_at,
    size_in,
    types,
)
from tenferro.ops.broadcast import (
    BroadcastInDim,
    ReduceSum,
    broadcast_like,
    full,
    repeated,
    scalar,
    uniform,
    zeros_like,
)
from tenferro.ops.dimension_numbers import DimensionNumbers, exceeds
from tenferro.ops.elementwise import SELECT, SUB
from tenferro.ops.gather_scatter import Scatter, gathering

__all__ = ["Concatenate", "DynamicSlice", "DynamicUpdateSlice", "Pad", "Slice"]


# Slice and Pad, which are transposes of each other.


@payload
class Slice(Multilinear, name="slice"):
    """Elements `starts[i] : limits[i] : strides[i]` along each axis.

    `dim(0, i)` is the size of axis i of the operand; the limit of an axis of data-dependent size
    must refer to it.
    """

    starts: tuple[Dim, ...]
    limits: tuple[Dim, ...]
    strides: tuple[int, ...]

    keeps_axes = True
    entry_fields = ("starts", "limits", "strides")
    moves = True
    derivative_needs_sizes = True

    @property
    def follows_shapes(self) -> bool:  # type: ignore[override]  # a fact of the payload here
        sizes = (*self.starts, *self.limits)
        return any(isinstance(leaf, InputDim) for size in sizes for leaf in leaves(size))

    def permuted(self, orders: Sequence[AxisOrder]) -> tuple[ExecOp, AxisOrder] | None:
        """None if starts or limits refer to axes."""
        return None if self.follows_shapes else super().permuted(orders)

    def leading(self, size: Dim) -> Slice:
        starts, limits = (tuple(map(shifted, sizes)) for sizes in (self.starts, self.limits))
        return Slice((0, *starts), (size, *limits), (1, *self.strides))

    def trailing(self, size: int) -> Slice:
        return Slice((*self.starts, 0), (*self.limits, size), (*self.strides, 1))

    def masked(self, at: MaskSite) -> None:
        """Allowed for a whole padded axis, or a constant number of elements from its front."""
        window = zip(self.starts, self.limits, self.strides, strict=True)
        for axis, (start, limit, stride) in enumerate(window):
            leaf = at.padded(0).get(axis)
            whole = leaf is not None and (start, limit, stride) == (0, symbol(leaf), 1)
            mentioned = leaves(start) | leaves(limit)
            of_operand = any(not isinstance(symbolic, SymDim) for symbolic in mentioned)
            if of_operand or (not whole and mentioned & at.rounded):
                raise at.refuse(f"it decides where axis {axis} of {at.operand_metas[0]} is cut")
        at.keep(at.operand(0), zeros=at.has_zeros(0))

    @inferred_once
    def infer(self, x: TensorMeta) -> TensorMeta:
        """The number of selected elements along each axis."""
        if not len(self.starts) == len(self.limits) == len(self.strides) == x.rank:
            raise AxisError(
                f"slice: starts, limits and strides must have one entry for each axis of {x}"
            )
        extents: list[ShapeExtent] = []
        for axis, extent in enumerate(x.extents):
            start, limit, stride = self.starts[axis], self.limits[axis], self.strides[axis]
            known = _known_count(start, limit, stride, extent)
            if known is not None:
                extents.append(Exact(known))
                continue
            inside: tuple[Dim, ...] = (0, start, limit, symbol(InputDim(0, axis)))
            inside = tuple([substitute(size, size_in(x)) for size in inside])
            if not isinstance(extent, Exact) and not _is_within(inside, extent, axis):
                raise UnsupportedDynamicShapeError(self.name, f"operand[{axis}]", describe(extent))
            gaps = [after - before for before, after in itertools.combinations(inside, 2)]
            if stride < 1 or any(isinstance(gap, int) and gap < 0 for gap in gaps):
                raise ShapeError(
                    f"slice: {start}:{limit}:{stride} does not lie within axis {axis} of {x}"
                )
            extents.append(extent_of(self.name, _count(inside[1], inside[2], stride), [x]))
        return exact_meta(x.dtype, extents)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        here = self._at([x.shape])
        return x[tuple(map(slice, here.starts, here.limits, here.strides))]

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray] | None = None
    ) -> Resolution:
        return Resolution(self._at([metas[0].exact_shape(self.name)]), (0,))

    def _at(self, shapes: Sequence[tuple[Dim, ...]]) -> Slice:
        if all(type(size) is int for size in (*self.starts, *self.limits)):
            return self
        starts, limits = (
            tuple([size_at(size, shapes) for size in sizes]) for sizes in (self.starts, self.limits)
        )
        return Slice(starts, limits, self.strides)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, padded with zeros where no element was selected."""
        meta = at.ctx.meta(at.inputs[0])
        high: list[Dim] = []
        for axis, extent in enumerate(meta.extents):
            start, limit, stride = self.starts[axis], self.limits[axis], self.strides[axis]
            size: Dim = symbol(InputDim(0, axis))
            if isinstance(extent, Exact):
                start, limit, size = (substitute(s, size_in(meta)) for s in (start, limit, size))
            high.append(size - start - _spread(_count(start, limit, stride), stride - 1))
            if leaves(high[-1]) & leaves(symbol(InputDim(0, axis))):
                raise UnsupportedDynamicShapeError(self.name, f"operand[{axis}]", describe(extent))
        low = tuple([substitute(start, size_in(meta)) for start in self.starts])
        pad = Pad(low, tuple(high), tuple(stride - 1 for stride in self.strides))
        return each_active(
            at, lambda ct: at.emit(pad, ct, full(at.emitter, 0, TensorMeta.of(meta.dtype, ())))
        )

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop a slice of the whole operand; a slice of a uniform value is uniform."""
        (x,) = operands
        meta = at.ctx.meta(x)
        limits = [substitute(limit, size_in(meta)) for limit in self.limits]
        whole = all(map(_is_all, limits, meta.extents, range(meta.rank)))
        if whole and all(s == 0 for s in self.starts) and all(s == 1 for s in self.strides):
            return x
        value = uniform(at, x)
        return None if value is None or meta.dims is None else full(at, value, self.infer(meta))


@payload
class Pad(StdTensorOp, name="pad"):
    """The first operand with copies of the second, a scalar, around and between its elements.

    Along axis i there are `low[i]` copies before, `high[i]` after and `interior[i]` between
    neighbours; a negative `low` or `high` cuts off elements.
    """

    low: tuple[Dim, ...]
    high: tuple[Dim, ...]
    interior: tuple[int, ...]

    n_inputs = 2
    keeps_axes = True
    entry_fields = ("low", "high", "interior")
    moves = True
    derivative_needs_sizes = True

    def masked(self, at: MaskSite) -> None:
        """Allowed if no padded axis is padded and no `low` depends on a padded size."""
        x = at.operand_metas[0]
        for axis, leaf in at.padded(0).items():
            if (self.low[axis], self.high[axis], self.interior[axis]) != (0, 0, 0):
                raise at.refuse(f"it pads axis {axis} of {x} itself", leaf)
        if any(leaves(low) & at.rounded for low in self.low):
            raise at.refuse(f"it decides the position of {x} in the result")
        at.keep(at.operand(0), at.operand(1))

    @inferred_once
    def infer(self, x: TensorMeta, value: TensorMeta) -> TensorMeta:
        if x.dtype != value.dtype:
            raise DTypeError(f"pad: operand and padding value have types {types([x, value])}")
        if value.rank != 0:
            raise ShapeError(f"pad: the padding value must be a scalar, got {value}")
        if not len(self.low) == len(self.high) == len(self.interior) == x.rank:
            raise AxisError(f"pad: low, high and interior must have one entry for each axis of {x}")
        if any(between < 0 for between in self.interior):
            raise ShapeError(f"pad: interior padding {self.interior} of {x} must not be negative")
        extents: list[ShapeExtent] = []
        for axis, extent in enumerate(x.extents):
            size = extent.dim if isinstance(extent, Exact) else symbol(InputDim(0, axis))
            total = _spread(size, self.interior[axis]) + self.low[axis] + self.high[axis]
            if isinstance(total, int) and total < 0:
                raise ShapeError(f"pad: padding leaves {total} elements along axis {axis} of {x}")
            if not isinstance(extent, Exact) and not at_most(size, total):
                raise UnsupportedDynamicShapeError(self.name, f"operand[{axis}]", describe(extent))
            extents.append(extent_of(self.name, total, [x]))
        return exact_meta(x.dtype, extents)

    def numpy(self, x: NumpyArray, value: NumpyArray) -> NumpyArray:
        """An array of the padding value, with the elements that remain written into it."""
        shape = self.infer(meta_of(x), meta_of(value)).static_shape
        assert shape is not None
        result = np.full(shape, value, dtype=x.dtype)
        source, target = [], []
        for axis, size in enumerate(x.shape):
            step, low = self.interior[axis] + 1, self.low[axis]
            first = max(0, -(low // step))  # the first element at a place of at least 0
            after = min(size, -((low - shape[axis]) // step))
            source.append(slice(first, max(first, after)))
            target.append(slice(low + first * step, low + max(first, after) * step, step))
        result[tuple(target)] = x[tuple(source)]
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return jointly_linear(at, self, lambda operand: zeros_like(at.emitter, operand))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent at the operand's elements; for the padding value, the sum of the rest."""
        ct = at.ct[0]
        if ct is None:
            return (None, None)
        extents = at.ctx.meta(at.inputs[0]).extents
        zero = full(at.emitter, 0, TensorMeta.of(at.ctx.meta(ct).dtype, ()))
        low, high = list(self.low), list(self.high)
        starts: list[Dim] = []
        limits: list[Dim] = []
        for axis, extent in enumerate(extents):
            if isinstance(extent, Exact):
                # Keep `interior` copies after the last element, for a slice of whole strides.
                high[axis] = high[axis] - self.interior[axis]
                starts.append(0)
                limits.append(extent.dim * (self.interior[axis] + 1))
            else:
                starts.append(low[axis])
                limits.append(symbol(InputDim(0, axis)) - high[axis])
                low[axis] = high[axis] = 0
        cut = Pad(tuple(-size for size in low), tuple(-size for size in high), (0,) * len(extents))
        strides = tuple(between + 1 for between in self.interior)
        picked = at.emit(Slice(tuple(starts), tuple(limits), strides), at.emit(cut, ct, zero))
        everything = tuple(range(len(extents)))

        def rest(ct: V) -> V:
            return at.emit(
                SUB, at.emit(ReduceSum(everything), ct), at.emit(ReduceSum(everything), picked)
            )

        return each_active(at, lambda ct: picked, rest)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The padding of each entry; where values differ, they are selected into the padding."""
        x, value = at.inputs
        pad = Pad((0, *self.low), (0, *self.high), (0, *self.interior))
        if not at.batched[1]:
            return ((at.emit(pad, x, value), True),)
        entry = entry_meta(at, 0)
        false, zero = (
            full(at.emitter, 0, TensorMeta.of(dtype, ())) for dtype in (BOOL, entry.dtype)
        )
        there = at.emit(self, full(at.emitter, True, entry.with_dtype(BOOL), self.name), false)
        padded = at.emit(pad, at.repeated(0), zero)
        filler = broadcast_like(at.emitter, value, at.ctx.meta(padded), (0,), self.name)
        inside = repeated(at.emitter, there, at.size)
        return ((at.emit(SELECT, inside, padded, filler), True),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        nothing = all(size == 0 for size in (*self.low, *self.high, *self.interior))
        return operands[0] if nothing else None


def _known_count(start: Dim, limit: Dim, stride: int, extent: ShapeExtent) -> int | None:
    """How many elements a window within an axis selects; None if symbols or errors are left."""
    if not isinstance(start, int) or not isinstance(limit, int) or not isinstance(extent, Exact):
        return None
    size = extent.dim
    if stride < 1 or not isinstance(size, int) or not 0 <= start <= limit <= size:
        return None
    return -((start - limit) // stride)


def _count(start: Dim, limit: Dim, stride: int) -> Dim:
    """The number of elements that `start:limit:stride` selects."""
    return floordiv(limit - start + stride - 1, stride)


def _spread(size: Dim, between: int) -> Dim:
    """The length of `size` elements with `between` further ones between neighbours."""
    return size + maximum(size - 1, 0) * between if between else size


def _is_within(inside: tuple[Dim, ...], extent: ShapeExtent, axis: int) -> bool:
    """Whether a window certainly lies within an axis of data-dependent size."""
    own: Dim = symbol(InputDim(0, axis))
    actual = own if extent.size is None else extent.size
    _, start, limit, size = (
        substitute(value, lambda leaf: actual if symbol(leaf) == own else symbol(leaf))
        for value in inside
    )
    return at_most(start, limit) and at_most(limit, size)


def _is_all(limit: Dim, extent: ShapeExtent, axis: int) -> bool:
    """Whether a limit is the size of the axis."""
    return limit == (extent.dim if isinstance(extent, Exact) else symbol(InputDim(0, axis)))


# Concatenate, whose transpose is a slice for each operand.


@payload
class Concatenate(StdTensorOp, name="concatenate"):
    """The operands one after another along `axis`."""

    axis: int

    axis_fields = ("axis",)
    keeps_axes = True
    n_inputs = None
    moves = True
    derivative_needs_sizes = True

    def trailing(self, size: int) -> Concatenate:
        return self

    def masked(self, at: MaskSite) -> None:
        """Refused along a padded axis: its padding would come between elements."""
        metas = at.operand_metas
        for position, meta in enumerate(metas):
            if self.axis in at.padded(position):
                reason = f"axis {self.axis} of {meta} would be followed by its padding"
                raise at.refuse(reason, at.padded(position)[self.axis])
        places = range(len(metas))
        at.keep(*[at.operand(i) for i in places], zeros=all(at.has_zeros(i) for i in places))

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The operands' type, with the sizes along `axis` added."""
        if not metas:
            raise GraphError("concatenate: takes at least one operand")
        first = metas[0]
        check_axes(self.name, (self.axis,), first.rank, first)
        joined = self._constant(metas)
        if joined is not None:
            return joined
        text = f"operands {types(metas)} must agree off axis {self.axis}"
        off = keep_axes(first, [axis for axis in range(first.rank) if axis != self.axis])
        for meta in metas:
            if meta.dtype != first.dtype:
                raise DTypeError(
                    f"concatenate: operands have types {types(metas)}; convert them to one dtype"
                )
            if meta.rank != first.rank:
                raise ShapeError(f"concatenate: {text}")
            if meta is not first:
                other_axes = [axis for axis in range(meta.rank) if axis != self.axis]
                check_same_shape(self.name, off, keep_axes(meta, other_axes), text)
        joint = sum_of(symbol(InputDim(position, self.axis)) for position in range(len(metas)))
        extents = list(first.extents)
        extents[self.axis] = extent_of(self.name, joint, metas)
        return exact_meta(first.dtype, extents)

    def _constant(self, metas: Sequence[TensorMeta]) -> TensorMeta | None:
        """The type for operands of fitting constant shapes; None if they are not.

        There may be thousands.
        """
        first, axis = metas[0], self.axis
        shape, total = first.static_shape, 0
        for meta in metas:
            other = meta.static_shape
            if shape is None or other is None or meta.dtype != first.dtype:
                return None
            if (*other[:axis], *other[axis + 1 :]) != (*shape[:axis], *shape[axis + 1 :]):
                return None
            total += other[axis]
        assert shape is not None
        return TensorMeta.of(first.dtype, (*shape[:axis], total, *shape[axis + 1 :]))

    def numpy(self, *arrays: NumpyArray) -> NumpyArray:
        return np.concatenate(arrays, axis=self.axis)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return jointly_linear(at, self, lambda operand: zeros_like(at.emitter, operand))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Each operand's piece of the cotangent."""
        ct = at.ct[0]
        assert ct is not None
        meta = at.ctx.meta(ct)
        size = size_in(meta)
        whole = [substitute(symbol(InputDim(0, axis)), size) for axis in range(meta.rank)]
        nothing: list[Dim] = [0] * meta.rank
        pieces: list[V | None] = []
        offset: Dim = 0
        for operand, active in zip(at.inputs, at.active, strict=True):
            extent = at.ctx.meta(operand).extents[self.axis]
            if not isinstance(extent, Exact):
                field = f"operand[{self.axis}]"
                raise UnsupportedDynamicShapeError(self.name, field, describe(extent))
            stop = offset + extent.dim
            if active:
                starts, limits = list(nothing), list(whole)
                starts[self.axis], limits[self.axis] = offset, stop
                window = Slice(tuple(starts), tuple(limits), (1,) * meta.rank)
            pieces.append(at.emit(window, ct) if active else None)
            offset = stop
        return tuple(pieces)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        return operands[0] if len(operands) == 1 else None


# DynamicSlice and DynamicUpdateSlice: a window whose start is a value.


@payload
class DynamicSlice(LinearInFirst, name="dynamic_slice"):
    """A window of the first operand; the other operands, one scalar for each axis, are its start.

    A window that would exceed the operand is moved back into it.
    """

    slice_sizes: tuple[Dim, ...]

    n_inputs = None
    moves = True

    def check_arity(self, count: int) -> None:
        if count != 1 + len(self.slice_sizes):
            raise GraphError(
                f"dynamic_slice: takes an operand and {len(self.slice_sizes)} starts, one for each "
                f"slice size, got {count} operands"
            )

    def infer(self, x: TensorMeta, *starts: TensorMeta) -> TensorMeta:
        _check_starts(self.name, x, starts)
        window = TensorMeta.of(x.dtype, self.slice_sizes)
        _check_fits(self.name, x, window)
        return window

    def numpy(self, x: NumpyArray, *starts: NumpyArray) -> NumpyArray:
        return x[_window(x.shape, self.slice_sizes, starts)]  # type: ignore[arg-type]  # sizes are bound

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Zeros with the cotangent in the window."""
        x, *starts = at.inputs
        return each_active(
            at, lambda ct: at.emit(DynamicUpdateSlice(), zeros_like(at.emitter, x), ct, *starts)
        )

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The window of all entries; if starts are batched, a gather."""
        x, of_x = at.inputs[0], at.batched[0]
        axes = _moving(at, TensorMeta.of(at.ctx.meta(x).dtype, self.slice_sizes))
        if not any(at.batched[1 + axis] for axis in axes):
            zero, *starts = _starts(at, 1, axes)
            if not of_x:
                return ((at.emit(self, x, *starts), False),)
            return ((at.emit(DynamicSlice((at.size, *self.slice_sizes)), x, zero, *starts), True),)
        indices = _side_by_side(at, 1, axes)
        sizes = (1, *self.slice_sizes) if of_x else self.slice_sizes
        numbers = _one_window(len(self.slice_sizes), axes).leading(of_x, True)
        return ((at.emit(gathering(numbers, sizes, unique=of_x), x, indices), True),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        return operands[0] if at.ctx.meta(operands[0]).dims == self.slice_sizes else None


@payload
class DynamicUpdateSlice(StdTensorOp, name="dynamic_update_slice"):
    """The first operand with a window of it replaced by the second operand.

    The other operands, one scalar for each axis, are the start of the window. A window that would
    exceed the operand is moved back into it.
    """

    n_inputs = None

    def check_arity(self, count: int) -> None:
        if count < 2:
            raise GraphError("dynamic_update_slice: takes an operand, a window and its starts")

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach | None:
        """The element that comes to the place."""
        return self.placed(operand, metas, known)

    def infer(self, x: TensorMeta, window: TensorMeta, *starts: TensorMeta) -> TensorMeta:
        if x.dtype != window.dtype:
            raise DTypeError(
                f"dynamic_update_slice: operand and window have types {types([x, window])}; "
                "convert them to one dtype"
            )
        _check_starts(self.name, x, starts)
        _check_fits(self.name, x, window)
        return x

    def numpy(self, x: NumpyArray, window: NumpyArray, *starts: NumpyArray) -> NumpyArray:
        result = np.array(x, order="C")
        result[_window(x.shape, window.shape, starts)] = window
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        dx, dw = (
            zeros_like(at.emitter, primal) if tangent is None else tangent
            for primal, tangent in zip(at.primal[:2], at.tangent[:2], strict=True)
        )
        return (at.emit(self, dx, dw, *at.primal[2:]),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent with zeros in the window, for the operand; its window, for the window."""
        _, window, *starts = at.inputs

        def inside(ct: V) -> V:
            sizes = at.ctx.meta(window).exact_shape(self.name, "window")
            return at.emit(DynamicSlice(sizes), ct, *starts)

        return each_active(
            at, lambda ct: at.emit(self, ct, zeros_like(at.emitter, window), *starts), inside
        )

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The window of all entries; if starts are batched, a scatter."""
        x, window = at.inputs[:2]
        axes = _moving(at, entry_meta(at, 1))
        unbatched = not any(at.batched[2 + axis] for axis in axes)
        zero, *starts = _starts(at, 2, axes)
        if unbatched and True not in at.batched[:2]:
            return ((at.emit(self, x, window, *starts), False),)
        whole = (at.repeated(0), at.repeated(1))
        if unbatched:
            return ((at.emit(self, *whole, zero, *starts), True),)
        indices = _side_by_side(at, 2, axes)
        numbers = _one_window(len(starts), axes).leading(True, True)
        scatter = Scatter(*numbers.axes, *numbers.batching, "set", unique=True, mode="clip")
        return ((at.emit(scatter, whole[0], indices, whole[1]), True),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The window if it is as large as the operand; the operand if the window is empty."""
        x, window = (at.ctx.meta(operand) for operand in operands[:2])
        if window.dims is not None and window.dims == x.dims:
            return operands[1]
        return operands[0] if any(extent == Exact(0) for extent in window.extents) else None


def _moving(at: BatchSite[V], window: TensorMeta) -> list[int]:
    """The axes along which a window is not as large as operand 0, so that its start matters."""
    extents = zip(entry_meta(at, 0).extents, window.extents, strict=True)
    return [axis for axis, pair in enumerate(extents) if not same_size(*pair)]


def _starts(at: BatchSite[V], first: int, axes: Sequence[int]) -> list[V]:
    """The starts, beginning with operand `first`, behind that of a new first axis.

    Those that do not matter are zero.
    """
    operands = at.inputs[first:]
    zero = at.emit(scalar(0, at.ctx.meta(operands[0]).dtype if operands else INT64))
    return [zero, *(start if axis in axes else zero for axis, start in enumerate(operands))]


def _one_window(rank: int, axes: Sequence[int]) -> DimensionNumbers:
    """Of one window of an operand of that rank, whose start along `axes` is a vector."""
    return DimensionNumbers(tuple(range(rank)), (), tuple(axes), 0)


def _side_by_side(at: BatchSite[V], first: int, axes: Sequence[int]) -> V:
    """The batched starts along `axes`, the first of which is operand `first`, as columns."""
    columns = [
        at.emit(BroadcastInDim((at.size, 1), (0,)), at.repeated(first + axis)) for axis in axes
    ]
    return at.emit(Concatenate(1), *columns)


def _check_starts(name: str, x: TensorMeta, starts: Sequence[TensorMeta]) -> None:
    if len(starts) != x.rank:
        raise AxisError(f"{name}: got {len(starts)} starts for {x}; pass one for each axis")
    for start in starts:
        check_kind(name, start, "iu")
        if start.rank != 0 or start.dtype != starts[0].dtype:
            raise ShapeError(
                f"{name}: starts must be scalars of one dtype, got {types(list(starts))}"
            )


def _check_fits(name: str, x: TensorMeta, window: TensorMeta) -> None:
    if window.rank != x.rank:
        raise AxisError(f"{name}: a window {window} must have as many axes as {x}")
    for axis, (size, limit) in enumerate(zip(window.extents, x.extents, strict=True)):
        if exceeds(size, limit):
            raise ShapeError(f"{name}: a window {window} does not fit axis {axis} of {x}")


def _window(
    shape: Sequence[int], sizes: Sequence[int], starts: Sequence[NumpyArray]
) -> tuple[Any, ...]:
    clipped = (
        min(max(int(start), 0), limit - size)
        for start, size, limit in zip(starts, sizes, shape, strict=True)
    )
    return tuple(slice(start, start + size) for start, size in zip(clipped, sizes, strict=True))
