"""Piecewise functions, elementwise: extrema, remainders, rounding, and bits."""

from __future__ import annotations

import numpy as np

from tenferro.errors import DTypeError
from tenferro.ir import (
    BOOL,
    DType,
    NumpyArray,
    TensorMeta,
    dtype_kind,
    is_integer,
    payload,
    short_name,
)
from tenferro.ops.elementwise import Elementwise, Term, where

__all__ = [
    "AND",
    "CEIL",
    "CLAMP",
    "COUNT_LEADING_ZEROS",
    "FLOOR",
    "MAXIMUM",
    "MINIMUM",
    "NOT",
    "OR",
    "POPULATION_COUNT",
    "REM",
    "ROUND",
    "SHIFT_LEFT",
    "SHIFT_RIGHT",
    "SIGN_BIT",
    "XOR",
    "And",
    "BitcastConvert",
    "Ceil",
    "Clamp",
    "CountLeadingZeros",
    "Floor",
    "Maximum",
    "Minimum",
    "Not",
    "Or",
    "PopulationCount",
    "Rem",
    "RoundNearestEven",
    "ShiftLeft",
    "ShiftRight",
    "SignBit",
    "Xor",
]


# Extrema and remainders.


def _extremum(t: Term, z: Term, x: Term, y: Term) -> Term:
    """The tangent of x where x is the result, half of it where y is too."""
    return where(x.equals(z), where(y.equals(z), x.like(0.5), 1), 0) * t


class Maximum(Elementwise, name="maximum", numpy=np.maximum, lax="max"):
    """The larger of x and y."""

    n_inputs = 2
    kinds = "iuf"
    commutative = True
    jvp = (_extremum, lambda t, z, x, y: _extremum(t, z, y, x))


class Minimum(Elementwise, name="minimum", numpy=np.minimum, lax="min"):
    """The smaller of x and y."""

    n_inputs = 2
    kinds = "iuf"
    commutative = True
    jvp = Maximum.jvp


def _clamp(low: NumpyArray, x: NumpyArray, high: NumpyArray) -> NumpyArray:
    return np.minimum(np.maximum(x, low), high)


class Clamp(Elementwise, name="clamp", numpy=_clamp, lax="clamp"):
    """min(max(x, low), high), operands in the order low, x, high."""

    n_inputs = 3
    kinds = "iuf"
    jvp = (  # of the operand that is strictly the result; of high if low exceeds it
        lambda t, y, low, x, high: where(low > x, where(high >= low, t, 0), 0),
        lambda t, y, low, x, high: where(x > low, where(high > x, t, 0), 0),
        lambda t, y, low, x, high: where(MAXIMUM(low, x) > high, t, 0),
    )


@payload
class Rem(Elementwise, name="remainder", lax="rem"):
    """x - y·trunc(x/y), with the sign of x; 0 where an integer y is 0.

    With `floor`, x - y·floor(x/y), with the sign of y, also of zeros.
    """

    floor: bool = False

    added_fields = ("floor",)
    n_inputs = 2
    kinds = "iuf"
    jvp = (lambda t, z, x, y: t, lambda t, z, x, y: -((x - z) / y * t))

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        rem = np.remainder if self.floor else np.fmod
        if is_integer(x.dtype):
            return np.where(y == 0, 0, rem(x, np.where(y == 0, 1, y))).astype(x.dtype)
        return rem(x, y)


MAXIMUM: Maximum = Maximum()
MINIMUM = Minimum()
CLAMP = Clamp()
REM = Rem()


# Rounding and the sign bit: piecewise constant functions. Infinities, NaN and -0.0 are unchanged.


class Rounding(Elementwise):
    """An integer near x, as a floating-point number."""

    kinds = "f"
    jvp = (None,)


class Floor(Rounding, name="floor", numpy=np.floor, lax="floor"):
    """The largest integer that is not above x."""


class Ceil(Rounding, name="ceil", numpy=np.ceil, lax="ceil"):
    """The smallest integer that is not below x."""


