"""Borders around arrays: constants, repetitions and reflections, ramps and statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Dim, DimExpr, Size, dtype_kind, is_integer
from tenferro.numpy.arguments import array as array_of
from tenferro.numpy.arguments import count, option
from tenferro.numpy.creation import arange, linspace
from tenferro.numpy.manipulation import concat, with_zeros
from tenferro.numpy.reductions import median
from tenferro.numpy.vectorize import apply_along_axis
from tenferro.ops.functions import apply, elementwise, manipulation, normal_axis, reductions
from tenferro.ops.functions.elementwise import floor_divide, minimum, remainder, where
from tenferro.ops.functions.manipulation import broadcast_to, expand_dims, flip

__all__ = ["pad"]

_KEYWORDS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}
"""The modes of `pad`, and the further parameters of each."""


def pad(
    array: ArrayLike,
    pad_width: manipulation.PadWidth | Mapping[int, Size | Sequence[Size]],
    mode: str | Callable[..., Any] = "constant",
    *,
    constant_values: ArrayLike | None = None,
    stat_length: manipulation.PadWidth | None = None,
    end_values: ArrayLike | None = None,
    reflect_type: str | None = None,
    **kwargs: Any,
) -> AnyTensor:
    """An array with a border.

    Args:
        array: the array.
        pad_width: n, (before, after), or one pair for each axis; or a dict of such values by axis.
        mode: what the border holds: "constant" numbers; "edge" the nearest element; "linear_ramp"
            numbers from `end_values` to the nearest element; "maximum", "minimum", "mean" and
            "median" that of the elements along the axis; "reflect" the elements reflected at the
            last one, "symmetric" behind it; "wrap" the elements repeated; "empty" zeros. Or a
            function of a vector with a border of zeros, its pair of widths, the axis and `kwargs`,
            which returns the vector with its border, as in JAX.
        constant_values: one number, or like `pad_width` a pair of them, or one pair for each axis;
            0 if None.
        stat_length: of how many elements next to the border the statistic is; of all if None.
        end_values: the outermost numbers of a ramp, like `constant_values`.
        reflect_type: "even", or "odd" for reflected differences from the last element.
        kwargs: passed on to a function.

    Raises:
        ConfigError: there is no such mode, or it does not have a parameter that is passed.
        DTypeError: a number does not fit the dtype of the array.
        ShapeError: there is not one pair for each axis, or an empty axis has no elements to repeat.

    >>> tn.pad([1, 2], (1, 2))
    Tensor([0, 1, 2, 0, 0])
    >>> tn.pad([1, 2], 1, constant_values=(5, 7))
    Tensor([5, 1, 2, 7])
    >>> tn.pad([1, 2, 3], 2, "reflect")
    Tensor([3, 2, 1, 2, 3, 2, 1])
    """
    x = array_of("pad", array)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)  # type: ignore[no-any-return]
    _check_mode(mode)
    passed = {
        "constant_values": constant_values,
        "stat_length": stat_length,
        "end_values": end_values,
        "reflect_type": reflect_type,
        **kwargs,
    }
    for name, value in passed.items():
        if value is not None and name not in _KEYWORDS[mode]:
            raise ConfigError(f"pad: the mode {mode!r} does not take {name}=")
    if mode in ("constant", "empty"):
        values = _numbers(x, constant_values)
        return apply(manipulation.pad, x, *values, pad_width=widths)
    odd = option("pad", "reflect_type", reflect_type or "even", ("even", "odd")) == "odd"
    ends = _pairs("end_values", 0 if end_values is None else end_values, x.ndim)
    lengths = _pairs("stat_length", stat_length, x.ndim)
    for axis, (before, after) in enumerate(_whole(widths, x.ndim)):
        if before == after == 0:
            continue
        if x.shape[axis] == 0:
            raise ShapeError(
                f"pad: axis {axis} of {x.meta} is empty, so that the mode {mode!r} has no elements "
                "to repeat; use 'constant'"
            )
        if mode in ("edge", "reflect", "symmetric", "wrap"):
            x = _extended(x, axis, before, after, mode, odd)
        elif mode == "linear_ramp":
            x = _ramp(x, axis, before, after, ends[axis])
        else:
            x = _statistic(x, axis, before, after, mode, lengths[axis])
    return x  # type: ignore[no-any-return]


def _check_mode(mode: object) -> None:
    if not isinstance(mode, str):
        raise ConfigError(
            f"pad: mode must be a word or a function, got {mode!r}; numbers are passed as "
            "constant_values="
        )
    option("pad", "mode", mode, tuple(_KEYWORDS))


# Widths and numbers, for each axis a pair.


def _widths(pad_width: Any, rank: int) -> Any:
    """The widths without a dict."""
    if not isinstance(pad_width, dict):
        return pad_width
    pairs: list[Any] = [(0, 0)] * rank
    for axis, width in pad_width.items():
        pair = width if isinstance(width, tuple | list) else (width, width)
        pairs[normal_axis("pad", axis, rank)] = tuple(pair)
    return pairs or 0


def _whole(widths: Any, rank: int) -> list[tuple[int, int]]:
    """For each axis the widths before and after it, which must be known."""
    pairs = _pairs("pad_width", widths, rank)
    return [(count("pad", "a width", a), count("pad", "a width", b)) for a, b in pairs]


def _pairs(name: str, values: Any, rank: int) -> list[list[Any]]:
    """For each axis a pair of values."""
    try:
        pairs: list[list[Any]] = np.broadcast_to(_table(values), (rank, 2)).tolist()
    except ValueError:
        raise ShapeError(
            f"pad: {name} do not give a pair of numbers for each of {rank} axes"
        ) from None
    return pairs


def _numbers(x: Any, values: Any) -> list[Any]:
    """The numbers of a border: none for 0, one, or those before and behind each axis."""
    if values is None or (type(values) is int and values == 0):
        return []
    if not isinstance(values, list | tuple) and not getattr(values, "ndim", False):
        return [values]
    return [each for pair in _pairs("constant_values", values, x.ndim) for each in pair]


def _table(values: Any) -> np.ndarray[Any, Any]:
    """Numbers in nested lists, or the elements of an array, some of which may be traced."""
    if isinstance(values, np.ndarray):
        return np.array(values.tolist(), object)
    if not isinstance(values, list | tuple) and not getattr(values, "ndim", 0):
        single = np.empty((), object)
        single[()] = values
        return single
    rows = [_table(each) for each in values]
    return np.stack(rows) if rows else np.empty(0, object)


# Borders along one axis.


def _part(axis: int, start: Any, stop: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, slice(start, stop))


def _ends(x: Any, axis: int) -> list[Any]:
    """The first and the last element of an axis, of size 1 there."""
    return [expand_dims(x[(*(slice(None),) * axis, place)], axis) for place in (0, -1)]


def _extended(x: Any, axis: int, before: int, after: int, mode: str, odd: bool) -> Any:
    """The elements of an axis continued beyond its ends."""
    size: Dim = x.shape[axis]
    first, last = _ends(x, axis)
    if mode == "edge" or (mode == "reflect" and size == 1):
        shape = list(x.shape)
        parts = [_repeated(first, shape, axis, before), x, _repeated(last, shape, axis, after)]
        return _joined(parts, axis)
    if isinstance(size, int) and max(before, after) <= size - (mode == "reflect"):
        skip = int(mode == "reflect")
        if mode == "wrap":
            low, high = x[_part(axis, size - before, size)], x[_part(axis, 0, after)]
        else:
            low = flip(x[_part(axis, skip, before + skip)], axis)
            high = flip(x[_part(axis, size - after - skip, size - skip)], axis)
            if odd:
                low, high = 2 * first - low, 2 * last - high
        return _joined([low, x, high], axis)
    return _continued(x, axis, before, after, mode, odd)


def _continued(x: Any, axis: int, before: int, after: int, mode: str, odd: bool) -> Any:
    """As `_extended`, by the place of each element in a period; for all widths and named sizes."""
    size: Any = x.shape[axis]
    every: Any = arange(before + size + after) - before
    period: Any = {"wrap": size, "reflect": 2 * size - 2, "symmetric": 2 * size}[mode]
    if isinstance(period, DimExpr) and mode == "reflect":
        period = elementwise.maximum(period, 1)  # of one element
    place: Any = remainder(every, period)
    mirrored = period - 1 - place if mode == "symmetric" else period - place
    inner = place if mode == "wrap" else minimum(place, mirrored)
    whole: tuple[Any, ...] = (slice(None),) * axis
    result = x.at[(*whole, inner)].get(mode="clip")
    if not odd:
        return result
    wide = (-1, *(1,) * (x.ndim - axis - 1))
    first, last = _ends(x, axis)
    turns: Any = floor_divide(every, period).reshape(wide).astype(x.dtype)
    behind = (place >= size).reshape(wide)
    return where(behind, 2 * last - result, result) + turns * (2 * (last - first))


def _repeated(x: Any, shape: Sequence[Any], axis: int, width: int) -> Any:
    """An element along an axis of size 1 repeated."""
    return broadcast_to(x, [width if i == axis else size for i, size in enumerate(shape)])


def _joined(parts: list[Any], axis: int) -> Any:
    return concat([part for part in parts if part.shape[axis] != 0], axis)


def _ramp(x: Any, axis: int, before: int, after: int, ends: list[Any]) -> Any:
    """Numbers from the end values to the elements at the ends."""
    first = x[(*(slice(None),) * axis, 0)]
    last = x[(*(slice(None),) * axis, -1)]
    options = {"endpoint": False, "dtype": x.dtype, "axis": axis}
    low = linspace(_end(ends[0], x), first, before, **options)
    high = flip(linspace(_end(ends[1], x), last, after, **options), axis)
    return _joined([low, x, high], axis)


def _end(value: Any, x: Any) -> Any:
    """The outermost number of a ramp."""
    number = array_of("pad", value)
    if number.ndim:
        raise ShapeError(f"pad: end_values must be numbers, got {number.meta}")
    if dtype_kind(number.dtype) == "c" and dtype_kind(x.dtype) != "c":
        raise DTypeError(f"pad: end_values {number.meta} do not fit {x.meta}")
    return value


def _statistic(x: Any, axis: int, before: int, after: int, mode: str, lengths: list[Any]) -> Any:
    """A statistic of the elements next to each end, repeated."""
    size: Dim = x.shape[axis]
    parts = []
    for length, width, is_low in zip(lengths, (before, after), (True, False), strict=True):
        part = x
        if length is not None:
            least = int(mode in ("maximum", "minimum"))
            number = count("pad", "stat_length", length, least)
            if not isinstance(size, int) or number < size:
                part = x[_part(axis, 0, number) if is_low else _part(axis, size - number, size)]
        parts.append(_repeated(_of_mode(part, axis, mode), x.shape, axis, width))
    return _joined([parts[0], x, parts[1]], axis)


def _of_mode(part: Any, axis: int, mode: str) -> Any:
    """The statistic of an axis, in the dtype of the array: means of integers are rounded."""
    if mode in ("maximum", "minimum"):
        reduce = reductions.max if mode == "maximum" else reductions.min
        return reduce(part, axis=axis, keepdims=True)
    middle: Any = reductions.mean if mode == "mean" else median
    value: Any = middle(part, axis=axis, keepdims=True)
    if is_integer(part.dtype):
        value = elementwise.rint(value)
    return value.astype(part.dtype)


def _by_function(x: Any, widths: Any, function: Callable[..., Any], options: Any) -> Any:
    """Borders that a function of vectors makes, axis by axis."""
    pairs = _whole(widths, x.ndim)
    padded = with_zeros(x, pairs or 0)
    for axis, pair in enumerate(pairs):
        padded = apply_along_axis(function, axis, padded, pair, axis, options)
    return padded
