"""Window functions, and numbers evenly spaced on a logarithmic scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro import namespace as tn
from tenferro.composed.arguments import check_affordable, count, number, promoted
from tenferro.ir import AnyTensor, ArrayLike, DimExpr, DTypeLike, Size

__all__ = ["bartlett", "blackman", "geomspace", "hamming", "hanning", "kaiser"]


def hamming(M: int) -> AnyTensor:  # noqa: N803  # NumPy's name
    """The Hamming window of M points.

    >>> tn.hamming(3)
    Tensor([0.08, 1.  , 0.08])
    """
    return tn.asarray(np.hamming(_points("hamming", M)))


def hanning(M: int) -> AnyTensor:  # noqa: N803
    """The Hann window of M points.

    >>> tn.hanning(3)
    Tensor([0., 1., 0.])
    """
    return tn.asarray(np.hanning(_points("hanning", M)))


def blackman(M: int) -> AnyTensor:  # noqa: N803
    """The Blackman window of M points.

    >>> tn.round(tn.blackman(3), 3)
    Tensor([-0.,  1., -0.])
    """
    return tn.asarray(np.blackman(_points("blackman", M)))


def bartlett(M: int) -> AnyTensor:  # noqa: N803
    """The triangular window of M points, with zeros at the ends.

    >>> tn.bartlett(3)
    Tensor([0., 1., 0.])
    """
    return tn.asarray(np.bartlett(_points("bartlett", M)))


def kaiser(M: int, beta: float) -> AnyTensor:  # noqa: N803
    """The Kaiser window of M points with the shape `beta`, which must be a number.

    >>> tn.kaiser(3, 0.0)
    Tensor([1., 1., 1.])
    """
    return tn.asarray(np.kaiser(_points("kaiser", M), number("kaiser", "beta", beta)))


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> AnyTensor:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before it.

    Args:
        start: the first number; not 0.
        stop: the last number, which is excluded if not `endpoint`; not 0.
        num: how many.
        endpoint: whether `stop` is the last number.
        dtype: of the result.
        axis: the axis along which the numbers are, if start or stop is an array.

    >>> tn.geomspace(1.0, 100.0, 3)
    Tensor([  1.,  10., 100.])
    """
    first, last = promoted("geomspace", start, stop, inexact=True)
    first, last = tn.broadcast_arrays(first, last)
    length: Any = num if isinstance(num, DimExpr) else count("geomspace", "num", num)
    if first.dtype.kind == "c":
        turn = tn.sign(first)
    else:
        both: Any = (first < 0) & (last < 0)
        turn = tn.where(both, -1, 1).astype(first.dtype)
    exponents = tn.linspace(tn.log(first / turn), tn.log(last / turn), length, endpoint=endpoint)
    result: Any = tn.exp(exponents) * turn
    # Rounding would keep the ends from being exact.
    place: Any = tn.arange(length)[(..., *[None] * first.ndim)]
    if endpoint:
        result = tn.where(place == length - 1, last, result)
    result = tn.where(place == 0, first, result)
    result = tn.moveaxis(result, 0, axis) if axis else result
    return result if dtype is None else result.astype(dtype)  # type: ignore[no-any-return]


def _points(name: str, value: Any) -> int:
    """The number of points of a window."""
    points = count(name, "M", value)
    check_affordable(name, points)
    return points
