"""`x[...]`: windows by integers, slices, `...` and None, and elements picked by arrays of indices.

`parse` splits an index expression into *items*, in the order of the axes, and *arrays*. An item is
an integer, a slice or None; the item `...` marks the position of the next array. A bool without
axes is an array of one index or none, for a new axis: the item `Mark.NEW_AXIS`. An expression
without arrays selects a window, which needs no computed indices.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.arrays.broadcasting import broadcast
from tenferro.arrays.operands import as_value, convert
from tenferro.arrays.windows import Item, Items, Mark, position_of, take_window
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError, TenferroError, TracingError
from tenferro.ops import (
    ADD,
    SELECT,
    BroadcastInDim,
    Compare,
    Concatenate,
    Gather,
    GatherDynamicSliceSizes,
    ShapeOf,
    broadcast_like,
    full_like,
)
from tenferro.shape import (
    INT64,
    Dim,
    DimExpr,
    Exact,
    InputDim,
    TensorMeta,
    assume_equal,
    dependence_of,
    is_integer,
    maximum,
    symbol,
)


@dataclass(frozen=True)
class Expression:
    """A parsed index expression.

    Attributes:
        items: integers, named sizes, slices and None, with a mark at the position of each array.
        arrays: the arrays of indices.
        counted: for each array, whether its indices are known not to be negative.
    """

    items: Items
    arrays: tuple[Any, ...]
    counted: tuple[bool, ...]


def parse(indices: Any, meta: TensorMeta, anywhere: bool = False) -> Expression:
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


def index(at: Emitter[V], x: V, *arrays: V, items: Items, counted: tuple[bool, ...] = ()) -> V:
    """The elements of x that items and arrays select."""
    picked = take_window(at, x, items)
    return gather(at, picked, placed(items), arrays, counted) if arrays else picked


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
        position = None if rank else _number_of(item)
        return [item if position is None else position]
    return [position_of(item, meta)]


def _of_mask(mask: Any, meta: TensorMeta) -> list[Any]:
    """The indices at which a mask is true, one array for each of its axes."""
    try:
        return [_Masked(places, size) for places, size in _places(mask)]
    except TracingError:
        raise TracingError(
            f"index: a traced mask selects an unknown number of elements of {meta}; use "
            f"tn.where(mask, x, 0), which keeps the shape{dependence_of(mask)}"
        ) from None


@dataclass(frozen=True)
class _Masked:
    """Indices along one axis of a mask, and the size of that axis; None is a new axis."""

    places: np.ndarray[Any, Any]
    size: int | None


def _places(mask: Any) -> list[tuple[np.ndarray[Any, Any], int | None]]:
    concrete = mask.numpy() if hasattr(mask, "numpy") else np.asarray(mask)
    if concrete.ndim == 0:
        return [(np.zeros(int(concrete), np.int64), None)]
    return list(zip(np.nonzero(concrete), concrete.shape, strict=True))


def _is_new_axis(part: Any) -> bool:
    return part is None or (isinstance(part, _Masked) and part.size is None)


def _number_of(item: Any) -> int | None:
    """A rank-0 integer as a Python integer; None if it is a traced value."""
    try:
        return operator.index(item)
    except TenferroError:
        return None


def _expanded(parts: list[Any], meta: TensorMeta, anywhere: bool) -> Expression:
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
    return Expression(
        tuple(items), tuple([array for array, _ in arrays]), tuple([done for _, done in arrays])
    )


def _checked(array: Any, axis: int, meta: TensorMeta, anywhere: bool) -> tuple[Any, bool]:
    """An array of indices for one axis, and whether they are known not to be negative.

    Negative indices in a NumPy array are replaced at once if the size is a constant.
    """
    extent = meta.extents[axis]
    size = extent.dim if isinstance(extent, Exact) else None
    if isinstance(array, _Masked):
        if size is not None and array.size != size:
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
    their values may be known late.
    """
    extent = meta.extents[axis]
    size = extent.dim if isinstance(extent, Exact) else None
    if not isinstance(indices, np.ndarray) or size is None or not indices.size:
        return
    if indices.dtype.kind not in "iu":
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
class Places:
    """The axes of the window that arrays of indices select from, in order.

    `result` is the axis of the result at which the common shape of the arrays begins.
    """

    axes: tuple[int, ...]
    result: int


def placed(items: Items) -> Places:
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
    return Places(axes, len(before))


def _is_array(item: Item) -> bool:
    return item is Ellipsis or item is Mark.NEW_AXIS


def gather(at: Emitter[V], x: V, places: Places, arrays: Sequence[V], counted: Sequence[bool]) -> V:
    """The elements of x at arrays of indices along some axes."""
    vectors, rank = index_vectors(at, x, places.axes, arrays, counted)
    meta: TensorMeta = at.ctx.meta(x)
    sizes: list[Dim] = []
    for axis, extent in enumerate(meta.extents):
        fixed = isinstance(extent, Exact) and isinstance(extent.dim, int)
        whole = extent.dim if fixed else symbol(InputDim(0, axis))  # type: ignore[union-attr]
        sizes.append(1 if axis in places.axes else whole)
    known = all(isinstance(size, int) for size in sizes)
    op = (Gather if known else GatherDynamicSliceSizes)(
        window_dims(meta.rank, places, rank), places.axes, places.axes, rank, tuple(sizes)
    )
    return at.emit(op, x, vectors)


def window_dims(rank: int, places: Places, batch: int) -> tuple[int, ...]:
    """The axes of the result that are whole axes of the indexed array."""
    count = rank - len(places.axes) + batch
    taken = range(places.result, places.result + batch)
    return tuple(axis for axis in range(count) if axis not in taken)


def index_vectors(
    at: Emitter[V], x: V, axes: Sequence[int], arrays: Sequence[V], counted: Sequence[bool]
) -> tuple[V, int]:
    """The arrays of indices for `axes` as one array of index vectors; and their common rank.

    The components of a vector are along the last axis, which a single array does not have.
    """
    parts = [
        i if done else from_the_front(at, x, i, axis)
        for axis, i, done in zip(axes, arrays, counted, strict=True)
    ]
    if len(parts) == 1:
        return parts[0], at.ctx.meta(parts[0]).rank
    if len({at.ctx.meta(i).dtype for i in parts}) > 1:
        parts = [convert(at, i, INT64) for i in parts]
    parts = broadcast(at, "index", parts)
    meta: TensorMeta = at.ctx.meta(parts[0])
    column = (*meta.exact_shape("index", "indices"), 1)
    columns = [at.emit(BroadcastInDim(column, tuple(range(meta.rank))), i) for i in parts]
    return at.emit(Concatenate(meta.rank), *columns), meta.rank


def from_the_front(at: Emitter[V], x: V, indices: V, axis: int) -> V:
    """Indices along an axis, with the size of the axis added to negative ones."""
    if at.ctx.meta(indices).dtype.kind == "u":
        return indices
    indices = convert(at, indices, INT64)
    size = broadcast_like(at, size_value(at, x, axis), at.ctx.meta(indices), (), "index")
    is_negative = at.emit(Compare("LT"), indices, full_like(at, 0, indices))
    return at.emit(SELECT, is_negative, at.emit(ADD, indices, size), indices)


def size_value(at: Emitter[V], x: V, axis: int) -> V:
    """The size of an axis as an int64 scalar."""
    extent = at.ctx.meta(x).extents[axis]
    if isinstance(extent, Exact):
        return as_value(at, extent.dim, INT64)
    return at.emit(ShapeOf(axis), x)
