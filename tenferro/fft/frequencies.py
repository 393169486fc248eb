"""Frequencies, and arrays with frequency 0 in the middle, over an emitter."""

from __future__ import annotations

from tenferro.arrays import creation, elementwise, joining, notation, operands, rearrange
from tenferro.chainrules import Emitter, V
from tenferro.shape import INT64, Dim, DType, TensorMeta, floordiv
from tenferro.typing import Axis


def both_signs(at: Emitter[V], d: operands.Operand[V], *, shape: tuple[Dim], dtype: DType) -> V:
    """0, 1, …, then the negative frequencies from the lowest to -1, divided by n d."""
    (n,) = shape
    k = _counter(at, n)
    signed = notation.apply(elementwise.where, k < floordiv(n + 1, 2), k, k - n)
    return _over_length(signed, n, d, dtype)


def not_negative(
    at: Emitter[V], d: operands.Operand[V], *, shape: tuple[Dim], n: Dim, dtype: DType
) -> V:
    """0, 1, …, as many as `shape` says, divided by n d."""
    return _over_length(_counter(at, shape[0]), n, d, dtype)


def _counter(at: Emitter[V], size: Dim) -> notation.Expression:
    counter: notation.Expression = notation.apply(
        creation.arange, 0, emitter=at, shape=(size,), step=1, dtype=INT64
    )
    return counter


def _over_length(k: notation.Expression, n: Dim, d: operands.Operand[V], dtype: DType) -> V:
    """k / (n d), rounded as in NumPy."""
    spacing: notation.Expression = notation.apply(operands.as_value, d, dtype, emitter=k.emitter)
    return (k.astype(dtype) * (1.0 / (spacing * n))).value  # type: ignore[no-any-return]


def fftshift(at: Emitter[V], x: V, /, axes: Axis = None) -> V:
    """x with frequency 0 in the middle of each of the axes; by default of all.

    >>> tn.fft.fftshift([0, 1, 2, -2, -1])
    Tensor([-2, -1,  0,  1,  2])
    """
    meta: TensorMeta = at.ctx.meta(x)
    for axis in operands.normal_axes("fftshift", axes, meta.rank):
        size = meta.exact_shape("fftshift", "operand")[axis]
        x = _turned(at, x, axis, size, floordiv(size + 1, 2))
    return x


def ifftshift(at: Emitter[V], x: V, /, axes: Axis = None) -> V:
    """The inverse of `fftshift`: frequency 0 comes first.

    >>> tn.fft.ifftshift([-2, -1, 0, 1, 2])
    Tensor([ 0,  1,  2, -2, -1])
    """
    meta: TensorMeta = at.ctx.meta(x)
    for axis in operands.normal_axes("ifftshift", axes, meta.rank):
        size = meta.exact_shape("ifftshift", "operand")[axis]
        x = _turned(at, x, axis, size, floordiv(size, 2))
    return x


def _turned(at: Emitter[V], x: V, axis: int, size: Dim, start: Dim) -> V:
    """x from `start` on, then what is before it."""
    if isinstance(size, int) and size < 2:
        return x
    parts = (joining.window(at, x, axis, start, size), joining.window(at, x, axis, 0, start))
    return rearrange.concat(at, *parts, axis=axis)
