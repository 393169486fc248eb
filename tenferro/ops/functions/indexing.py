"""`x[...]`: windows, gathers, bounds.

`parse` splits an index expression into *items*, in the order of the axes, and *arrays*. An item is
an integer, a slice or None; the item `...` marks the position of the next array. A bool without
axes is an array of one index or none, for a new axis: the item `Mark.NEW_AXIS`. An expression
without arrays selects a window, which needs no computed indices.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from types import EllipsisType
from typing import Any

import numpy as np

from tenferro.errors import AxisError, ShapeError, TenferroError, TracingError
from tenferro.ir import (
    INT32,
    INT64,
    UINT64,
    AnyTensor,
    Dim,
    DimExpr,
    DType,
    Exact,
    InputDim,
    TensorMeta,
    assume_equal,
    at_most,
    dependence_of,
    dtype_kind,
    floordiv,
    integer_of,
    is_integer,
    is_traced_value,
    maximum,
    minimum,
    product,
    sum_of,
    symbol,
)
from tenferro.ops import (
    ADD,
    SELECT,
    BroadcastInDim,
    Compare,
    Concatenate,
    Gather,
    GatherDynamicSliceSizes,
    Reverse,
    ShapeOf,
    Slice,
)
from tenferro.ops.functions.dispatch import broadcast_like, emit, full_like
from tenferro.ops.functions.elementwise import clamp, remainder, subtract, where
from tenferro.ops.functions.elementwise import maximum as elementwise_maximum
from tenferro.ops.functions.elementwise import minimum as elementwise_minimum
from tenferro.ops.functions.logical import bitwise_and, greater_equal, less
from tenferro.ops.functions.promotion import (
    as_value,
    broadcast,
    convert,
    drop_axes,
    fitting,
    insert_axes,
    promote,
)

# Windows of an array: the elements that integers, slices, `...` and None select in `x[...]`.


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


def take_window(x: AnyTensor, items: Items) -> AnyTensor:
    """The window of x that the items select."""
    if all(_is_whole(item) for item in items):
        return x
    meta: TensorMeta = x.meta
    window = window_of(items, meta)
    _assume_inside(window, meta)
    picked = emit(Slice(window.starts, window.limits, window.strides), x)
    if window.reversed_axes:
        picked = emit(Reverse(window.reversed_axes), picked)
    if window.result_axes == tuple(range(len(window.starts))):
        return picked
    dropped = [axis for axis in range(len(window.starts)) if axis not in window.result_axes]
    new = [place for place, axis in enumerate(window.result_axes) if axis is None]
    return insert_axes(drop_axes(picked, dropped), new)


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
        named = isinstance(item.start, DimExpr) or isinstance(item.stop, DimExpr)
        if named or not isinstance(size, int):
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
    """The `_part` of a slice whose bounds, or the size of whose axis, have names."""
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


# `x[...]`: windows by integers, slices, `...` and None, and elements picked by arrays of indices.


@dataclass(frozen=True)
class IndexExpression:
    """A parsed index expression.

    Attributes:
        items: integers, named sizes, slices and None, with a mark at the position of each array.
        arrays: the arrays of indices.
        counted: for each array, whether its indices are known not to be negative.
    """

    items: Items
    arrays: tuple[Any, ...]
    counted: tuple[bool, ...]


def parse(indices: Any, meta: TensorMeta, anywhere: bool = False) -> IndexExpression:
    """Parse an index expression for an array of type `meta`.

    If indices may be `anywhere`, integers become arrays, and no array is checked.

    Raises:
        AxisError: an item is not an index, or there are more indices than axes.
        TracingError: a mask is a traced value.
    """
    indices_tuple = indices if isinstance(indices, tuple) else (indices,)
    parts = [part for item in indices_tuple for part in _parts(item, meta)]
    if anywhere and any(isinstance(part, DimExpr) for part in parts):
        raise AxisError(
            "index: a named size is an index for arrays only if it is in range; with mode= pass "
            "tn.asarray(size)"
        )
    if anywhere:
        parts = [np.asarray(part) if type(part) is int else part for part in parts]
    return _expanded(parts, meta, anywhere)


def index(
    x: AnyTensor, *arrays: AnyTensor, items: Items, counted: tuple[bool, ...] = ()
) -> AnyTensor:
    """The elements of x that items and arrays select."""
    picked = take_window(x, items)
    return gather(picked, placed(items), arrays, counted) if arrays else picked


# ------------------------------------------------------------------------------- the expression


def _parts(item: Any, meta: TensorMeta) -> list[Any]:
    """One index as a list of items and arrays; a mask becomes one array for each of its axes."""
    if item is None or item is Ellipsis or isinstance(item, slice | DimExpr):
        return [item]
    if isinstance(item, list | tuple):
        item = np.asarray(item)
        item = item if item.size else item.astype(np.int64)
    if isinstance(item, bool):
        item = np.asarray(item)
    dtype, rank = getattr(item, "dtype", None), getattr(item, "ndim", 0)
    if dtype is not None and dtype == np.bool_:
        return _of_mask(item, meta)
    if dtype is not None and is_integer(np.dtype(dtype)):
        if not rank and not is_traced_value(item):
            return [operator.index(item)]
        return [item]
    return [position_of(item, meta)]


def _of_mask(mask: Any, meta: TensorMeta) -> list[Any]:
    """The indices at which a mask is true, one array for each of its axes."""
    try:
        concrete = mask.numpy() if hasattr(mask, "numpy") else np.asarray(mask)
    except TracingError:
        raise TracingError(
            f"index: a traced mask selects an unknown number of elements of {meta}; use "
            f"tn.where(mask, x, 0), which keeps the shape{dependence_of(mask)}"
        ) from None
    if concrete.ndim == 0:
        return [_Masked(np.zeros(int(concrete), np.int64), None)]
    return [*map(_Masked, np.nonzero(concrete), concrete.shape)]


@dataclass(frozen=True)
class _Masked:
    """Indices along one axis of a mask, and the size of that axis; None is a new axis."""

    places: np.ndarray[Any, Any]
    size: int | None


def _is_new_axis(part: Any) -> bool:
    return part is None or (isinstance(part, _Masked) and part.size is None)


def _expanded(parts: list[Any], meta: TensorMeta, anywhere: bool) -> IndexExpression:
    """Replace the ellipsis, or the missing indices at the end, by slices; separate the arrays."""
    used = sum(part is not Ellipsis and not _is_new_axis(part) for part in parts)
    ellipses = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        raise AxisError(f"index: only one ... may stand for the other axes of {meta}")
    if used > meta.rank:
        raise AxisError(f"index: too many indices for {meta}")
    place = ellipses[0] if ellipses else len(parts)
    rest: list[Any] = [slice(None)] * (meta.rank - used)
    if ellipses and not rest:
        rest = [Mark.NO_AXES]
    items: list[Item] = []
    arrays: list[tuple[Any, bool]] = []
    axis = 0
    for part in [*parts[:place], *rest, *parts[place + 1 :]]:
        if part is None or isinstance(part, slice | int | DimExpr | Mark):
            items.append(part)
        elif _is_new_axis(part):
            items.append(Mark.NEW_AXIS)
            arrays.append((part.places, True))
        else:
            items.append(...)
            arrays.append(_checked(part, axis, meta, anywhere))
        axis += not (part is Mark.NO_AXES or _is_new_axis(part))
    return IndexExpression(
        tuple(items), tuple([array for array, _ in arrays]), tuple([done for _, done in arrays])
    )


def _checked(array: Any, axis: int, meta: TensorMeta, anywhere: bool) -> tuple[Any, bool]:
    """An array of indices for one axis, and whether they are known not to be negative.

    Negative indices in a NumPy array are replaced at once if the size is a constant.
    """
    extent = meta.extents[axis]
    size = extent.dim if isinstance(extent, Exact) else None
    if isinstance(array, _Masked):
        if size is not None and array.size not in (size, 0):  # no element, as in NumPy
            raise AxisError(
                f"index: a mask of size {array.size} does not fit axis {axis} of {meta}"
            )
        return array.places, True
    if getattr(array, "weak", None) is not None:
        array = array.astype(array.dtype)  # other operands do not change the dtype of an index
    if size == 0 and array.size != 0:
        raise AxisError(f"index: axis {axis} of {meta} has size 0; it has no elements to index")
    if anywhere or not isinstance(array, np.ndarray):
        return array, False
    check_places("index", array, axis, meta)
    if not isinstance(size, int):
        return array, False
    negative = array < 0
    if negative.any():
        array = np.where(negative, array.astype(np.int64) + size, array)
    return array, True


def check_places(name: str, indices: Any, axis: int, meta: TensorMeta) -> None:
    """Raise AxisError if a NumPy array of indices has one that is out of range for an axis.

    If the axis has a named size, they are assumed to be in range. Other arrays are not checked:
    their values may be traced.
    """
    extent = meta.extents[axis]
    size = extent.dim if isinstance(extent, Exact) else None
    if not isinstance(indices, np.ndarray) or size is None or not indices.size:
        return
    if dtype_kind(indices.dtype) not in "iu":
        return  # refused elsewhere
    if isinstance(size, DimExpr):
        for place in {int(indices.min()), int(indices.max())}:
            excess = maximum(place + 1 - size if place >= 0 else -place - size, 0)
            assume_equal(excess, 0, f"{name}: {place} is out of range for axis {axis} of {meta}")
        return
    outside = (indices < -size) | (indices >= size)
    if outside.any():
        raise AxisError(
            f"{name}: {indices[outside].flat[0]} is out of range for axis {axis} of {meta}; to "
            "read another element or a number there, use tn.take with mode='clip', 'wrap' or 'fill'"
        )


# --------------------------------------------------------------------------------------- arrays


@dataclass(frozen=True)
class IndexedAxes:
    """The axes of the window that arrays of indices select from, in order.

    `result` is the axis of the result at which the common shape of the arrays begins.
    """

    axes: tuple[int, ...]
    result: int


def placed(items: Items) -> IndexedAxes:
    """The places of the arrays among the items, by NumPy's rule.

    If arrays and integers are adjacent, the common shape of the arrays replaces their axes in the
    result; else it comes first.
    """
    remaining = [
        item for item in items if not isinstance(item, int | DimExpr) and item is not Mark.NO_AXES
    ]
    axes = tuple(axis for axis, item in enumerate(remaining) if _is_array(item))
    advanced = [
        i for i, item in enumerate(items) if _is_array(item) or isinstance(item, int | DimExpr)
    ]
    together = bool(advanced) and advanced[-1] - advanced[0] == len(advanced) - 1
    before = [item for item in items[: advanced[0]] if item is not Mark.NO_AXES] if together else []
    return IndexedAxes(axes, len(before))


def _is_array(item: Item) -> bool:
    return item is Ellipsis or item is Mark.NEW_AXIS


def gather(
    x: AnyTensor, places: IndexedAxes, arrays: Sequence[AnyTensor], counted: Sequence[bool]
) -> AnyTensor:
    """The elements of x at arrays of indices along some axes."""
    vectors, rank = index_vectors(x, places.axes, arrays, counted)
    meta: TensorMeta = x.meta
    sizes: list[Dim] = []
    for axis, extent in enumerate(meta.extents):
        fixed = isinstance(extent, Exact) and isinstance(extent.dim, int)
        whole = extent.dim if fixed else symbol(InputDim(0, axis))  # type: ignore[union-attr]
        sizes.append(1 if axis in places.axes else whole)
    known = all(isinstance(size, int) for size in sizes)
    op = (Gather if known else GatherDynamicSliceSizes)(
        window_dims(meta.rank, places, rank), places.axes, places.axes, rank, tuple(sizes)
    )
    return emit(op, x, vectors)


def window_dims(rank: int, places: IndexedAxes, batch: int) -> tuple[int, ...]:
    """The axes of the result that are whole axes of the indexed array."""
    count = rank - len(places.axes) + batch
    picked = range(places.result, places.result + batch)
    return tuple(axis for axis in range(count) if axis not in picked)


def index_vectors(
    x: AnyTensor, axes: Sequence[int], arrays: Sequence[AnyTensor], counted: Sequence[bool]
) -> tuple[AnyTensor, int]:
    """The arrays of indices for `axes` as one array of index vectors; and their common rank.

    The components of a vector are along the last axis, which a single array does not have.
    """
    parts = [
        i if done else from_the_front(x, i, axis)
        for axis, i, done in zip(axes, arrays, counted, strict=True)
    ]
    if len(parts) == 1:
        return parts[0], parts[0].meta.rank
    if len({i.meta.dtype for i in parts}) > 1:
        parts = [convert(i, INT64) for i in parts]
    parts = broadcast("index", parts)
    meta: TensorMeta = parts[0].meta
    column = (*meta.exact_shape("index", "indices"), 1)
    columns = [emit(BroadcastInDim(column, tuple(range(meta.rank))), i) for i in parts]
    return emit(Concatenate(meta.rank), *columns), meta.rank


def from_the_front(x: AnyTensor, indices: AnyTensor, axis: int) -> AnyTensor:
    """Indices along an axis, with the size of the axis added to negative ones.

    Those of at most 32 bits stay so where the size is a number of 32 bits: a sum is then one too.
    """
    if dtype_kind(indices.meta.dtype) == "u":
        return indices
    if indices.meta.dtype.itemsize <= INT32.itemsize:
        indices = convert(indices, INT32)
    size = size_like(x, axis, indices)
    indices = convert(indices, size.meta.dtype)
    size = broadcast_like(size, indices.meta, (), "index")
    is_negative = emit(Compare("LT"), indices, full_like(0, indices))
    return emit(SELECT, is_negative, emit(ADD, indices, size), indices)


def size_like(x: AnyTensor, axis: int, places: AnyTensor) -> AnyTensor:
    """The size of an axis as a scalar of the dtype of places; as int64 where it may not fit."""
    extent, dtype = x.meta.extents[axis], places.meta.dtype
    known = extent.dim if isinstance(extent, Exact) else None
    if isinstance(known, int) and known <= np.iinfo(dtype).max:
        return as_value(known, dtype)
    return size_value(x, axis)


def size_value(x: AnyTensor, axis: int) -> AnyTensor:
    """The size of an axis as an int64 scalar."""
    extent = x.meta.extents[axis]
    if isinstance(extent, Exact):
        return as_value(extent.dim, INT64)
    return emit(ShapeOf(axis), x)


# What indices that are out of bounds mean, for those who ask for it: `x.at[i].get(mode=...)`.

MODES = ("clip", "wrap", "fill", "drop", "promise_in_bounds")


def mode_named(name: str, mode: object) -> str | None:
    """A mode as one of `MODES`; None if it changes nothing.

    Raises:
        AxisError: there is no such mode.
    """
    text = str(getattr(mode, "name", mode)).lower()
    known = {"fill_or_drop": "fill", "drop": "fill", **{each: each for each in MODES[:3]}}
    if text in ("none", "promise_in_bounds"):
        return None
    if text not in known:
        raise AxisError(f"{name}: mode must be one of {', '.join(MODES)}, got {mode!r}")
    return known[text]


def without_negatives(indices: Any, mode: str) -> Any:
    """Indices of which negative ones are out of bounds: 0 with "clip", else beyond every axis."""
    places = indices.astype(INT64)
    if mode == "clip":
        return elementwise_maximum(places, 0)
    return where(less(places, 0), np.iinfo(INT64).max, places)


def fill_of(dtype: DType) -> bool | int | float:
    """What is read out of bounds, as in JAX."""
    match dtype_kind(dtype):
        case "f" | "c":
            return np.nan
        case "b":
            return True
        case kind:
            return int(np.iinfo(dtype).min if kind == "i" else np.iinfo(dtype).max)


def moved(
    x: AnyTensor, axes: Sequence[int], arrays: Sequence[AnyTensor], mode: str
) -> list[AnyTensor]:
    """Indices along some axes, moved into bounds; negative ones count from the end."""
    results = []
    for axis, each in zip(axes, arrays, strict=True):
        if mode == "wrap":
            size = size_value(x, axis)
            dtype = UINT64 if each.meta.dtype == UINT64 else INT64
            inside = remainder(*(convert(value, dtype) for value in (each, size)))
            results.append(convert(inside, INT64))
        else:
            place = _counted_bounds(x, each, axis)
            size = size_like(x, axis, place)
            results.append(clamp(place, 0, subtract(size, 1)))
    return results


def selected(
    x: AnyTensor, *operands: Any, items: Items, counted: tuple[bool, ...], mode: str, filled: bool
) -> AnyTensor:
    """The elements of x that items and arrays select; those out of bounds by the mode.

    If `filled`, what is read there comes before the arrays.
    """
    part, places = take_window(x, items), placed(items)
    arrays, value = operands[filled:], operands[0] if filled else fill_of(x.meta.dtype)
    if filled and (meta := promote((value,))[0].meta).rank:
        raise ShapeError(f"get: fill_value must be a number, got {meta}")
    if not arrays:  # nothing can be out of bounds
        return part
    inside = moved(part, places.axes, arrays, mode)
    picked = gather(part, places, inside, (True,) * len(arrays))
    if mode != "fill":
        return picked
    fill = fitting("get", value, picked.meta.dtype)
    read: AnyTensor = where(_inside(part, places, arrays, picked), picked, fill)
    return read


def _inside(
    x: AnyTensor, places: IndexedAxes, arrays: Sequence[AnyTensor], picked: AnyTensor
) -> AnyTensor:
    """For each element that is taken, whether its indices are in bounds."""
    results: list[AnyTensor] = []
    for axis, each in zip(places.axes, arrays, strict=True):
        results.append(within(_counted_bounds(x, each, axis), x, axis))
    mask = functools.reduce(bitwise_and, results)
    rank = mask.meta.rank
    shape = picked.meta.exact_shape("index", "result")
    return emit(BroadcastInDim(shape, tuple(range(places.result, places.result + rank))), mask)


def _counted_bounds(x: AnyTensor, indices: AnyTensor, axis: int) -> AnyTensor:
    """Indices along an axis, counted from the front, as int32 or int64; clamped where too large."""
    if indices.meta.dtype == UINT64:
        indices = elementwise_minimum(indices, np.iinfo(INT64).max)
    places = from_the_front(x, indices, axis)
    return convert(places, INT64) if dtype_kind(places.meta.dtype) == "u" else places


def within(places: AnyTensor, x: AnyTensor, axis: int) -> AnyTensor:
    """Whether places that are counted from the front are those of an axis of x."""
    size = size_like(x, axis, places)
    return bitwise_and(greater_equal(places, 0), less(places, size))
