"""`jax.scipy.fft`: cosine transforms, by the Fourier transforms of `tn.fft`.

>>> tn.scipy.fft.dct([1.0, 1.0])
Tensor([4., 0.])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tenferro import fft as transforms
from tenferro import numpy as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, dtype_kind, in_single
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import constant_size, count, option, promoted
from tenferro.ops.functions import integers, normal_axis

__all__ = ["dct", "dctn", "idct", "idctn"]


def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> AnyTensor:
    """The discrete cosine transform of type 1, 2, 3 or 4 along an axis.

    Args:
        x: real numbers; complex ones are transformed by their parts.
        type: which of the transforms.
        n: the size of the result; x is cut off, or padded with zeros.
        axis: the axis.
        norm: None or "backward"; "ortho" makes it orthogonal, "forward" divides.

    Raises:
        ConfigError: there is no such type or norm.
        ShapeError: the axis is too short.

    >>> tn.scipy.fft.dct([1.0, 3.0], norm="ortho")
    Tensor([ 2.82842712, -1.41421356])
    """
    return _transformed("dct", x, _type("dct", type), n, axis, norm, inverse=False)


def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> AnyTensor:
    """The inverse of `dct` of the same type and norm.

    >>> tn.scipy.fft.idct(tn.scipy.fft.dct([1.0, 2.0, 3.0]))
    Tensor([1., 2., 3.])
    """
    return _transformed("idct", x, _type("idct", type), n, axis, norm, inverse=True)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> AnyTensor:
    """The discrete cosine transform along several axes; by default all.

    Args:
        x: as in `dct`, like `type` and `norm`.
        s: the sizes of the result along the axes.
        axes: the axes; by default the last ones, as many as `s` has, or all.

    >>> tn.scipy.fft.dctn([[1.0, 1.0], [1.0, 1.0]])
    Tensor([[16.,  0.],
            [ 0.,  0.]])
    """
    return _along_axes("dctn", x, type, s, axes, norm, inverse=False)


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> AnyTensor:
    """The inverse of `dctn` of the same type and norm.

    >>> tn.scipy.fft.idctn([[16.0, 0.0], [0.0, 0.0]])
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return _along_axes("idctn", x, type, s, axes, norm, inverse=True)


def _type(name: str, type: Any) -> int:
    if not isinstance(type, int) or type not in (1, 2, 3, 4):
        raise ConfigError(f"{name}: type must be 1, 2, 3 or 4, got {type!r}")
    return int(type)


def _along_axes(
    name: str,
    x: ArrayLike,
    type: int,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
    inverse: bool,
) -> AnyTensor:
    (value,) = promoted(name, x, inexact=True)
    s = None if s is None else integers(name, "s", s)
    axes = None if axes is None else integers(name, "axes", axes)
    if s is not None and len(s) > value.ndim:
        raise ShapeError(f"{name}: got {len(s)} sizes for the {value.ndim} axes of {value.meta}")
    if axes is None:
        axes = range(value.ndim) if s is None else range(value.ndim - len(s), value.ndim)
    lengths = [None] * len(axes) if s is None else list(s)
    if len(lengths) != len(axes):
        raise ShapeError(f"{name}: got {len(lengths)} sizes for {len(axes)} axes")
    for axis, n in zip(axes, lengths, strict=True):
        value = _transformed(name, value, _type(name, type), n, axis, norm, inverse)
    return value  # type: ignore[no-any-return]


def _transformed(
    name: str, x: ArrayLike, type: int, n: int | None, axis: int, norm: str | None, inverse: bool
) -> AnyTensor:
    option(name, "norm", norm, (None, "backward", "ortho", "forward"))
    (value,) = promoted(name, x, inexact=True)
    if not value.ndim:
        raise ShapeError(f"{name}: takes an array with an axis, got {value.meta}")
    if dtype_kind(value.dtype) == "c":
        parts = [
            _transformed(name, part, type, n, axis, norm, inverse)
            for part in (value.real, value.imag)
        ]
        return tn.asarray(parts[0] + 1j * parts[1]).astype(value.dtype)
    if in_single(value.dtype) != value.dtype:
        raise DTypeError(f"{name}: takes single and double precision, got {value.meta}")
    place = normal_axis(name, axis, value.ndim)
    rows = _of_size(name, tn.moveaxis(value, place, -1), n)
    size = constant_size(name, rows, rows.ndim - 1)
    if size < (2 if type == 1 else 1):
        raise ShapeError(f"{name}: axis {axis} of {value.meta} is too short for type {type}")
    norm = norm or "backward"
    if inverse:  # the inverse of type 2 is type 3, divided
        type = {2: 3, 3: 2}.get(type, type)
        norm = {"backward": "forward", "forward": "backward"}.get(norm, norm)
    return tn.moveaxis(_FUNCTIONS[type](rows, size, norm), -1, place).astype(value.dtype)


