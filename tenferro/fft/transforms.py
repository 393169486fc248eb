"""Transforms along any axes: sizes, cutting and padding, the order of axes, the family's ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tenferro.arrays import convert, normal_axis
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError, ConfigError, DTypeError, ShapeError
from tenferro.families import fft as family
from tenferro.family import Extension
from tenferro.ops import Pad, Slice, Transpose, scalar
from tenferro.shape import (
    FLOAT16,
    FLOAT64,
    Dim,
    DimExpr,
    Exact,
    InputDim,
    TensorMeta,
    complex_dtype,
    dim,
    is_complex,
    is_inexact,
    minimum,
    read_integer,
    short_name,
    symbol,
)

_SCALES = {"backward": "none", "forward": "inverse", "ortho": "root"}
_INVERSE_SCALES = {"backward": "inverse", "forward": "none", "ortho": "root"}
_MOST_AXES = 3

Sizes = Sequence[Dim | None]
Along = Callable[[str, TensorMeta, bool], tuple[tuple[int, ...], Sizes]]
"""From the name of a function and an array the axes of a transform, counted from the front, and its
numbers of points along them. If the last argument is true they are those of the result, of which
the last one may be None, if it follows from the number of frequencies."""


def scale_of(name: str, norm: str | None, inverse: bool) -> str:
    """The scale of the family for a norm; None is "backward".

    Raises:
        ConfigError: there is no such norm.
    """
    scales = _INVERSE_SCALES if inverse else _SCALES
    if norm is None:
        return scales["backward"]
    if not isinstance(norm, str) or norm not in scales:
        raise ConfigError(f"{name}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    return scales[norm]


def operand(at: Emitter[V], name: str, x: V, real: str = "") -> V:
    """x as complex values, or as real ones if `real` names the function for complex ones.

    Raises:
        DTypeError: x is of half precision, or complex where it must be real.
    """
    meta: TensorMeta = at.ctx.meta(x)
    if meta.dtype == FLOAT16:
        raise DTypeError(
            f"{name}: takes single and double precision, got {short_name(meta.dtype)}; "
            "convert it with astype(tn.float32)"
        )
    if real and is_complex(meta.dtype):
        raise DTypeError(f"{name}: takes real input, got {meta}; use {real}")
    dtype = meta.dtype if is_inexact(meta.dtype) else FLOAT64
    return convert(at, x, dtype if real else complex_dtype(dtype))


def size_of(name: str, what: str, size: Any, where: str = "") -> Dim:
    """The number of points of a transform; `where` names the axis and its array in errors.

    Raises:
        DTypeError: it is not an integer.
        ShapeError: it is less than 1.
    """
    if isinstance(size, str | DimExpr):
        return dim(size)
    number = read_integer(name, what, size)
    if number < 1:
        raise ShapeError(f"{name}: {what} must be at least 1, got {number}{where}")
    return number


def place(axis: int, meta: TensorMeta) -> str:
    """An axis and its array, in parentheses, for errors."""
    return f" (axis {axis} of {meta})"


def axes_of(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in the given order.

    Raises:
        AxisError: an axis is out of range, or named twice.
    """
    if not isinstance(axes, Iterable):
        raise AxisError(f"{name}: axes must be several integers, got {axes!r}; write ({axes!r},)")
    given = tuple(axes)
    normal = tuple(normal_axis(name, axis, rank) for axis in given)
    if len(set(normal)) != len(normal):
        raise AxisError(f"{name}: axes {given} repeat")
    return normal


def of_complex(
    at: Emitter[V], name: str, x: V, along: Along, norm: str | None, *, inverse: bool = False
) -> V:
    """The transform of complex values, or its inverse."""
    scale = scale_of(name, norm, inverse)
    value = operand(at, name, x)
    axes, sizes = along(name, at.ctx.meta(x), False)
    value = _fitted(at, value, axes, sizes)
    return complex_transform(at, "c2c inverse" if inverse else "c2c", value, axes, scale)


def of_real(at: Emitter[V], name: str, x: V, along: Along, scale: str, for_complex: str) -> V:
    """Half of the transform of real values; `for_complex` names the function for other values."""
    value = operand(at, name, x, for_complex)
    axes, sizes = along(name, at.ctx.meta(x), False)
    _need_axis(name, axes)
    return real_transform(at, _fitted(at, value, axes, sizes), axes, scale)


