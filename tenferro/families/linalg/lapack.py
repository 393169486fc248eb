"""Kernels of single matrices applied to batches, and the door to SciPy.

A matrix that fails gives NaN, others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np

from tenferro.ir import NumpyArray

Kernel = Callable[..., Sequence[Any]]


@cache
def scipy_linalg() -> Any:
    """The module `scipy.linalg`, imported by the first kernel that needs it."""
    return EntryPoint("scipy_linalg", "scipy.linalg", "tenferro.kernels").load()


def over_batch(
    kernel: Kernel,
    arrays: Sequence[NumpyArray],
    ranks: Sequence[int],
    outputs: Sequence[NumpyArray],
) -> list[NumpyArray]:
    """Fill `outputs` with the results of `kernel` on each matrix of a batch.

    Where an input is not finite, or the kernel raises LinAlgError, inexact outputs are NaN and
    integer ones are left as they are.

    Args:
        kernel: takes one array for each input and returns one for each output.
        arrays: the inputs, of equal batch sizes.
        ranks: the number of axes of each input that are not batch axes.
        outputs: arrays to fill, with the same batch axes.
    """
    batch = arrays[0].shape[: arrays[0].ndim - ranks[0]]
    for index in np.ndindex(*batch):
        parts = [array[index] for array in arrays]
        results: Sequence[Any] | None = None
        if all(np.isfinite(part).all() for part in parts):
            try:
                results = kernel(*parts)
            except np.linalg.LinAlgError:
                results = None
        for number, output in enumerate(outputs):
            if results is not None:
                output[index] = results[number]
            elif output.dtype.kind in "fc":
                output[index] = np.nan
    return list(outputs)


def stacked(
    kernel: Kernel, arrays: Sequence[NumpyArray], outputs: Sequence[NumpyArray]
) -> list[NumpyArray]:
    """The results of a kernel of whole batches of matrices; matrix by matrix where it fails."""
    if all(np.isfinite(array).all() for array in arrays):
        try:
            results = kernel(*arrays)
        except np.linalg.LinAlgError:
            results = None
        if results is not None:
            return [
                np.asarray(result, dtype=output.dtype)
                for result, output in zip(results, outputs, strict=True)
            ]
    return over_batch(kernel, arrays, [2] * len(arrays), outputs)


def adjoint(x: NumpyArray) -> NumpyArray:
    """The conjugate transpose of each matrix."""
    return np.asarray(x.swapaxes(-1, -2).conj())


def hermitian_part(x: NumpyArray) -> NumpyArray:
    """(x + xᴴ) / 2."""
    return np.asarray((x + adjoint(x)) / 2)