def _of_size(name: str, x: AnyTensor, n: int | None) -> AnyTensor:
    """x with n elements along the last axis."""
    if n is None:
        return x
    size, wanted = constant_size(name, x, x.ndim - 1), count(name, "n", n, 1)
    if wanted <= size:
        return x[..., :wanted]
    return tn.concat([x, tn.zeros((*x.shape[:-1], wanted - size), dtype=x.dtype)], axis=-1)


def _turns(x: AnyTensor, size: int, shift: float, parts: int) -> AnyTensor:
    """exp(−2πi (k + shift) / parts) for k = 0, …, in the complex dtype of x."""
    angle = (tn.arange(size) + shift) * (-2 * math.pi / parts)
    turns: Any = tn.cos(angle) + 1j * tn.sin(angle)
    return turns.astype("complex64" if x.dtype == "float32" else "complex128")  # type: ignore[no-any-return]


def _first(x: AnyTensor, size: int, norm: str) -> AnyTensor:
    """Type 1: 2 Σ x_j cos(πjk/(n−1)), the ends once."""
    root = math.sqrt(2)
    if norm == "ortho":
        x = tn.concat([x[..., :1] * root, x[..., 1:-1], x[..., -1:] * root], axis=-1)
    mirrored = tn.concat([x, tn.flip(x[..., 1:-1], axis=-1)], axis=-1)
    result = transforms.rfft(mirrored).real
    if norm == "ortho":
        ends = [result[..., :1] / root, result[..., 1:-1], result[..., -1:] / root]
        return tn.concat(ends, axis=-1) / math.sqrt(2 * (size - 1))
    return result if norm == "backward" else result / (2 * (size - 1))


def _second(x: AnyTensor, size: int, norm: str) -> AnyTensor:
    """Type 2: 2 Σ x_j cos(π(2j+1)k/(2n)), by one Fourier transform of the same size."""
    order = tn.concat([x[..., ::2], tn.flip(x[..., 1::2], axis=-1)], axis=-1)
    result = (transforms.fft(order) * _turns(x, size, 0.0, 4 * size)).real * 2
    if norm == "ortho":
        return _ends(result / math.sqrt(2 * size), math.sqrt(0.5))
    return result if norm == "backward" else result / (2 * size)


def _third(x: AnyTensor, size: int, norm: str) -> AnyTensor:
    """Type 3: x_0 + 2 Σ x_j cos(πj(2k+1)/(2n)), the inverse of type 2 times 2n."""
    if norm == "ortho":
        x = _ends(x, math.sqrt(2))
    mirrored = tn.concat([x[..., :1] * 0, tn.flip(x[..., 1:], axis=-1)], axis=-1)
    turned = _turns(x, size, 0.0, 4 * size).conj() * (x - 1j * mirrored)
    order = transforms.ifft(turned).real * size
    half = (size + 1) // 2
    even, odd = order[..., :half], tn.flip(order[..., half:], axis=-1)
    if size % 2:
        odd = tn.concat([odd, even[..., :1]], axis=-1)
    pairs = tn.stack([even, odd], axis=-1)
    result = pairs.reshape(*x.shape[:-1], 2 * half)[..., :size]
    if norm == "ortho":
        return result / math.sqrt(2 * size)
    return result if norm == "backward" else result / (2 * size)


def _fourth(x: AnyTensor, size: int, norm: str) -> AnyTensor:
    """Type 4: 2 Σ x_j cos(π(2j+1)(2k+1)/(4n)), by a transform of twice the size."""
    zeros = tn.zeros(x.shape, dtype=x.dtype)
    turned = x * _turns(x, size, 0.0, 4 * size)
    spectrum = transforms.fft(tn.concat([turned, zeros + 0 * turned], axis=-1))[..., :size]
    result = (spectrum * _turns(x, size, 0.5, 4 * size)).real * 2
    if norm == "ortho":
        return result / math.sqrt(2 * size)
    return result if norm == "backward" else result / (2 * size)


def _ends(x: AnyTensor, factor: float) -> AnyTensor:
    """x with its first element times a number."""
    return tn.concat([x[..., :1] * factor, x[..., 1:]], axis=-1)


_FUNCTIONS = {1: _first, 2: _second, 3: _third, 4: _fourth}
MISSING = {"fft": "use tn.fft.fft", "ifft": "use tn.fft.ifft", "rfft": "use tn.fft.rfft"}
"""Names of `scipy.fft`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.fft", __all__, MISSING)
