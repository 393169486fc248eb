"""Elementwise functions that are made of others, of floating-point numbers and of bits.

Those of one op: `elementwise`, `analytic` and `logical` of `tenferro.ops.functions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.errors import ConfigError, DTypeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    as_dtype,
    dtype_kind,
    float_limits,
    is_complex,
    is_inexact,
)
from tenferro.numpy.arguments import (
    along,
    array,
    constant_size,
    count,
    integers,
    option,
    promoted,
    reals,
)
from tenferro.numpy.creation import asarray, astype, ones_like, zeros_like
from tenferro.numpy.dtypes import inf, nan
from tenferro.numpy.manipulation import broadcast_arrays, with_zeros
from tenferro.ops.functions import apply, elementwise, reductions, refuse_out
from tenferro.ops.functions.analytic import log2, sin
from tenferro.ops.functions.elementwise import (
    floor,
    floor_divide,
    imag,
    maximum,
    minimum,
    multiply,
    negative,
    positive,
    remainder,
    square,
    trunc,
    where,
)
from tenferro.ops.functions.logical import (
    bitwise_and,
    bitwise_right_shift,
    copysign,
    equal,
    isfinite,
    isinf,
    isnan,
    not_equal,
)
from tenferro.ops.functions.manipulation import moveaxis
from tenferro.runtime import weak_number
from tenferro.transforms import while_loop

__all__ = [
    "bitwise_count",
    "clip",
    "divmod",
    "fabs",
    "float_power",
    "fmax",
    "fmin",
    "frexp",
    "gcd",
    "heaviside",
    "iscomplex",
    "isneginf",
    "isposinf",
    "isreal",
    "lcm",
    "ldexp",
    "modf",
    "nan_to_num",
    "packbits",
    "sinc",
    "spacing",
    "unpackbits",
]


def clip(
    a: ArrayLike,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    out: None = None,
    *,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
) -> AnyTensor:
    """`a` clamped between `min` and `max`, either of which may be absent.

    `a_min` and `a_max` are other names of them.

    The derivative is 1 strictly between the bounds.

    >>> tn.clip([1, 5, 9], 2, 8)
    Tensor([2, 5, 8])
    """
    refuse_out("clip", out)
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise ConfigError("clip: a bound is passed twice; leave a_min and a_max out")
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    if low is None:
        return positive(a) if high is None else minimum(a, high)
    if high is None:
        return maximum(a, low)
    return apply(elementwise.clamp, a, low, high)


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> AnyTensor:
    """x with NaN and infinities replaced; None means the dtype's largest or smallest number.

    The result is a new array in any case: `copy` has no effect.

    >>> tn.nan_to_num([1.0, float('nan')])
    Tensor([1., 0.])
    """
    bounds = {sign: each for sign, each in (("+", posinf), ("-", neginf)) if each is not None}
    return apply(elementwise.nan_to_num, x, nan, *bounds.values(), signs="".join(bounds))


# Elementwise functions of floating-point numbers.

_SERIES_BELOW = 0.25
"""Where sin(t)/t is a sum of powers of t², so that all its derivatives are right at 0."""


def fmax(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The larger of x1 and x2; the other one if one is NaN.

    >>> tn.fmax([1.0, tn.nan], 0.5)
    Tensor([1. , 0.5])
    """
    a, b = reals("fmax", x1, x2)
    if not is_inexact(a.dtype):
        return maximum(a, b)
    return where((a > b) | isnan(b), a, b)


