"""Bits of numbers, read as numbers of another dtype."""

from __future__ import annotations

import numpy as np

from tenferro.errors import ShapeError
from tenferro.ir import AnyTensor, DType, TensorMeta, dtype_kind, short_name
from tenferro.ops import OR, SHIFT_LEFT, SHIFT_RIGHT, BitcastConvert, Convert
from tenferro.ops.functions.dispatch import emit, full_like
from tenferro.ops.functions.manipulation import stack

__all__ = ["bitcast"]


def bitcast(x: AnyTensor, dtype: DType) -> AnyTensor:
    """The bits of x as those of another dtype.

    Wider elements become several along a new last axis, the lowest bits first; narrower ones are
    joined along the last axis.
    """
    meta: TensorMeta = x.meta
    source, width = meta.dtype.itemsize, dtype.itemsize
    if meta.dtype == dtype:
        return x
    if source == width or dtype_kind(dtype) not in "iuf" or dtype_kind(meta.dtype) not in "iuf":
        return emit(BitcastConvert(dtype), x)
    bits = x if dtype_kind(meta.dtype) == "u" else emit(BitcastConvert(np.dtype(f"u{source}")), x)
    if source > width:
        narrow = np.dtype(f"u{width}")
        parts = [
            emit(Convert(narrow), emit(SHIFT_RIGHT, bits, full_like(8 * width * place, bits)))
            for place in range(source // width)
        ]
        bits = stack(*parts, axis=-1)
    else:
        count, shape = width // source, meta.exact_shape("bitcast_convert_type", "operand")
        if not shape or shape[-1] != count:
            raise ShapeError(
                f"bitcast_convert_type: the last axis of {meta} must have {count} elements, which "
                f"are joined to one of {short_name(dtype)}"
            )
        wide = np.dtype(f"u{width}")
        joined = None
        for place in range(count):
            part = emit(Convert(wide), bits[..., place])
            part = emit(SHIFT_LEFT, part, full_like(8 * source * place, part))
            joined = part if joined is None else emit(OR, joined, part)
        assert joined is not None, "an element has a width"
        bits = joined
    return bits if bits.meta.dtype == dtype else emit(BitcastConvert(dtype), bits)
