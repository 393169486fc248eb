"""Slice and Pad, which are transposes of each other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from tenferro.chainrules import (
    Batched,
    BatchSite,
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    each_active,
    jointly_linear,
    multilinear,
)
from tenferro.errors import (
    AxisError,
    DTypeError,
    ShapeError,
    UnsupportedDynamicShapeError,
)
from tenferro.exec_ir import Array, AxisMap, ExecOp, MaskSite, Order, Resolution, payload
from tenferro.ops.arithmetic import SUB
from tenferro.ops.base import (
    StdTensorOp,
    entry_meta,
    exact_meta,
    inferred_once,
    meta_of,
    types,
)
from tenferro.ops.broadcast_reduce import (
    ReduceSum,
    broadcast_like,
    full,
    repeated,
    uniform,
    zeros_like,
)
from tenferro.ops.compare import SELECT
from tenferro.ops.shape_sources import extent_of, shifted, size_at, size_in
from tenferro.shape import (
    BOOL,
    Dim,
    Exact,
    InputDim,
    ShapeExtent,
    SymDim,
    TensorMeta,
    at_most,
    describe,
    floordiv,
    leaves,
    maximum,
    substitute,
    symbol,
)


@payload
class Slice(StdTensorOp, name="slice"):
    """Elements `starts[i] : limits[i] : strides[i]` along each axis.

    `dim(0, i)` is the size of axis i of the operand; the limit of an axis of data-dependent size
    must refer to it.
    """

    starts: tuple[Dim, ...]
    limits: tuple[Dim, ...]
    strides: tuple[int, ...]

    moves = True
    derivative_needs_sizes = True

    @property
    def follows_shapes(self) -> bool:  # type: ignore[override]  # a fact of the payload here
        """Whether a start or limit refers to a size of the operand."""
        sizes = (*self.starts, *self.limits)
        return any(isinstance(leaf, InputDim) for size in sizes for leaf in leaves(size))

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        """Each axis stays."""
        return (tuple(range(ranks[0])),)

    def permuted(self, orders: Sequence[Order]) -> tuple[ExecOp, Order] | None:
        """The slice with its axes in the order; None if starts or limits refer to axes."""
        (order,) = orders
        if self.follows_shapes:
            return None
        return Slice(
            tuple([self.starts[axis] for axis in order]),
            tuple([self.limits[axis] for axis in order]),
            tuple([self.strides[axis] for axis in order]),
        ), order

    def leading(self, size: Dim) -> Slice:
        """The whole new axis."""
        starts, limits = (tuple(map(shifted, sizes)) for sizes in (self.starts, self.limits))
        return Slice((0, *starts), (size, *limits), (1, *self.strides))

    def trailing(self, size: int) -> Slice:
        """The whole new axis."""
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

    def numpy(self, x: Array) -> Array:
        """Basic indexing."""
        here = self._at([x.shape])
        return x[
            tuple(
                slice(*window)
                for window in zip(here.starts, here.limits, here.strides, strict=True)
            )
        ]

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, Array] | None = None
    ) -> Resolution:
        """The slice of an operand of that shape."""
        return Resolution(self._at([metas[0].exact_shape(self.name)]), (0,))

    def _at(self, shapes: Sequence[tuple[Dim, ...]]) -> Slice:
        if all(type(size) is int for size in (*self.starts, *self.limits)):
            return self
        starts, limits = (
            tuple([size_at(size, shapes) for size in sizes]) for sizes in (self.starts, self.limits)
        )
        return Slice(starts, limits, self.strides)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

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
    moves = True
    derivative_needs_sizes = True

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        """Each axis stays."""
        return tuple(range(ranks[0])), ()

    def permuted(self, orders: Sequence[Order]) -> tuple[ExecOp, Order]:
        """The padding with its axes in the order."""
        order = orders[0]
        return Pad(
            tuple([self.low[axis] for axis in order]),
            tuple([self.high[axis] for axis in order]),
            tuple([self.interior[axis] for axis in order]),
        ), order

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
        """The padded extents."""
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

    def numpy(self, x: Array, value: Array) -> Array:
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
        """Linear in operand and padding value together."""
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
        """Drop a padding of 0 everywhere."""
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
