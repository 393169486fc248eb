"""What indices that are out of bounds mean, for those who ask for it: `x.at[i].get(mode=...)`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.arrays.elementwise import clamp, minimum, remainder, subtract, where
from tenferro.arrays.indexing import Places, from_the_front, gather, placed, size_value
from tenferro.arrays.logical import bitwise_and, greater_equal, less
from tenferro.arrays.operands import convert, fitting, promote
from tenferro.arrays.windows import Items, take_window
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError, ShapeError
from tenferro.ops import BroadcastInDim
from tenferro.shape import INT64, UINT64, DType

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


def fill_of(dtype: DType) -> bool | int | float:
    """What is read out of bounds, as in JAX."""
    match dtype.kind:
        case "f" | "c":
            return np.nan
        case "b":
            return True
        case kind:
            return int(np.iinfo(dtype).min if kind == "i" else np.iinfo(dtype).max)


def moved(at: Emitter[V], x: V, axes: Sequence[int], arrays: Sequence[V], mode: str) -> list[V]:
    """Indices along some axes, moved into bounds; negative ones count from the end."""
    found = []
    for axis, each in zip(axes, arrays, strict=True):
        size = size_value(at, x, axis)
        if mode == "wrap":
            dtype = UINT64 if at.ctx.meta(each).dtype == UINT64 else INT64
            inside = remainder(at, *(convert(at, value, dtype) for value in (each, size)))
            found.append(convert(at, inside, INT64))
        else:
            place = _counted(at, x, each, axis)
            found.append(clamp(at, place, 0, subtract(at, size, 1)))
    return found


def selected(
    at: Emitter[V],
    x: V,
    *operands: Any,
    items: Items,
    counted: tuple[bool, ...],
    mode: str,
    filled: bool,
) -> V:
    """The elements of x that items and arrays select; those out of bounds by the mode.

    If `filled`, what is read there comes before the arrays.
    """
    part, places = take_window(at, x, items), placed(items)
    arrays, value = operands[filled:], operands[0] if filled else fill_of(at.ctx.meta(x).dtype)
    if filled and (meta := at.ctx.meta(promote(at, (value,))[0])).rank:
        raise ShapeError(f"get: fill_value must be a number, got {meta}")
    if not arrays:  # nothing can be out of bounds
        return part
    inside = moved(at, part, places.axes, arrays, mode)
    taken: V = gather(at, part, places, inside, (True,) * len(arrays))
    if mode != "fill":
        return taken
    fill = fitting(at, "get", value, at.ctx.meta(taken).dtype)
    read: V = where(at, _inside(at, part, places, arrays, taken), taken, fill)
    return read


def _inside(at: Emitter[V], x: V, places: Places, arrays: Sequence[V], taken: V) -> V:
    """For each element that is taken, whether its indices are in bounds."""
    found: list[V] = []
    for axis, each in zip(places.axes, arrays, strict=True):
        place = _counted(at, x, each, axis)
        found.append(within(at, place, size_value(at, x, axis)))
    mask = functools.reduce(functools.partial(bitwise_and, at), found)
    rank = at.ctx.meta(mask).rank
    shape = at.ctx.meta(taken).exact_shape("index", "result")
    return at.emit(BroadcastInDim(shape, tuple(range(places.result, places.result + rank))), mask)


def _counted(at: Emitter[V], x: V, indices: V, axis: int) -> V:
    """Indices along an axis, counted from the front, as int64; beyond its range, its end."""
    if at.ctx.meta(indices).dtype == UINT64:
        indices = minimum(at, indices, np.iinfo(INT64).max)
    return convert(at, from_the_front(at, x, indices, axis), INT64)


def within(at: Emitter[V], places: V, size: V) -> V:
    """Whether places that are counted from the front are those of an axis."""
    return bitwise_and(at, greater_equal(at, places, 0), less(at, places, size))
