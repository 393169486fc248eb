"""Fourier transforms as `jax.lax` has them, and barriers."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from tenferro import fft as transforms
from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, PyTree
from tenferro.lax.arguments import tuple_of
from tenferro.numpy import asarray
from tenferro.transforms import flatten, unflatten

__all__ = ["FftType", "fft", "optimization_barrier"]


class FftType(enum.IntEnum):
    """Which transform `fft` computes."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_FUNCTIONS: dict[FftType, Any] = {
    FftType.FFT: transforms.fftn,
    FftType.IFFT: transforms.ifftn,
    FftType.RFFT: transforms.rfftn,
    FftType.IRFFT: transforms.irfftn,
}


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> AnyTensor:
    """A Fourier transform along the last axes.

    Args:
        x: the array.
        fft_type: a `FftType` or its name: "FFT", "IFFT", "RFFT" or "IRFFT".
        fft_lengths: the sizes of these axes; for "IRFFT" those of the result.

    Raises:
        ConfigError: there is no such transform.
        ShapeError: x does not have axes of these sizes.

    >>> tn.lax.fft(np.array([1.0, 1.0]), "RFFT", (2,))
    Tensor([2.+0.j, 0.+0.j])
    """
    name = "fft"
    if isinstance(fft_type, str) and fft_type.upper() in FftType.__members__:
        fft_type = FftType[fft_type.upper()]
    if fft_type not in _FUNCTIONS:
        names = ", ".join(FftType.__members__)
        raise ConfigError(f"{name}: fft_type must be one of {names}, got {fft_type!r}")
    array = asarray(x)
    lengths = tuple_of(name, "fft_lengths", fft_lengths, len(fft_lengths), 1)
    count = len(lengths)
    own = list(array.shape[-count:]) if 0 < count <= array.ndim else []
    if fft_type == FftType.IRFFT and own:
        own[-1] = lengths[-1] if own[-1] == lengths[-1] // 2 + 1 else -1
    if own != list(lengths):
        raise ShapeError(
            f"{name}: fft_lengths {lengths} are not the sizes of the last axes of {array.meta}"
        )
    return _FUNCTIONS[FftType(fft_type)](array, lengths, axes=tuple(range(-count, 0)))  # type: ignore[no-any-return]


def optimization_barrier(operand: PyTree, /) -> PyTree:
    """The arrays of a tree, unchanged. Passes keep no barriers.

    >>> tn.lax.optimization_barrier((1.0, np.ones(2)))
    (Tensor(1.), Tensor([1., 1.]))
    """
    leaves, tree = flatten(operand)
    return unflatten(tree, [asarray(leaf) for leaf in leaves])