def to_real(at: Emitter[V], name: str, x: V, along: Along, scale: str) -> V:
    """The real values that have these frequencies."""
    value = operand(at, name, x)
    meta: TensorMeta = at.ctx.meta(x)
    axes, sizes = along(name, meta, True)
    _need_axis(name, axes)
    length = sizes[-1]
    if length is None:
        count = family.exact_size(name, meta, axes[-1])
    else:
        count = family.spectrum_length(length)
    value = _fitted(at, value, axes, [*sizes[:-1], count])
    return inverse_real_transform(at, value, axes, length, scale)


def _need_axis(name: str, axes: Sequence[int]) -> None:
    if not axes:
        raise AxisError(f"{name}: needs at least one axis, got axes ()")


def _fitted(at: Emitter[V], x: V, axes: Sequence[int], sizes: Sizes) -> V:
    """x cut at the end, or padded with zeros, to these sizes along the axes; None keeps one."""
    meta: TensorMeta = at.ctx.meta(x)
    given = [(a, size) for a, size in zip(axes, sizes, strict=True) if size is not None]
    if all(meta.extents[axis] == Exact(size) for axis, size in given):
        return x
    shape = [
        extent.dim if isinstance(extent, Exact) else symbol(InputDim(0, axis))
        for axis, extent in enumerate(meta.extents)
    ]
    kept, wanted = list(shape), list(shape)
    for axis, size in given:
        kept[axis], wanted[axis] = minimum(family.exact_size("fft", meta, axis), size), size
    if kept != shape:
        x = at.emit(Slice((0,) * meta.rank, tuple(kept), (1,) * meta.rank), x)
    if kept == wanted:
        return x
    high = tuple([after - before for before, after in zip(kept, wanted, strict=True)])
    zero = at.emit(scalar(0, meta.dtype))
    return at.emit(Pad((0,) * meta.rank, high, (0,) * meta.rank), x, zero)


def complex_transform(at: Emitter[V], kind: str, x: V, axes: Sequence[int], scale: str) -> V:
    """The transform of complex values along the axes, in groups that the family takes."""
    rest = sorted(axes)
    while rest:
        group, rest = rest[-_MOST_AXES:], rest[:-_MOST_AXES]
        x = _transformed(at, family.Fft(kind, len(group), scale), x, group)
    return x


def real_transform(at: Emitter[V], x: V, axes: Sequence[int], scale: str) -> V:
    """The transform of real values: one half of the last of the axes, then the other axes."""
    rest, group = _with_last(axes)
    x = _transformed(at, family.Fft("r2c", len(group), scale), x, group)
    return complex_transform(at, "c2c", x, rest, scale)


def inverse_real_transform(
    at: Emitter[V], x: V, axes: Sequence[int], length: Dim | None, scale: str
) -> V:
    """The real values that have these frequencies; `length` is the size of the last of the axes.

    If it is None, it is twice the number of frequencies, less two.
    """
    rest, group = _with_last(axes)
    if length is None:
        length = 2 * (family.exact_size("fft", at.ctx.meta(x), axes[-1]) - 1)
    x = complex_transform(at, "c2c inverse", x, rest, scale)
    return _transformed(
        at, family.Fft("c2r", len(group), scale), x, group, family.points(at, Exact(length))
    )


def check_frequencies(name: str, axis: int, meta: TensorMeta) -> None:
    """Raise ShapeError if an axis has too few frequencies for the default number of points."""
    size = family.exact_size(name, meta, axis)
    if isinstance(size, int) and size < 2:
        raise ShapeError(f"{name}: n must be at least 1, got {2 * (size - 1)}{place(axis, meta)}")


def _with_last(axes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The axes in two groups; the last axis is the last of the second group."""
    *others, last = axes
    ordered = sorted(others)
    count = _MOST_AXES - 1
    return ordered[:-count], [*ordered[-count:], last]


def _transformed(at: Emitter[V], op: family.Fft, x: V, axes: Sequence[int], *source: V) -> V:
    """The op along the axes, which are moved to the end and back."""
    rank = at.ctx.meta(x).rank
    order = (*[axis for axis in range(rank) if axis not in axes], *axes)
    if order == tuple(range(rank)):
        return at.emit(Extension(op), x, *source)
    moved = at.emit(Extension(op), at.emit(Transpose(order), x), *source)
    back = tuple([order.index(axis) for axis in range(rank)])
    return at.emit(Transpose(back), moved)
