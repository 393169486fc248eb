"""Transforms along one axis, over an emitter."""

from __future__ import annotations

from functools import partial

from tenferro.arrays import elementwise, normal_axis
from tenferro.chainrules import Emitter, V
from tenferro.errors import ShapeError
from tenferro.fft.transforms import (
    check_frequencies,
    of_complex,
    of_real,
    place,
    scale_of,
    size_of,
    to_real,
)
from tenferro.shape import Dim, Exact, TensorMeta
from tenferro.typing import Size


def fft(
    at: Emitter[V], x: V, /, n: Size | None = None, axis: int = -1, norm: str | None = "backward"
) -> V:
    """The sums over j of x[j] exp(-2πi jk/n) for k = 0 … n-1, along an axis.

    Args:
        x: values, real or complex.
        n: the number of points; the axis is cut or padded with zeros to it. By default its size.
        axis: the axis.
        norm: "backward" divides by 1, "forward" by n, "ortho" by the square root of n.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: x is of half precision.

    >>> tn.fft.fft([1.0, 2.0, 3.0, 4.0])
    Tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return of_complex(at, "fft", x, partial(_along, n, axis), norm)


def ifft(
    at: Emitter[V], x: V, /, n: Size | None = None, axis: int = -1, norm: str | None = "backward"
) -> V:
    """The inverse of `fft`: sums of x[k] exp(2πi jk/n), divided by n.

    Args:
        x: values, real or complex.
        n: the number of points; the axis is cut or padded with zeros to it. By default its size.
        axis: the axis.
        norm: "backward" divides by n, "forward" by 1, "ortho" by the square root of n.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: x is of half precision.

    >>> tn.fft.ifft([4.0, 0.0, 0.0, 0.0])
    Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return of_complex(at, "ifft", x, partial(_along, n, axis), norm, inverse=True)


def rfft(
    at: Emitter[V], x: V, /, n: Size | None = None, axis: int = -1, norm: str | None = "backward"
) -> V:
    """The frequencies 0 … n//2 of real values; the others are their conjugates.

    Args:
        x: real values.
        n, axis, norm: as in `fft`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: x is complex, or of half precision.

    >>> tn.fft.rfft([1.0, 2.0, 3.0, 4.0])
    Tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    scale = scale_of("rfft", norm, inverse=False)
    return of_real(at, "rfft", x, partial(_along, n, axis), scale, "fft")


def irfft(
    at: Emitter[V], x: V, /, n: Size | None = None, axis: int = -1, norm: str | None = "backward"
) -> V:
    """The inverse of `rfft`: the n real values whose frequencies 0 … n//2 are x.

    Args:
        x: frequencies; the axis is cut or padded with zeros to n//2 + 1. The imaginary parts of
            frequencies 0 and n/2 are not used.
        n: the number of points; by default 2 (m - 1) for m frequencies.
        axis: the axis.
        norm: as in `ifft`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: x is of half precision.

    >>> tn.fft.irfft([4.0, 0.0, 0.0])
    Tensor([1., 1., 1., 1.])
    """
    scale = scale_of("irfft", norm, inverse=True)
    return to_real(at, "irfft", x, partial(_along, n, axis), scale)


def hfft(
    at: Emitter[V], x: V, /, n: Size | None = None, axis: int = -1, norm: str | None = "backward"
) -> V:
    """The `fft` of values with x[n-j] = conj(x[j]), of which x has j = 0 … n//2; it is real.

    Args:
        x: values; the axis is cut or padded with zeros to n//2 + 1.
        n: the number of points; by default 2 (m - 1) for m values.
        axis: the axis.
        norm: as in `fft`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: x is of half precision.

    >>> tn.fft.hfft([1.0, 2.0, 3.0])
    Tensor([ 8., -2.,  0., -2.])
    """
    scale = scale_of("hfft", norm, inverse=False)
    along = partial(_along, n, axis)
    return to_real(at, "hfft", elementwise.conj(at, x), along, scale)


def ihfft(
    at: Emitter[V], x: V, /, n: Size | None = None, axis: int = -1, norm: str | None = "backward"
) -> V:
    """The inverse of `hfft`: the elements 0 … n//2 of the `ifft` of real values.

    Args:
        x: real values.
        n, axis, norm: as in `ifft`.

    Raises:
        ShapeError: n is less than 1.
        DTypeError: x is complex, or of half precision.

    >>> tn.fft.ihfft([8.0, -2.0, 0.0, -2.0]).real
    Tensor([1., 2., 3.])
    """
    scale = scale_of("ihfft", norm, inverse=True)
    half = of_real(at, "ihfft", x, partial(_along, n, axis), scale, "ifft")
    return elementwise.conj(at, half)


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