def fmin(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The smaller of x1 and x2; the other one if one is NaN.

    >>> tn.fmin([1.0, tn.nan], 0.5)
    Tensor([0.5, 0.5])
    """
    a, b = reals("fmin", x1, x2)
    if not is_inexact(a.dtype):
        return minimum(a, b)
    return where((a < b) | isnan(b), a, b)


def fabs(x: ArrayLike) -> AnyTensor:
    """|x| of real numbers; integers become float64.

    >>> tn.fabs([-1, 2])
    Tensor([1., 2.])
    """
    return elementwise.abs(_inexact_real("fabs", x)[0])


def float_power(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 to the power x2, in float64 or complex128.

    >>> tn.float_power([2, 4], -1)
    Tensor([0.5 , 0.25])
    """
    a, b = array("float_power", x1), array("float_power", x2)  # not promoted: numbers need not fit
    dtype = as_dtype(complex if is_complex(a.dtype) or is_complex(b.dtype) else float)
    return elementwise.pow(a.astype(dtype), b.astype(dtype))


def heaviside(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """0 where x1 is negative, 1 where it is positive, x2 where it is 0.

    >>> tn.heaviside([-1.0, 0.0, 2.0], 0.5)
    Tensor([0. , 0.5, 1. ])
    """
    a, b = _inexact_real("heaviside", x1, x2)
    step = where(a > 0, ones_like(a), 0)
    return where(a == 0, b, where(isnan(a), a, step))


def sinc(x: ArrayLike) -> AnyTensor:
    """sin(πx) / (πx), and 1 at 0; its derivatives of every order are right at 0 too.

    >>> tn.sinc([0.0, 0.5])
    Tensor([1.        , 0.63661977])
    """
    (a,) = promoted("sinc", x, inexact=True)
    t = multiply(a, np.pi)
    near = elementwise.abs(t) < _SERIES_BELOW
    squared: Any = square(where(near, t, 0))
    series: Any = ones_like(squared)
    for k in range(8, 0, -1):
        series = 1 - squared * series / ((2 * k) * (2 * k + 1))
    far = where(near, 1, t)
    return where(near, series, sin(far) / far)


def modf(x: ArrayLike) -> tuple[AnyTensor, AnyTensor]:
    """The fractional part and the integral part, both with the sign of x.

    >>> tn.modf([1.5, -2.25])
    (Tensor([ 0.5 , -0.25]), Tensor([ 1., -2.]))
    """
    (a,) = _inexact_real("modf", x)
    towards_zero = trunc(a)
    fraction = where(isinf(a), 0, a - towards_zero)
    return copysign(fraction, a), towards_zero


def divmod(x1: ArrayLike, x2: ArrayLike) -> tuple[AnyTensor, AnyTensor]:
    """The quotient rounded down, and the remainder.

    >>> tn.divmod([7, -7], 4)
    (Tensor([ 1, -2]), Tensor([3, 1]))
    """
    a, b = reals("divmod", x1, x2)
    return floor_divide(a, b), remainder(a, b)


def frexp(x: ArrayLike) -> tuple[AnyTensor, AnyTensor]:
    """Mantissas m with 0.5 <= |m| < 1, and int32 exponents e, such that x = m · 2^e.

    The derivative of m is 2^-e.

    >>> tn.frexp([3.0, 0.5])
    (Tensor([0.75, 0.5 ]), Tensor([2, 0], dtype=int32))
    """
    (a,) = _inexact_real("frexp", x)
    regular = isfinite(a) & (a != 0)
    size = elementwise.abs(where(regular, a, 1))
    # A subnormal number is scaled up first; the logarithm may be wrong by one at powers of 2.
    info = float_limits(a.dtype)
    lift = where(size < info.smallest_normal, info.nmant + 1, 0).astype("int32")
    lifted = _scaled(size, lift)
    regular = regular & (lifted > 0)  # XLA takes subnormal numbers for 0
    size, lift = where(regular, size, 1), where(regular, lift, 0)
    guess = floor(log2(where(regular, lifted, 1))).astype("int32") + 1 - lift
    mantissa: Any = _scaled(size, negative(guess))
    more = (mantissa >= 1).astype("int32") - (mantissa < 0.5).astype("int32")
    exponent = guess + more
    result = _scaled(where(regular, a, 1), negative(exponent))
    rest = where(isfinite(a), a * 0, a)
    return where(regular, result, rest), where(regular, exponent, 0).astype("int32")


def ldexp(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 · 2^x2 for integers x2.

    >>> tn.ldexp([0.75, 0.5], [2, 0])
    Tensor([3. , 0.5])
    """
    powers = array("ldexp", x2)
    if dtype_kind(powers.dtype) not in "biu":
        raise DTypeError(f"ldexp: x2 must be integers, got {powers.meta}")
    (a,) = _inexact_real("ldexp", x1)
    a, powers = broadcast_arrays(a, powers)
    return _scaled(a, powers)  # type: ignore[no-any-return]


def spacing(x: ArrayLike) -> AnyTensor:
    """The distance from x to the next number away from 0, with the sign of x; positive at 0.

    >>> tn.spacing(1.0) == tn.finfo("float64").eps
    Tensor(True)
    """
    (a,) = _inexact_real("spacing", x)
    info = float_limits(a.dtype)
    exponent: Any = maximum(frexp(a)[1], info.minexp + 1) - (info.nmant + 1)
    step = copysign(_scaled(ones_like(a), exponent), a)
    least = copysign(float(info.smallest_subnormal), where(a == 0, 0, a))
    step = where(elementwise.abs(a) < info.smallest_normal, least, step)
    return where(isfinite(a), step, nan)


def isneginf(x: ArrayLike) -> AnyTensor:
    """Whether each element is -inf.

    >>> tn.isneginf([-tn.inf, tn.inf])
    Tensor([ True, False])
    """
    (a,) = reals("isneginf", x)
    return a == -inf if is_inexact(a.dtype) else zeros_like(a, "bool")


def isposinf(x: ArrayLike) -> AnyTensor:
    """Whether each element is inf.

    >>> tn.isposinf([-tn.inf, tn.inf])
    Tensor([False,  True])
    """
    (a,) = reals("isposinf", x)
    return a == inf if is_inexact(a.dtype) else zeros_like(a, "bool")


def iscomplex(x: ArrayLike) -> AnyTensor:
    """Whether the imaginary part of each element is not 0.

    >>> tn.iscomplex([1 + 1j, 2 + 0j])
    Tensor([ True, False])
    """
    return not_equal(imag(array("iscomplex", x)), 0)


def isreal(x: ArrayLike) -> AnyTensor:
    """Whether the imaginary part of each element is 0.

    >>> tn.isreal([1 + 1j, 2 + 0j])
    Tensor([False,  True])
    """
    return equal(imag(array("isreal", x)), 0)


def _inexact_real(name: str, *operands: Any) -> list[Any]:
    """Operands in their common floating-point dtype; integers become float64."""
    reals(name, *operands)
    return promoted(name, *operands, inexact=True)


def _scaled(x: Any, exponent: Any) -> Any:
    """x · 2^exponent, exactly unless the result is subnormal; in steps that do not overflow."""
    info = float_limits(x.dtype)
    limit = int(info.maxexp - info.minexp + info.nmant + 2)
    rest: Any = clip(exponent.astype("int32"), -limit, limit)
    largest = int(info.maxexp) - 2
    for _ in range(-(-limit // largest)):
        part = clip(rest, -largest, largest)
        # Between the steps, what keeps XLA from multiplying the powers, which may overflow.
        x = where(isinf(x), x, x * _power_of_two(part, x.dtype, largest))
        rest = rest - part
    return x


def _power_of_two(exponent: Any, dtype: Any, largest: int) -> Any:
    """2^exponent as a product of squares of squares, which are exact."""
    size: Any = elementwise.abs(exponent)
    result: Any = ones_like(exponent, dtype)
    for bit in range(largest.bit_length()):
        odd = bitwise_and(bitwise_right_shift(size, bit), 1) == 1
        factor = where(exponent < 0, 0.5 ** (1 << bit), 2.0 ** (1 << bit)).astype(dtype)
        result = where(odd, result * factor, result)
    return result


# Functions of integers and of their bits.

_WEIGHTS = [128, 64, 32, 16, 8, 4, 2, 1]


def gcd(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The greatest common divisor; |x| where the other is 0.

    >>> tn.gcd([12, 7], 18)
    Tensor([6, 1])
    """
    return _in_integers("gcd", x1, x2, _gcd)


def _in_integers(name: str, x1: ArrayLike, x2: ArrayLike, function: Any) -> AnyTensor:
    """`function` of both, where a number takes part with all its digits, in their common dtype."""
    common = integers(name, x1, x2)
    numbers = any(weak_number(each) is not None for each in (x1, x2))
    if numbers and dtype_kind(common[0].dtype) in "iu" and common[0].dtype.itemsize < 8:
        wide = [array(name, each).astype("int64") for each in (x1, x2)]
        return astype(function(*wide), common[0].dtype)
    result: AnyTensor = function(*common)
    return result


def _gcd(x1: Any, x2: Any) -> AnyTensor:
    a, b = broadcast_arrays(x1, x2)

    def step(pair: Any) -> Any:
        one, other = pair
        divisor = where(other == 0, 1, other)
        return where(other == 0, one, other), where(other == 0, 0, one % divisor)

    # The least integer has no magnitude, so that divisors may be negative.
    pair = while_loop(
        lambda pair: reductions.any(pair[1] != 0), step, (elementwise.abs(a), elementwise.abs(b))
    )
    return elementwise.abs(pair[0])


def lcm(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The least common multiple; 0 where one of them is 0.

    >>> tn.lcm([4, 0], 6)
    Tensor([12,  0])
    """

    def of_magnitudes(x1: Any, x2: Any) -> AnyTensor:
        a, b = elementwise.abs(x1), elementwise.abs(x2)
        divisor: Any = _gcd(a, b)
        return multiply(floor_divide(a, where(divisor == 0, 1, divisor)), b)

    return _in_integers("lcm", x1, x2, of_magnitudes)


def bitwise_count(x: ArrayLike) -> AnyTensor:
    """The number of ones among the bits of |x|, in uint8.

    >>> tn.bitwise_count([7, -8])
    Tensor([3, 1], dtype=uint8)
    """
    (a,) = integers("bitwise_count", x)
    # The magnitude as an unsigned number: the least signed one has none of its own dtype.
    bits: Any = a.astype("uint64")
    bits = where(a < 0, -bits, bits) if dtype_kind(a.dtype) == "i" else bits
    for shift, mask in (
        (1, 0x5555555555555555),
        (2, 0x3333333333333333),
        (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF),
        (16, 0x0000FFFF0000FFFF),
        (32, 0x00000000FFFFFFFF),
    ):
        bits = (bits & mask) + ((bits >> shift) & mask)
    return bits.astype("uint8")  # type: ignore[no-any-return]


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> AnyTensor:
    """Each eight elements along `axis` as the bits of one uint8; zeros fill up the last one.

    Args:
        a: integers or bools; all that are not 0 count as 1.
        axis: the axis; the flattened array if None.
        bitorder: "big" if the first element is the bit of value 128, "little" if that of value 1.

    >>> tn.packbits([1, 0, 1])
    Tensor([160], dtype=uint8)
    """
    option("packbits", "bitorder", bitorder, ("big", "little"))
    (values,) = integers("packbits", a)
    x, place = along("packbits", values, axis)
    front: Any = moveaxis((x != 0).astype("uint8"), place, -1)
    size = constant_size("packbits", front, front.ndim - 1)
    front = with_zeros(front, [(0, 0)] * (front.ndim - 1) + [(0, -size % 8)])
    groups = front.reshape((*front.shape[:-1], -(-size // 8), 8))
    weights = asarray(_WEIGHTS if bitorder == "big" else _WEIGHTS[::-1], "uint8")
    packed = reductions.sum(groups * weights, axis=-1).astype("uint8")
    return moveaxis(packed, -1, place)


def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> AnyTensor:
    """The bits of uint8 numbers along `axis`, in uint8; the inverse of `packbits`.

    Args:
        a: uint8 numbers.
        axis: the axis; the flattened array if None.
        count: the number of bits; a negative number leaves out that many; all if None.
        bitorder: as of `packbits`.

    >>> tn.unpackbits(tn.array([160], "uint8"), count=3)
    Tensor([1, 0, 1], dtype=uint8)
    """
    option("unpackbits", "bitorder", bitorder, ("big", "little"))
    values = array("unpackbits", a)
    if values.dtype != "uint8":
        raise DTypeError(f"unpackbits: takes u8, got {values.meta}")
    x, place = along("unpackbits", values, axis)
    front: Any = moveaxis(x, place, -1)
    weights = asarray(_WEIGHTS if bitorder == "big" else _WEIGHTS[::-1], "uint8")
    bits: Any = ((front[..., None] & weights) != 0).astype("uint8")
    bits = bits.reshape((*front.shape[:-1], -1))
    if count is not None:
        bits = _of_length(bits, count)
    return moveaxis(bits, -1, place)


def _of_length(bits: Any, length: int) -> Any:
    """The first bits; zeros fill up."""
    size = constant_size("unpackbits", bits, bits.ndim - 1)
    if length < 0:
        return bits[..., : max(size + length, 0)]
    missing = count("unpackbits", "count", length) - size
    if missing <= 0:
        return bits[..., :length]
    return with_zeros(bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)])
