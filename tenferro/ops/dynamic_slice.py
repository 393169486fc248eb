"""DynamicSlice and DynamicUpdateSlice: a window whose start is a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
)
from tenferro.errors import AxisError, DTypeError, GraphError, ShapeError
from tenferro.exec_ir import Array, Known, Reach, payload
from tenferro.ops.base import StdTensorOp, check_kind, entry_meta, types
from tenferro.ops.broadcast_reduce import BroadcastInDim, zeros_like
from tenferro.ops.constant import scalar
from tenferro.ops.dimension_numbers import DimensionNumbers, exceeds
from tenferro.ops.indexing import Scatter, gathering
from tenferro.ops.joining import Concatenate
from tenferro.shape import INT64, Dim, Exact, TensorMeta, same_size


@payload
class DynamicSlice(StdTensorOp, name="dynamic_slice"):
    """A window of the first operand; the other operands, one scalar for each axis, are its start.

    A window that would exceed the operand is moved back into it.
    """

    slice_sizes: tuple[Dim, ...]

    n_inputs = None
    moves = True

    def check_arity(self, count: int) -> None:
        """One operand, and one start for each slice size."""
        if count != 1 + len(self.slice_sizes):
            raise GraphError(
                f"dynamic_slice: takes an operand and {len(self.slice_sizes)} starts, one for each "
                f"slice size, got {count} operands"
            )

    def infer(self, x: TensorMeta, *starts: TensorMeta) -> TensorMeta:
        """The slice sizes."""
        _check_starts(self.name, x, starts)
        window = TensorMeta.of(x.dtype, self.slice_sizes)
        _check_fits(self.name, x, window)
        return window

    def numpy(self, x: Array, *starts: Array) -> Array:
        """Basic indexing."""
        return x[_window(x.shape, self.slice_sizes, starts)]  # type: ignore[arg-type]  # sizes are bound

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in the operand."""
        tangent = at.tangent[0]
        return (None if tangent is None else at.emit(self, tangent, *at.primal[1:]),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Zeros with the cotangent in the window."""
        x, *starts = at.inputs
        rest: list[Callable[[V], V | None]] = [lambda ct: None] * len(starts)
        return each_active(
            at,
            lambda ct: at.emit(DynamicUpdateSlice(), zeros_like(at.emitter, x), ct, *starts),
            *rest,
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
        """The operand, if the window is the whole operand."""
        return operands[0] if at.ctx.meta(operands[0]).dims == self.slice_sizes else None


@payload
class DynamicUpdateSlice(StdTensorOp, name="dynamic_update_slice"):
    """The first operand with a window of it replaced by the second operand.

    The other operands, one scalar for each axis, are the start of the window. A window that would
    exceed the operand is moved back into it.
    """

    n_inputs = None

    def check_arity(self, count: int) -> None:
        """At least an operand and a window."""
        if count < 2:
            raise GraphError("dynamic_update_slice: takes an operand, a window and its starts")

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach | None:
        """The element that comes to the place."""
        return self.placed(operand, metas, known)

    def infer(self, x: TensorMeta, window: TensorMeta, *starts: TensorMeta) -> TensorMeta:
        """The operand's type."""
        if x.dtype != window.dtype:
            raise DTypeError(
                f"dynamic_update_slice: operand and window have types {types([x, window])}; "
                "convert them to one dtype"
            )
        _check_starts(self.name, x, starts)
        _check_fits(self.name, x, window)
        return x

    def numpy(self, x: Array, window: Array, *starts: Array) -> Array:
        """Assignment to a slice."""
        result = np.array(x, order="C")
        result[_window(x.shape, window.shape, starts)] = window
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in operand and window together."""
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

        rest: list[Callable[[V], V | None]] = [lambda ct: None] * len(starts)
        return each_active(
            at,
            lambda ct: at.emit(self, ct, zeros_like(at.emitter, window), *starts),
            inside,
            *rest,
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
    given = at.inputs[first:]
    zero = at.emit(scalar(0, at.ctx.meta(given[0]).dtype if given else INT64))
    return [zero, *(start if axis in axes else zero for axis, start in enumerate(given))]


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


def _window(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Array]) -> tuple[Any, ...]:
    starts_inside = [
        min(max(int(start), 0), limit - size)
        for start, size, limit in zip(starts, sizes, shape, strict=True)
    ]
    return tuple(
        slice(start, start + size) for start, size in zip(starts_inside, sizes, strict=True)
    )