class RoundNearestEven(Rounding, name="round_nearest_even", numpy=np.rint, lax="round"):
    """The nearest integer, half to even."""


class SignBit(Rounding, name="sign_bit", numpy=np.signbit, dtype_of=lambda dtype: BOOL):
    """Whether the sign bit of a floating-point x is set, as for -0.0; NaN has a sign bit too."""


FLOOR = Floor()
CEIL = Ceil()
ROUND = RoundNearestEven()
SIGN_BIT = SignBit()


# Bits of integers, and logic of bools.


class Bitwise(Elementwise):
    """An op of two operands on the bits of integers, or on bools."""

    n_inputs = 2
    kinds = "biu"
    commutative = True
    jvp = (None, None)


class And(Bitwise, name="and", numpy=np.bitwise_and, lax="bitwise_and"):
    """The bits that both operands have."""


class Or(Bitwise, name="or", numpy=np.bitwise_or, lax="bitwise_or"):
    """The bits that either operand has."""


class Xor(Bitwise, name="xor", numpy=np.bitwise_xor, lax="bitwise_xor"):
    """The bits that exactly one operand has."""


class Not(Elementwise, name="not", numpy=np.bitwise_not, lax="bitwise_not"):
    """Every bit inverted; -1 - x for signed integers."""

    kinds = "biu"
    jvp = (None,)


class Shift(Bitwise):
    """The bits of x shifted by y; if y is negative or at least the bit width, all bits are lost."""

    kinds = "iu"
    commutative = False


class ShiftLeft(Shift, name="shift_left", numpy=np.left_shift, lax="shift_left"):
    """The bits of x shifted toward the higher bits by y places; zeros are shifted in."""


class ShiftRight(Shift, name="shift_right", numpy=np.right_shift):
    """The bits of x shifted toward the lower bits by y places; the sign is shifted in.

    For unsigned integers, zeros are shifted in.
    """


def _unsigned(x: NumpyArray) -> NumpyArray:
    return np.ascontiguousarray(x).view(np.dtype(f"u{x.dtype.itemsize}")).reshape(x.shape)


def _leading_zeros(x: NumpyArray) -> NumpyArray:
    bits, width = _unsigned(x), 8 * x.dtype.itemsize
    shift = 1
    while shift < width:  # afterwards, all bits below the highest one are set
        bits = bits | (bits >> bits.dtype.type(shift))
        shift *= 2
    return (width - np.bitwise_count(bits).astype(int)).astype(x.dtype)


class PopulationCount(
    Elementwise,
    name="population_count",
    numpy=lambda x: np.bitwise_count(_unsigned(x)).astype(x.dtype),
    lax="population_count",
):
    """How many bits of x are set."""

    kinds = "iu"
    jvp = (None,)


class CountLeadingZeros(Elementwise, name="count_leading_zeros", numpy=_leading_zeros, lax="clz"):
    """How many bits of x are zero above the highest one that is set."""

    kinds = "iu"
    jvp = (None,)


@payload
class BitcastConvert(Elementwise, name="bitcast_convert"):
    """The bits of x as those of another dtype of the same width."""

    dtype: DType

    own_precision = True
    jvp = (None,)

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        (x,) = metas
        source = x.dtype
        if any(dtype_kind(dtype) not in "iuf" for dtype in (source, self.dtype)):
            raise DTypeError(
                f"bitcast_convert: takes integers and real floating-point numbers, got {x} and "
                f"{short_name(self.dtype)}"
            )
        if source.itemsize != self.dtype.itemsize:
            raise DTypeError(
                f"bitcast_convert: {x} and {short_name(self.dtype)} have different widths"
            )
        return x.with_dtype(self.dtype)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return np.ascontiguousarray(x).view(self.dtype).reshape(x.shape)


AND = And()
OR = Or()
XOR = Xor()
NOT = Not()
POPULATION_COUNT = PopulationCount()
COUNT_LEADING_ZEROS = CountLeadingZeros()
SHIFT_LEFT = ShiftLeft()
SHIFT_RIGHT = ShiftRight()
