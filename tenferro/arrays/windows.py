"""Windows of an array: the elements that integers, slices, `...` and None select in `x[...]`."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from enum import Enum
from types import EllipsisType
from typing import Any

from tenferro.arrays.broadcasting import drop_axes, insert_axes
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError, TenferroError
from tenferro.ops import Reverse, Slice
from tenferro.shape import (
    Dim,
    DimExpr,
    Exact,
    InputDim,
    TensorMeta,
    assume_equal,
    at_most,
    floordiv,
    integer_of,
    maximum,
    minimum,
    product,
    sum_of,
    symbol,
)


class Mark(Enum):
    """What an item of a parsed index expression may be that NumPy has no index for."""

    NEW_AXIS = "a new axis of size 1, and the position of an array of indices for it"
    NO_AXES = "an ellipsis between arrays of indices that stands for no axes: it separates them"


Item = int | DimExpr | slice | EllipsisType | Mark | None
Items = tuple[Item, ...]
"""A parsed index expression; `...` and `Mark.NEW_AXIS` mark an array of indices."""


@dataclass(frozen=True)
class Window:
    """A rectangular part of an array, and how it becomes the result of indexing.

    Attributes:
        starts, limits, strides: of the part, as in `Slice`.
        reversed_axes: axes that are reversed in the result.
        result_axes: for each axis of the result, its axis of the part, or None for a new axis.
    """

    starts: tuple[Dim, ...]
    limits: tuple[Dim, ...]
    strides: tuple[int, ...]
    reversed_axes: tuple[int, ...]
    result_axes: tuple[int | None, ...]


def window_of(items: Items, meta: TensorMeta) -> Window:
    """The window that the items select; an axis indexed by an array is taken whole.

    Raises:
        AxisError: an integer is out of range.
    """
    sizes = [
        extent.dim if isinstance(extent, Exact) else symbol(InputDim(0, axis))
        for axis, extent in enumerate(meta.extents)
    ]
    parts: list[tuple[Dim, Dim, int]] = []
    backwards: list[int] = []
    result_axes: list[int | None] = []
    for item in items:
        if item is Mark.NO_AXES:
            continue
        if item is None or item is Mark.NEW_AXIS:
            result_axes.append(None)
            continue
        axis = len(parts)
        whole = slice(None) if item is Ellipsis else item
        part, flipped = _part(whole, sizes[axis], axis, meta)
        parts.append(part)
        backwards += [axis] if flipped else []
        result_axes += [axis] if isinstance(whole, slice) else []
    starts, limits, strides = zip(*parts, strict=True) if parts else ((), (), ())
    return Window(starts, limits, strides, tuple(backwards), tuple(result_axes))


def take_window(at: Emitter[V], x: V, items: Items) -> V:
    """The window of x that the items select."""
    if all(_is_whole(item) for item in items):
        return x
    meta: TensorMeta = at.ctx.meta(x)
    window = window_of(items, meta)
    _assume_inside(window, meta)
    picked = at.emit(Slice(window.starts, window.limits, window.strides), x)
    if window.reversed_axes:
        picked = at.emit(Reverse(window.reversed_axes), picked)
    if window.result_axes == tuple(range(len(window.starts))):
        return picked
    dropped = [axis for axis in range(len(window.starts)) if axis not in window.result_axes]
    new = [place for place, axis in enumerate(window.result_axes) if axis is None]
    return insert_axes(at, drop_axes(at, picked, dropped), new)


def _assume_inside(window: Window, meta: TensorMeta) -> None:
    """Assume that integers are in range where only the sizes of a run decide it.

    A part that nothing reads, or that an update replaces, is not checked otherwise.
    """
    if meta.static_shape is not None and all(isinstance(start, int) for start in window.starts):
        return
    for axis, extent in enumerate(meta.extents):
        if axis in window.result_axes or not isinstance(extent, Exact):
            continue
        start, limit = window.starts[axis], window.limits[axis]
        reason = f"index: {start} is out of range for axis {axis} of {meta}"
        for excess in (maximum(-start, 0), maximum(limit - extent.dim, 0)):
            if isinstance(excess, int) and excess > 0:
                raise AxisError(reason)
            assume_equal(excess, 0, reason)


def _is_whole(item: Item) -> bool:
    if item is Ellipsis or item is Mark.NO_AXES:
        return True
    if not isinstance(item, slice):
        return False
    begins = item.start is None or (isinstance(item.start, int) and item.start == 0)
    steps = item.step is None or (isinstance(item.step, int) and item.step == 1)
    return begins and steps and item.stop is None


def _part(item: Any, size: Dim, axis: int, meta: TensorMeta) -> tuple[tuple[Dim, Dim, int], bool]:
    """(start, limit, stride) of one index, and whether the selected elements are reversed."""
    if isinstance(item, slice):
        if not isinstance(size, int) or _has_name(item):
            return _symbolic_part(item, size, axis, meta)
        first, stop, step = _bounds(item, size, axis, meta)
        count = len(range(first, stop, step))
        if step > 0:
            return (first, first + max(count - 1, 0) * step + min(count, 1), step), False
        last = first + (count - 1) * step
        return ((last, first + 1, -step), True) if count else ((0, 0, 1), False)
    if isinstance(item, DimExpr):
        place = counted_from_front(item, size)
        return (place, place + 1, 1), False
    position = position_of(item, meta)
    if isinstance(size, int):
        if not -size <= position < size:
            raise AxisError(f"index: {position} is out of range for axis {axis} of {meta}")
        position %= size
    start: Dim = position if position >= 0 else size + position
    return (start, start + 1, 1), False


def _bounds(item: slice, size: int, axis: int, meta: TensorMeta) -> tuple[int, int, int]:
    try:
        return item.indices(size)
    except TenferroError:
        raise
    except (TypeError, ValueError) as error:
        raise AxisError(f"index: axis {axis} of {meta}: {error}") from None


def _symbolic_part(
    item: slice, size: Dim, axis: int, meta: TensorMeta
) -> tuple[tuple[Dim, Dim, int], bool]:
    """The `_part` of a slice whose bounds, or the size of whose axis, are known late."""
    step = 1 if item.step is None else item.step
    if isinstance(step, DimExpr) or position_of(step, meta) == 0:
        raise AxisError(f"index: axis {axis} of {meta}: a step must be an integer other than zero")
    step = position_of(step, meta)
    start, stop = (_counted(bound, size, axis, meta) for bound in (item.start, item.stop))
    if step > 0:
        low: Dim = 0 if start is None else start
        high = size if stop is None else stop
    else:
        low = 0 if stop is None else stop + 1
        high = size if start is None else start + 1
    # Clamped to the axis, as in NumPy; in this form x[1:] and x[:-1] have equal sizes.
    pieces = (high - low, high, size - low, size)
    count = maximum(functools.reduce(minimum, pieces), 0)
    limit = maximum(minimum(high, size), 0)
    if step > 0:
        return (limit - count, limit, step), False
    picked = floordiv(count - step - 1, -step)
    return (limit - maximum((picked - 1) * -step + 1, 0), limit, -step), True


def _counted(bound: Any, size: Dim, axis: int, meta: TensorMeta) -> Dim | None:
    """A bound of a slice, counted from the front; it may lie outside the axis."""
    if bound is None:
        return None
    number = bound if isinstance(bound, DimExpr) else position_of(bound, meta)
    return counted_from_front(number, size)


def counted_from_front(bound: Dim, size: Dim) -> Dim:
    """A bound, with the size of the axis added where it is negative; it may lie outside the axis.

    Whether it is negative is a part of the size where the names do not show it: the smaller of 1
    and `-bound` is 1 if the bound is negative.
    """
    if isinstance(bound, int):
        return size + bound if bound < 0 else bound
    if at_most(0, bound) or (at_most(-1, bound) and _vanishes_with(size, bound + 1)):
        return bound  # a bound of -1 needs no care where the axis is empty then
    missing: Dim = -bound
    if at_most(0, missing) and _vanishes_with(size, missing):
        return size - missing
    return sum_of((bound, product((size, minimum(maximum(missing, 0), 1)))))


def _vanishes_with(size: Dim, other: Dim) -> bool:
    """Whether `size` is certainly 0 where `other` is; neither is negative."""
    return at_most(size, other * 2**62)


def _has_name(item: slice) -> bool:
    return isinstance(item.start, DimExpr) or isinstance(item.stop, DimExpr)


def position_of(item: Any, meta: TensorMeta) -> int:
    """One index as a Python integer; for a traced value, its own TracingError propagates."""
    number = integer_of(item)
    if number is None and hasattr(item, "scope") and not item.ndim:
        return operator.index(item)
    if number is None:
        raise AxisError(
            f"index: {item!r} is not an integer, slice, ..., None, or array of integers or bools "
            f"(indexing {meta})"
        )
    return number
