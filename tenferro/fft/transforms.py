"""fft … irfftn, fftshift, fftfreq."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from tenferro.errors import AxisError, ConfigError, DTypeError, ShapeError, counted
from tenferro.fft.op import Fft, exact_size, spectrum_length
from tenferro.ir import (
    BOOL,
    INT64,
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DimExpr,
    DType,
    DTypeLike,
    Exact,
    InputDim,
    Size,
    TensorMeta,
    as_dtype,
    assume_positive,
    complex_dtype,
    dim,
    floordiv,
    in_single,
    inexact_of,
    is_complex,
    is_floating,
    minimum,
    read_integer,
    short_name,
    symbol,
)
from tenferro.ops import Pad, Slice, Transpose, scalar
from tenferro.ops.extension import Extension
from tenferro.ops.functions import (
    array,
    array_function,
    convert,
    creation,
    elementwise,
    emit,
    full,
    manipulation,
    normal_axis,
    promotion,
)
from tenferro.runtime import Executor
from tenferro.transforms import check_named, create

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


# Transforms along any axes: sizes, cutting and padding, the order of axes, the family's ops.

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


def operand(name: str, x: ArrayLike, real: str = "") -> tuple[AnyTensor, TensorMeta]:
    """x as complex values, or as real ones if `real` names the function for complex ones; its type.

    Raises:
        DTypeError: x is of half precision, or complex where it must be real.
    """
    value = array(x)
    meta = value.meta
    if in_single(meta.dtype) != meta.dtype:
        raise DTypeError(
            f"{name}: takes single and double precision, got {short_name(meta.dtype)}; "
            "convert it with astype(tn.float32)"
        )
    if real and is_complex(meta.dtype):
        raise DTypeError(f"{name}: takes real input, got {meta}; use {real}")
    dtype = inexact_of(meta.dtype)
    return convert(value, dtype if real else complex_dtype(dtype)), meta


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
    """Axes counted from the front, in their order.

    Raises:
        AxisError: an axis is out of range, or named twice.
    """
    if not isinstance(axes, Iterable):
        raise AxisError(f"{name}: axes must be several integers, got {axes!r}; write ({axes!r},)")
    axes = tuple(axes)
    normal = tuple(normal_axis(name, axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise AxisError(f"{name}: axes {axes} repeat")
    return normal


def of_complex(name: str, x: ArrayLike, along: Along, norm: str | None) -> AnyTensor:
    """The transform of complex values, or its inverse."""
    inverse = name.startswith("i")
    scale = scale_of(name, norm, inverse)
    value, meta = operand(name, x)
    axes, sizes = along(name, meta, False)
    value = _fitted(value, axes, sizes)
    return complex_transform("c2c inverse" if inverse else "c2c", value, axes, scale)


def of_real(name: str, x: ArrayLike, along: Along, norm: str | None, inverse: bool) -> AnyTensor:
    """Half of the transform of real values, or of its inverse."""
    scale = scale_of(name, norm, inverse)
    value, meta = operand(name, x, name.replace("r", "").replace("h", ""))  # "rfft": "fft"
    axes, sizes = along(name, meta, False)
    _need_axis(name, axes)
    return real_transform(_fitted(value, axes, sizes), axes, scale)


def to_real(name: str, x: ArrayLike, along: Along, norm: str | None, inverse: bool) -> AnyTensor:
    """The real values that have these frequencies."""
    scale = scale_of(name, norm, inverse)
    value, meta = operand(name, x)
    axes, sizes = along(name, meta, True)
    _need_axis(name, axes)
    length = sizes[-1]
    count = exact_size(name, meta, axes[-1]) if length is None else spectrum_length(length)
    value = _fitted(value, axes, [*sizes[:-1], count])
    return inverse_real_transform(value, axes, length, scale)


def _need_axis(name: str, axes: Sequence[int]) -> None:
    if not axes:
        raise AxisError(f"{name}: needs at least one axis, got axes ()")


def _fitted(x: AnyTensor, axes: Sequence[int], sizes: Sizes) -> AnyTensor:
    """x cut at the end, or padded with zeros, to these sizes along the axes; None keeps one."""
    meta: TensorMeta = x.meta
    known = [(a, size) for a, size in zip(axes, sizes, strict=True) if size is not None]
    if all(meta.extents[axis] == Exact(size) for axis, size in known):
        return x
    shape = [
        extent.dim if isinstance(extent, Exact) else symbol(InputDim(0, axis))
        for axis, extent in enumerate(meta.extents)
    ]
    inside, wanted = list(shape), list(shape)
    for axis, size in known:
        inside[axis], wanted[axis] = minimum(exact_size("fft", meta, axis), size), size
    if inside != shape:
        x = emit(Slice((0,) * meta.rank, tuple(inside), (1,) * meta.rank), x)
    if inside == wanted:
        return x
    high = tuple([after - before for before, after in zip(inside, wanted, strict=True)])
    zero = emit(scalar(0, meta.dtype))
    return emit(Pad((0,) * meta.rank, high, (0,) * meta.rank), x, zero)


def complex_transform(kind: str, x: AnyTensor, axes: Sequence[int], scale: str) -> AnyTensor:
    """The transform of complex values along the axes, in groups that the family takes."""
    rest = sorted(axes)
    while rest:
        group, rest = rest[-_MOST_AXES:], rest[:-_MOST_AXES]
        x = _transformed(Fft(kind, len(group), scale), x, group)
    return x


def real_transform(x: AnyTensor, axes: Sequence[int], scale: str) -> AnyTensor:
    """The transform of real values: one half of the last of the axes, then the other axes."""
    rest, group = _with_last(axes)
    x = _transformed(Fft("r2c", len(group), scale), x, group)
    return complex_transform("c2c", x, rest, scale)


def inverse_real_transform(
    x: AnyTensor, axes: Sequence[int], length: Dim | None, scale: str
) -> AnyTensor:
    """The real values that have these frequencies; `length` is the size of the last of the axes.

    If it is None, it is twice the number of frequencies, less two.
    """
    rest, group = _with_last(axes)
    if length is None:
        length = 2 * (exact_size("fft", x.meta, axes[-1]) - 1)
    x = complex_transform("c2c inverse", x, rest, scale)
    points = full(False, TensorMeta(BOOL, (Exact(length),)))
    return _transformed(Fft("c2r", len(group), scale), x, group, points)


def check_frequencies(name: str, axis: int, meta: TensorMeta) -> None:
    """Raise ShapeError if an axis has too few frequencies for the default number of points."""
    size = exact_size(name, meta, axis)
    if isinstance(size, int) and size < 2:
        raise ShapeError(f"{name}: n must be at least 1, got {2 * (size - 1)}{place(axis, meta)}")


def _with_last(axes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The axes in two groups; the last axis is the last of the second group."""
    *others, last = axes
    ordered = sorted(others)
    count = _MOST_AXES - 1
    return ordered[:-count], [*ordered[-count:], last]


