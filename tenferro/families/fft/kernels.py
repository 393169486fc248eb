"""The reference implementation, by `numpy.fft`. Single precision stays single."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.families.fft.op import Fft
from tenferro.ir import NumpyArray

_NORMS = {"none": "backward", "inverse": "forward", "root": "ortho"}
_INVERSE_NORMS = {"none": "forward", "inverse": "backward", "root": "ortho"}


def transform(op: Fft, x: NumpyArray, *source: NumpyArray) -> list[NumpyArray]:
    """The transform."""
    shapes = [x.shape, *(each.shape for each in source)]
    ((dtype, shape),) = op.infer_output_meta([x.dtype] * len(shapes), shapes)
    if not x.size:
        return [np.zeros(shape, dtype)]
    norm: Any = (_INVERSE_NORMS if op.is_inverse else _NORMS)[op.scale]
    axes = tuple(range(-op.axes, 0))
    with np.errstate(all="ignore"):  # infinities give NaN
        result: NumpyArray
        if op.kind == "c2c":
            result = np.fft.fftn(x, axes=axes, norm=norm)
        elif op.kind == "c2c inverse":
            result = np.fft.ifftn(x, axes=axes, norm=norm)
        elif op.kind == "r2c":
            result = np.fft.rfftn(x, axes=axes, norm=norm)
        else:
            sizes = (*x.shape[-op.axes : -1], source[0].shape[-1])
            result = np.fft.irfftn(x, s=sizes, axes=axes, norm=norm)
    return [np.asarray(result, dtype)]
