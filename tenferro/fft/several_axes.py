"""Transforms along several axes, over an emitter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from tenferro.chainrules import Emitter, V
from tenferro.errors import ShapeError
from tenferro.families import fft as family
from tenferro.fft.transforms import (
    axes_of,
    check_frequencies,
    of_complex,
    of_real,
    place,
    scale_of,
    size_of,
    to_real,
)
from tenferro.shape import Dim, TensorMeta
from tenferro.typing import Size

Sizes = Sequence[Size] | None
Axes = Sequence[int] | None


def fftn(
    at: Emitter[V], x: V, /, s: Sizes = None, axes: Axes = None, norm: str | None = "backward"
) -> V:
    """The transform `fft` along several axes.

    Args:
        x: values, real or complex.
        s: the numbers of points, one for each of the axes, which are cut or padded with zeros; -1
            is the size of the axis.
        axes: the axes; by default all, or the last ones if s is given.
        norm: "backward" divides by 1, "forward" by the number of points, "ortho" by its root.

    Raises:
        ShapeError: a size is less than 1, or the numbers of sizes and axes differ.
        AxisError: an axis is named twice.
        DTypeError: x is of half precision.

    >>> tn.fft.fftn([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return of_complex(at, "fftn", x, partial(_along, s, axes), norm)


def ifftn(
    at: Emitter[V], x: V, /, s: Sizes = None, axes: Axes = None, norm: str | None = "backward"
) -> V:
    """The inverse of `fftn`; parameters are the same.

    >>> tn.fft.ifftn([[4.0, 0.0], [0.0, 0.0]])
    Tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]])
    """
    return of_complex(at, "ifftn", x, partial(_along, s, axes), norm, inverse=True)


def rfftn(
    at: Emitter[V], x: V, /, s: Sizes = None, axes: Axes = None, norm: str | None = "backward"
) -> V:
    """The transform of real values: `rfft` along the last of the axes, `fft` along the others.

    Args:
        x: real values.
        s: as in `fftn`.
        axes: as in `fftn`; at least one.
        norm: as in `fftn`.

    Raises:
        ShapeError, AxisError: as in `fftn`.
        DTypeError: x is complex, or of half precision.

    >>> tn.fft.rfftn([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return _real(at, "rfftn", x, s, axes, norm)


def irfftn(
    at: Emitter[V], x: V, /, s: Sizes = None, axes: Axes = None, norm: str | None = "backward"
) -> V:
    """The inverse of `rfftn`.

    Args:
        x: frequencies, along the last of the axes 0 … n//2 of n points.
        s: numbers of points of the result; the last one is by default 2 (m - 1) for m frequencies.
        axes: as in `fftn`; at least one.
        norm: as in `fftn`.

    Raises:
        ShapeError, AxisError, DTypeError: as in `fftn`.

    >>> tn.fft.irfftn([[4.0, 0.0], [0.0, 0.0]])
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return _to_real(at, "irfftn", x, s, axes, norm)


def fft2(
    at: Emitter[V], x: V, /, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = "backward"
) -> V:
    """`fftn` along the last two axes.

    >>> tn.fft.fft2([[1.0, 0.0], [0.0, 0.0]]).real
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return of_complex(at, "fft2", x, partial(_along, s, axes), norm)


def ifft2(
    at: Emitter[V], x: V, /, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = "backward"
) -> V:
    """`ifftn` along the last two axes.

    >>> tn.fft.ifft2([[4.0, 0.0], [0.0, 0.0]]).real
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return of_complex(at, "ifft2", x, partial(_along, s, axes), norm, inverse=True)


def rfft2(
    at: Emitter[V], x: V, /, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = "backward"
) -> V:
    """`rfftn` along the last two axes.

    >>> tn.fft.rfft2([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).real
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return _real(at, "rfft2", x, s, axes, norm)


def irfft2(
    at: Emitter[V], x: V, /, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = "backward"
) -> V:
    """`irfftn` along the last two axes.

    >>> tn.fft.irfft2([[6.0, 0.0], [0.0, 0.0]], s=(2, 3))
    Tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    return _to_real(at, "irfft2", x, s, axes, norm)


def _real(at: Emitter[V], name: str, x: V, s: Sizes, axes: Axes, norm: str | None) -> V:
    scale = scale_of(name, norm, inverse=False)
    return of_real(at, name, x, partial(_along, s, axes), scale, name.removeprefix("r"))


def _to_real(at: Emitter[V], name: str, x: V, s: Sizes, axes: Axes, norm: str | None) -> V:
    return to_real(at, name, x, partial(_along, s, axes), scale_of(name, norm, inverse=True))


def _along(
    s: Sizes, axes: Axes, name: str, meta: TensorMeta, of_result: bool
) -> tuple[tuple[int, ...], list[Dim | None]]:
    """The axes, and the sizes along them; of the last one only if it is given, if `of_result`."""
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
            f"{name}: s has {len(sizes)} sizes and axes has {len(along)} axes; pass one size for "
            "each axis"
        )
    found: list[Dim | None] = []
    for i, (size, axis) in enumerate(zip(sizes, along, strict=True)):
        if type(size) is not int or size != -1:
            found.append(size_of(name, f"s[{i}]", size, place(axis, meta)))
        elif not of_result or i < len(along) - 1:
            found.append(size_of(name, "n", family.exact_size(name, meta, axis), place(axis, meta)))
        else:
            check_frequencies(name, axis, meta)
            found.append(None)
    return along, found