def _transformed(op: Fft, x: AnyTensor, axes: Sequence[int], *source: AnyTensor) -> AnyTensor:
    """The op along the axes, which are moved to the end and back."""
    rank = x.meta.rank
    order = (*[axis for axis in range(rank) if axis not in axes], *axes)
    if order == tuple(range(rank)):
        return emit(Extension(op), x, *source)
    moved = emit(Extension(op), emit(Transpose(order), x), *source)
    back = tuple([order.index(axis) for axis in range(rank)])
    return emit(Transpose(back), moved)


# Transforms along one axis.


@array_function(module="tenferro.fft")
def fft(
    a: ArrayLike,
    n: Size | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The sums over j of a[j] exp(-2πi jk/n) for k = 0 … n-1, along an axis.

    Args:
        a: values, real or complex.
        n: the number of points; the axis is cut or padded with zeros to it. By default its size.
        axis: the axis.
        norm: "backward" divides by 1, "forward" by n, "ortho" by the square root of n.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: `a` is of half precision.

    >>> tn.fft.fft([1.0, 2.0, 3.0, 4.0])
    Tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return of_complex("fft", a, partial(_along, n, axis), norm)


@array_function(module="tenferro.fft")
def ifft(
    a: ArrayLike,
    n: Size | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The inverse of `fft`: sums of a[k] exp(2πi jk/n), divided by n.

    Args:
        a: values, real or complex.
        n: the number of points; the axis is cut or padded with zeros to it. By default its size.
        axis: the axis.
        norm: "backward" divides by n, "forward" by 1, "ortho" by the square root of n.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: `a` is of half precision.

    >>> tn.fft.ifft([4.0, 0.0, 0.0, 0.0])
    Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return of_complex("ifft", a, partial(_along, n, axis), norm)


@array_function(module="tenferro.fft")
def rfft(
    a: ArrayLike,
    n: Size | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The frequencies 0 … n//2 of real values; the others are their conjugates.

    Args:
        a: real values.
        n, axis, norm: as in `fft`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: `a` is complex, or of half precision.

    >>> tn.fft.rfft([1.0, 2.0, 3.0, 4.0])
    Tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return of_real("rfft", a, partial(_along, n, axis), norm, inverse=False)


@array_function(module="tenferro.fft")
def irfft(
    a: ArrayLike,
    n: Size | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The inverse of `rfft`: the n real values whose frequencies 0 … n//2 are `a`.

    Args:
        a: frequencies; the axis is cut or padded with zeros to n//2 + 1. The imaginary parts of
            frequencies 0 and n/2 are not used.
        n: the number of points; by default 2 (m - 1) for m frequencies.
        axis: the axis.
        norm: as in `ifft`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: `a` is of half precision.

    >>> tn.fft.irfft([4.0, 0.0, 0.0])
    Tensor([1., 1., 1., 1.])
    """
    return to_real("irfft", a, partial(_along, n, axis), norm, inverse=True)


@array_function(module="tenferro.fft")
def hfft(
    a: ArrayLike,
    n: Size | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The `fft` of values with a[n-j] = conj(a[j]), of which `a` has j = 0 … n//2; it is real.

    Args:
        a: values; the axis is cut or padded with zeros to n//2 + 1.
        n: the number of points; by default 2 (m - 1) for m values.
        axis: the axis.
        norm: as in `fft`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: `a` is of half precision.

    >>> tn.fft.hfft([1.0, 2.0, 3.0])
    Tensor([ 8., -2.,  0., -2.])
    """
    return to_real("hfft", elementwise.conj(a), partial(_along, n, axis), norm, inverse=False)


@array_function(module="tenferro.fft")
def ihfft(
    a: ArrayLike,
    n: Size | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The inverse of `hfft`: the elements 0 … n//2 of the `ifft` of real values.

    Args:
        a: real values.
        n, axis, norm: as in `ifft`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: `a` is complex, or of half precision.

    >>> tn.fft.ihfft([8.0, -2.0, 0.0, -2.0]).real
    Tensor([1., 2., 3.])
    """
    return elementwise.conj(of_real("ihfft", a, partial(_along, n, axis), norm, inverse=True))


def _along(
    n: Size | None, axis: int, name: str, meta: TensorMeta, of_result: bool
) -> tuple[tuple[int, ...], list[Dim | None]]:
    """The axis, and the size that is asked for.

    Raises:
        ShapeError: the array has no axis, or the size is less than 1.
    """
    if not meta.rank:
        raise ShapeError(f"{name}: takes arrays with at least one axis, got {meta}")
    along = normal_axis(name, axis, meta.rank)
    if n is not None:
        return (along,), [size_of(name, "n", n, place(axis, meta))]
    extent = meta.extents[along]
    if of_result:
        check_frequencies(name, axis, meta)
    elif isinstance(extent, Exact):
        size_of(name, "n", extent.dim, place(axis, meta))
    return (along,), [None]


# Transforms along several axes.

SizesOfAxes = Sequence[Size] | None
Axes = Sequence[int] | None


@array_function(module="tenferro.fft")
def fftn(
    a: ArrayLike,
    s: SizesOfAxes = None,
    axes: Axes = None,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The transform `fft` along several axes.

    Args:
        a: values, real or complex.
        s: the numbers of points, one for each of the axes, which are cut or padded with zeros; -1
            is the size of the axis.
        axes: the axes; by default all, or the last ones if s is given.
        norm: "backward" divides by 1, "forward" by the number of points, "ortho" by its root.

    Raises:
        ShapeError: a size is less than 1, or the numbers of sizes and axes differ.
        AxisError: an axis is named twice.
        DTypeError: `a` is of half precision.

    >>> tn.fft.fftn([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return of_complex("fftn", a, partial(_along_axes, s, axes), norm)


@array_function(module="tenferro.fft")
def ifftn(
    a: ArrayLike,
    s: SizesOfAxes = None,
    axes: Axes = None,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The inverse of `fftn`; parameters are the same.

    >>> tn.fft.ifftn([[4.0, 0.0], [0.0, 0.0]])
    Tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]])
    """
    return of_complex("ifftn", a, partial(_along_axes, s, axes), norm)


@array_function(module="tenferro.fft")
def rfftn(
    a: ArrayLike,
    s: SizesOfAxes = None,
    axes: Axes = None,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The transform of real values: `rfft` along the last of the axes, `fft` along the others.

    Args:
        a: real values.
        s: as in `fftn`.
        axes: as in `fftn`; at least one.
        norm: as in `fftn`.

    Raises:
        ShapeError, AxisError: as in `fftn`.
        DTypeError: `a` is complex, or of half precision.

    >>> tn.fft.rfftn([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return of_real("rfftn", a, partial(_along_axes, s, axes), norm, inverse=False)


@array_function(module="tenferro.fft")
def irfftn(
    a: ArrayLike,
    s: SizesOfAxes = None,
    axes: Axes = None,
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """The inverse of `rfftn`.

    Args:
        a: frequencies, along the last of the axes 0 … n//2 of n points.
        s: numbers of points of the result; the last one is by default 2 (m - 1) for m frequencies.
        axes: as in `fftn`; at least one.
        norm: as in `fftn`.

    Raises:
        ShapeError, AxisError, DTypeError: as in `fftn`.

    >>> tn.fft.irfftn([[4.0, 0.0], [0.0, 0.0]])
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return to_real("irfftn", a, partial(_along_axes, s, axes), norm, inverse=True)


@array_function(module="tenferro.fft")
def fft2(
    a: ArrayLike,
    s: SizesOfAxes = None,
    axes: Axes = (-2, -1),
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """`fftn` along the last two axes.

    >>> tn.fft.fft2([[1.0, 0.0], [0.0, 0.0]]).real
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return of_complex("fft2", a, partial(_along_axes, s, axes), norm)


@array_function(module="tenferro.fft")
def ifft2(
    a: ArrayLike,
    s: SizesOfAxes = None,
    axes: Axes = (-2, -1),
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """`ifftn` along the last two axes.

    >>> tn.fft.ifft2([[4.0, 0.0], [0.0, 0.0]]).real
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return of_complex("ifft2", a, partial(_along_axes, s, axes), norm)


@array_function(module="tenferro.fft")
def rfft2(
    a: ArrayLike,
    s: SizesOfAxes = None,
    axes: Axes = (-2, -1),
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """`rfftn` along the last two axes.

    >>> tn.fft.rfft2([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).real
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return of_real("rfft2", a, partial(_along_axes, s, axes), norm, inverse=False)


@array_function(module="tenferro.fft")
def irfft2(
    a: ArrayLike,
    s: SizesOfAxes = None,
    axes: Axes = (-2, -1),
    norm: str | None = "backward",
    out: None = None,
) -> AnyTensor:
    """`irfftn` along the last two axes.

    >>> tn.fft.irfft2([[6.0, 0.0], [0.0, 0.0]], s=(2, 3))
    Tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    return to_real("irfft2", a, partial(_along_axes, s, axes), norm, inverse=True)


def _along_axes(
    s: SizesOfAxes, axes: Axes, name: str, meta: TensorMeta, of_result: bool
) -> tuple[tuple[int, ...], list[Dim | None]]:
    """The axes, and the sizes along them; of the last one only if `s` has it, if `of_result`."""
    if isinstance(s, str) or not (s is None or isinstance(s, Iterable)):
        raise ShapeError(f"{name}: s must be several sizes, got {s!r}; write ({s!r},)")
    sizes: list[Size | None] = [] if s is None else list(s)
    if axes is None:
        axes = tuple(range(-len(sizes), 0)) if s is not None else tuple(range(meta.rank))
    along = axes_of(name, axes, meta.rank)
    if s is None:
        sizes = [-1] * len(along)
    if len(sizes) != len(along):
        raise ShapeError(
            f"{name}: s has {counted(len(sizes), 'size')} and axes has "
            f"{counted(len(along), 'axis', 'axes')}; pass one size for each axis"
        )
    points: list[Dim | None] = []
    for i, (size, axis) in enumerate(zip(sizes, along, strict=True)):
        if type(size) is not int or size != -1:
            points.append(size_of(name, f"s[{i}]", size, place(axis, meta)))
        elif not of_result or i < len(along) - 1:
            points.append(size_of(name, "n", exact_size(name, meta, axis), place(axis, meta)))
        else:
            check_frequencies(name, axis, meta)
            points.append(None)
    return along, points


# Frequencies, and arrays with frequency 0 in the middle.


def both_signs(d: ArrayLike, *, shape: tuple[Dim], dtype: DType) -> AnyTensor:
    """0, 1, …, then the negative frequencies from the lowest to -1, divided by n d."""
    (n,) = shape
    k = _counter(n)
    signed = elementwise.where(k < floordiv(n + 1, 2), k, k - n)
    return _over_length(signed, n, d, dtype)


def not_negative(d: ArrayLike, *, shape: tuple[Dim], n: Dim, dtype: DType) -> AnyTensor:
    """0, 1, …, as many as `shape` says, divided by n d."""
    return _over_length(_counter(shape[0]), n, d, dtype)


def _counter(size: Dim) -> AnyTensor:
    return creation.arange(0, shape=(size,), step=1, dtype=INT64)


def _over_length(k: AnyTensor, n: Dim, d: ArrayLike, dtype: DType) -> AnyTensor:
    """k / (n d), rounded as in NumPy."""
    return k.astype(dtype) * (1.0 / (promotion.as_value(d, dtype) * n))


@array_function(module="tenferro.fft")
def fftshift(x: ArrayLike, axes: Axis = None) -> AnyTensor:
    """x with frequency 0 in the middle of each of the axes; by default of all.

    >>> tn.fft.fftshift([0, 1, 2, -2, -1])
    Tensor([-2, -1,  0,  1,  2])
    """
    return _shifted("fftshift", array(x), axes, 1)


@array_function(module="tenferro.fft")
def ifftshift(x: ArrayLike, axes: Axis = None) -> AnyTensor:
    """The inverse of `fftshift`: frequency 0 comes first.

    >>> tn.fft.ifftshift([-2, -1, 0, 1, 2])
    Tensor([ 0,  1,  2, -2, -1])
    """
    return _shifted("ifftshift", array(x), axes, 0)


def _shifted(name: str, x: AnyTensor, axes: Axis, more: int) -> AnyTensor:
    """x from the middle of each of the axes on, or `more` after it, then what is before it."""
    for axis in promotion.normal_axes(name, axes, x.ndim):
        size = x.meta.exact_shape(name, "operand")[axis]
        if isinstance(size, int) and size < 2:
            continue
        start = floordiv(size + more, 2)
        ends = manipulation.window(x, axis, start, size), manipulation.window(x, axis, 0, start)
        x = manipulation.concat(*ends, axis=axis)
    return x


# The frequencies of a transform, as users ask for them.


def fftfreq(
    n: Size,
    d: ArrayLike = 1.0,
    device: str | Executor | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """The frequencies of the results of `fft`, in cycles per unit.

    Args:
        n: the number of points; in a traced program it may be a symbolic size.
        d: the distance between points.
        dtype: float64 by default.
        device: where the result is, as for `tn.zeros`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: n is not an integer, or dtype is not floating-point.

    >>> tn.fft.fftfreq(5, d=0.2)
    Tensor([ 0.,  1.,  2., -2., -1.])
    """
    size, element = _checked("fftfreq", n, dtype)
    array = create(both_signs, d, shape=(size,), dtype=element)
    return array if device is None else array.to_device(device)


def rfftfreq(
    n: Size,
    d: ArrayLike = 1.0,
    device: str | Executor | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """The frequencies of the results of `rfft`, in cycles per unit; parameters as in `fftfreq`.

    >>> tn.fft.rfftfreq(5, d=0.2)
    Tensor([0., 1., 2.])
    """
    size, element = _checked("rfftfreq", n, dtype)
    shape = (spectrum_length(size),)
    array = create(not_negative, d, shape=shape, n=size, dtype=element)
    return array if device is None else array.to_device(device)


def _checked(name: str, n: Any, dtype: DTypeLike | None) -> tuple[Dim, DType]:
    element = as_dtype(dtype)
    if not is_floating(element):
        raise DTypeError(f"{name}: dtype must be floating-point, got {short_name(element)}")
    check_named(name, n)
    size = size_of(name, "n", n)
    assume_positive(size, f"{name}: n must be at least 1")
    return size, element
