"""Conversion between dtypes, and between complex numbers and their parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import (
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    each_active,
    jointly_linear,
    multilinear,
)
from tenferro.exec_ir import Array, Conjugation, payload
from tenferro.ops.base import StdTensorOp, check_kind, same_type
from tenferro.ops.broadcast_reduce import full, on_scalars, uniform, zeros_like
from tenferro.shape import (
    DType,
    TensorMeta,
    complex_dtype,
    is_complex,
    is_inexact,
    is_integer,
    real_dtype,
)


@payload
class Convert(StdTensorOp, name="convert"):
    """The numbers in another dtype, changed as follows if they do not fit.

    Complex to real takes the real part. Float to integer truncates, saturates at the ends of the
    range, and maps NaN to 0. Conversion to bool is true for nonzero numbers.
    """

    dtype: DType

    pointwise = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's shape with `dtype`."""
        return x.with_dtype(self.dtype)

    def numpy(self, x: Array) -> Array:
        """`astype`, with defined results for the conversions that NumPy leaves undefined."""
        if is_complex(x.dtype) and self.dtype.kind in "iuf":
            x = x.real
        if x.dtype.kind == "f" and is_integer(self.dtype):
            return _saturate(x, self.dtype)
        return x.astype(self.dtype)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear between inexact dtypes; inactive if either dtype is exact."""
        if not (is_inexact(self.dtype) and is_inexact(at.ctx.meta(at.primal[0]).dtype)):
            return (None,)
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent in the operand's dtype; a real operand gets the real part."""
        return each_active(at, lambda ct: at.emit(Convert(at.ctx.meta(at.inputs[0]).dtype), ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop a conversion to the same dtype; convert uniform values as scalars."""
        (x,) = operands
        meta = at.ctx.meta(x)
        if meta.dtype == self.dtype:
            return x
        value = uniform(at, x)
        if value is None or meta.dims is None:
            return on_scalars(at, self, operands)
        with np.errstate(all="ignore"):
            converted = self.numpy(value)
        return full(at, converted, self.infer(meta))


def _saturate(x: Array, dtype: DType) -> Array:
    info = np.iinfo(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0).astype(dtype)
        # As a float, the largest integer may round up out of range: compare instead of clipping.
        result = np.where(x >= float(info.max), info.max, result)
        return np.where(x <= float(info.min), info.min, result).astype(dtype)


@payload
class Real(StdTensorOp, name="real"):
    """Real part of a complex operand."""

    pointwise = True
    conjugation = Conjugation.SAME

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The parts' dtype."""
        check_kind(self.name, x, "c")
        return x.with_dtype(real_dtype(x.dtype))

    def numpy(self, x: Array) -> Array:
        """`numpy.real`."""
        return np.real(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear over the reals."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent as the real part."""
        return each_active(at, lambda ct: at.emit(COMPLEX, ct, zeros_like(at.emitter, ct)))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The real part of `complex(re, im)` is re."""
        producer = at.producer(operands[0])
        if producer is not None and type(producer[0]) is Complex:
            return producer[1][0]
        return on_scalars(at, self, operands)


@payload
class Imag(StdTensorOp, name="imag"):
    """Imaginary part of a complex operand."""

    pointwise = True
    conjugation = Conjugation.NEGATED

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The parts' dtype."""
        check_kind(self.name, x, "c")
        return x.with_dtype(real_dtype(x.dtype))

    def numpy(self, x: Array) -> Array:
        """`numpy.imag`."""
        return np.imag(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear over the reals."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent as the imaginary part."""
        return each_active(at, lambda ct: at.emit(COMPLEX, zeros_like(at.emitter, ct), ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The imaginary part of `complex(re, im)` is im."""
        producer = at.producer(operands[0])
        if producer is not None and type(producer[0]) is Complex:
            return producer[1][1]
        return on_scalars(at, self, operands)


@payload
class Complex(StdTensorOp, name="complex"):
    """The complex number with the given real and imaginary parts."""

    n_inputs = 2
    pointwise = True

    def infer(self, *parts: TensorMeta) -> TensorMeta:
        """The complex dtype of the parts."""
        meta = same_type(self.name, parts, "f")
        return meta.with_dtype(complex_dtype(meta.dtype))

    def numpy(self, re: Array, im: Array) -> Array:
        """The parts, stored without arithmetic, which would turn infinities into NaN."""
        result = np.empty(re.shape, complex_dtype(re.dtype))
        result.real = re
        result.imag = im
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in both parts together."""
        return jointly_linear(at, self, lambda part: zeros_like(at.emitter, part))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The parts of the cotangent."""
        return each_active(at, lambda ct: at.emit(REAL, ct), lambda ct: at.emit(IMAG, ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Combine repeated scalars as scalars."""
        return on_scalars(at, self, operands)


REAL = Real()
IMAG = Imag()
COMPLEX = Complex()
