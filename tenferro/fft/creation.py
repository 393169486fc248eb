"""The frequencies of a transform, as users ask for them."""

from __future__ import annotations

from typing import Any

from tenferro.dispatch import create
from tenferro.errors import DTypeError
from tenferro.families import fft as family
from tenferro.fft import frequencies
from tenferro.fft.transforms import size_of
from tenferro.runtime import Executor
from tenferro.shape import FLOAT64, Dim, DType, as_dtype, assume_positive, is_floating, short_name
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike, Size


def fftfreq(
    n: Size,
    /,
    d: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: str | Executor | None = None,
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
    array = create(frequencies.both_signs, d, shape=(size,), dtype=element)
    return array if device is None else array.to_device(device)


def rfftfreq(
    n: Size,
    /,
    d: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: str | Executor | None = None,
) -> AnyTensor:
    """The frequencies of the results of `rfft`, in cycles per unit; parameters as in `fftfreq`.

    >>> tn.fft.rfftfreq(5, d=0.2)
    Tensor([0., 1., 2.])
    """
    size, element = _checked("rfftfreq", n, dtype)
    shape = (family.spectrum_length(size),)
    array = create(frequencies.not_negative, d, shape=shape, n=size, dtype=element)
    return array if device is None else array.to_device(device)


def _checked(name: str, n: Any, dtype: DTypeLike | None) -> tuple[Dim, DType]:
    element = FLOAT64 if dtype is None else as_dtype(dtype)
    if not is_floating(element):
        raise DTypeError(f"{name}: dtype must be floating-point, got {short_name(element)}")
    size = size_of(name, "n", n)
    assume_positive(size, f"{name}: n must be at least 1")
    return size, element
