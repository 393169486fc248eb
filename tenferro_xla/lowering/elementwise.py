"""Elementwise ops for which the function of `jax.lax` that the row names is not enough.

XLA leaves integer division by zero undefined, takes roots on a branch cut without the sign of zero,
and loses digits of complex functions. Every other row is lowered by its name; see `registry`.
"""

from __future__ import annotations

import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro import ops
from tenferro.ir import DType, dtype_kind, is_complex, is_floating, is_integer
from tenferro_xla.lowering.registry import lower

# Conjugates and quotients.


@lower.register
def _(op: ops.Conj, x: Array) -> Array:
    if not is_complex(x.dtype):
        return x
    return lax.complex(lax.real(x), lax.neg(lax.imag(x)))  # `lax.conj` is traced at each use


@lower.register
def _(op: ops.Div, x: Array, y: Array) -> Array:
    quotient = lax.div(x, y)
    return zero_where_zero(y, quotient) if is_integer(x.dtype) else quotient


def zero_where_zero(divisor: Array, result: Array) -> Array:
    """`result`, but 0 where the divisor is 0: XLA does not define integer division by zero."""
    zero = lax.full_like(divisor, 0)
    return lax.select(lax.eq(divisor, zero), zero, result)


# Rounding, and the sign bit.


def sign_bit(x: Array) -> Array:
    """Whether the sign of a floating-point number is negative, also that of zero."""
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{8 * x.dtype.itemsize}"))
    return lax.lt(bits, lax.full_like(bits, 0))


def with_signs(result: Array, real: Array | None, imag: Array) -> Array:
    """A complex result whose parts have the signs of those of two numbers, also where they are 0.

    On a branch cut, the sign of a zero says on which side; XLA treats -0 like 0 there. Without
    `real`, the real part is not negative.
    """
    if not is_complex(result.dtype):
        return result
    size = lax.abs(lax.real(result))
    re = size if real is None else _signed(size, lax.real(real))
    return lax.complex(re, _signed(lax.abs(lax.imag(result)), lax.imag(imag)))


def _signed(size: Array, sign: Array) -> Array:
    return lax.select(sign_bit(sign), lax.neg(size), size)


# Analytic functions.


@lower.register
def _(op: ops.Sqrt, x: Array) -> Array:
    """The principal root, from t = sqrt((|re x| + |x|)/2) and |im x|/2t, which are its parts.

    XLA writes a complex root as so many operations that it stores some of them. Numbers are scaled
    where |x| would overflow, or half of it would not be a normal number. (FreeBSD's csqrt.)
    """
    if not is_complex(x.dtype):
        return lax.sqrt(x)
    re, im = lax.real(x), lax.imag(x)
    a, b = lax.abs(re), lax.abs(im)
    limits, largest, one = np.finfo(a.dtype), lax.max(a, b), lax.full_like(a, 1)

    def number(value: float) -> Array:
        return lax.full_like(a, value)

    huge = lax.gt(largest, number(limits.max / 4))
    small = lax.lt(largest, number(limits.tiny * 16))
    scale = lax.select(huge, number(2.0**-4), lax.select(small, number(2.0**24), one))
    unscale = lax.select(huge, number(2.0**2), lax.select(small, number(2.0**-12), one))
    scaled = lax.mul(a, scale)
    size = lax.abs(lax.complex(scaled, lax.mul(b, scale)))
    longer = lax.mul(lax.sqrt(lax.mul(lax.add(scaled, size), number(0.5))), unscale)
    infinite = lax.eq(b, number(np.inf))
    either = lax.bitwise_or(infinite, lax.eq(a, number(np.inf)))
    longer = lax.select(either, number(np.inf), longer)
    undefined = lax.bitwise_or(infinite, lax.eq(longer, number(0)))
    shorter = lax.select(undefined, b, lax.div(b, lax.mul(longer, number(2))))
    right = lax.ge(re, number(0))
    real, imag = lax.select(right, longer, shorter), lax.select(right, shorter, longer)
    return lax.complex(real, _signed(imag, im))


def _real_of_real(x: Array, result: Array) -> Array:
    """Complex results with the imaginary part of x where that is 0 of either sign."""
    if not is_complex(x.dtype):
        return result
    im = lax.imag(x)
    imag = lax.select(lax.eq(im, lax.full_like(im, 0)), im, lax.imag(result))
    return lax.complex(lax.real(result), imag)


@lower.register
def _(op: ops.SechSquared, x: Array) -> Array:
    if not is_complex(x.dtype):
        # 4y(1 - y) with y = logistic(2x), and 1 - y = y·exp(-2x) where y is large. XLA computes the
        # exponential and the quotient once for a logistic function and its derivative.
        twice = 2 * x if x.dtype.itemsize > 2 else 2 * lax.convert_element_type(x, np.float32)
        power = lax.exp(lax.neg(twice))
        y = 1 / (1 + power)
        rest = lax.select(lax.gt(x, lax.full_like(x, 0)), y * power, 1 - y)
        return lax.convert_element_type(4 * (y * rest), x.dtype)
    power = lax.exp(2 * jnp.where(lax.real(x) < 0, x, -x))
    near = lax.abs(lax.real(x)) < 1
    by_cosh = 1 / lax.square(lax.cosh(jnp.where(near, x, 0)))
    return jnp.where(near, by_cosh, 4 * power / lax.square(1 + power))


@lower.register
def _(op: ops.Pow, x: Array, y: Array) -> Array:
    if is_integer(x.dtype):
        return _integer_power(x, y)
    power = lax.pow(x, y)
    if not is_complex(x.dtype):
        # XLA writes log(pow(x, y)) as y·log|x|, a number where x**y is negative and NaN where it
        # is 1 by x = 1 or y = 0. It does not see the power through a choice.
        return lax.select(lax.ne(power, power), lax.full_like(power, np.nan), power)
    # XLA computes it by the logarithm, which 0 does not have.
    zero = lax.full_like(x, 0)
    vanishes = lax.bitwise_and(lax.eq(x, zero), lax.gt(lax.real(y), lax.full_like(lax.real(y), 0)))
    size, exponent = jnp.abs(x), lax.real(y)
    decays = ((size > 1) & (exponent == -jnp.inf)) | ((size < 1) & (exponent == jnp.inf))
    return lax.select(vanishes | decays, zero, power)


def _integer_power(x: Array, y: Array) -> Array:
    """Repeated squaring; a negative power is 0 unless the base is 1 or -1."""
    zero, one = lax.full_like(x, 0), lax.full_like(x, 1)
    result, base, left = one, x, lax.max(y, zero)
    n_bits = 8 * x.dtype.itemsize
    for _ in range(n_bits - 1 if dtype_kind(x.dtype) == "i" else n_bits):
        odd = lax.ne(lax.bitwise_and(left, one), zero)
        result = lax.select(odd, lax.mul(result, base), result)
        base, left = lax.mul(base, base), lax.shift_right_logical(left, one)
    if dtype_kind(x.dtype) == "u":
        return result
    sign = lax.select(lax.ne(lax.bitwise_and(y, one), zero), x, one)
    inverse = lax.select(lax.eq(lax.abs(x), one), sign, zero)
    return lax.select(lax.lt(y, zero), inverse, result)


# Trigonometric and hyperbolic functions of complex numbers, and their inverses.


@lower.register
def _(op: ops.Sin, x: Array) -> Array:
    if not is_complex(x.dtype):
        return lax.sin(x)
    turned = _sinh(lax.complex(lax.imag(x), lax.real(x)))
    return lax.complex(lax.imag(turned), lax.real(turned))


@lower.register
def _(op: ops.Cos, x: Array) -> Array:
    if not is_complex(x.dtype):
        return lax.cos(x)
    return _cosh(lax.complex(-lax.imag(x), lax.real(x)))


def _sinh(x: Array) -> Array:
    re, im = lax.real(x), lax.imag(x)
    zero, odd, even = lax.full_like(re, 0), *_halves(re)
    undirected = lax.bitwise_and(lax.eq(re, zero), lax.bitwise_not(lax.is_finite(im)))
    real = lax.select(undirected, re, _product(lax.cos(im), *odd))
    imag = lax.select(lax.eq(im, zero), im, _product(lax.sin(im), *even))
    return lax.complex(_or_infinite(re, im, real), imag)


def _cosh(x: Array) -> Array:
    re, im = lax.real(x), lax.imag(x)
    zero, one, odd, even = lax.full_like(re, 0), lax.full_like(re, 1), *_halves(re)
    sine = lax.sin(im)
    product = lax.mul(lax.clamp(lax.neg(one), re, one), sine)
    signed = lax.select(lax.ne(product, product), zero, product)
    vanishes = lax.bitwise_or(lax.eq(re, zero), lax.eq(im, zero))
    imag = lax.select(vanishes, signed, _product(sine, *odd))
    return lax.complex(_or_infinite(re, im, _product(lax.cos(im), *even)), imag)


def _or_infinite(re: Array, im: Array, real: Array) -> Array:
    """The real part of the result, infinite if that of the operand is; im may have no sine."""
    infinity = lax.full_like(re, np.inf)
    infinite = lax.bitwise_and(lax.eq(lax.abs(re), infinity), lax.bitwise_not(lax.is_finite(im)))
    return lax.select(infinite, infinity, real)


def _halves(x: Array) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """sinh(x) and cosh(x) as three factors each, which overflow only where `_product` does.

    XLA's own complex functions subtract exponentials, which loses small numbers. With y = |x| and
    h = exp(y/2) - 1, exp(y) is (h + 1)² and exp(y) - 1 is h(h + 2).
    """
    half, one = lax.full_like(x, 0.5), lax.full_like(x, 1)
    less = lax.expm1(lax.mul(lax.abs(x), half))
    root = lax.add(less, one)
    inverse = lax.div(one, lax.mul(root, root))
    more = lax.add(lax.mul(less, half), one)
    odd = lax.mul(less, lax.sign(x)), more, lax.add(one, inverse)
    even = root, lax.mul(root, half), lax.add(one, lax.mul(inverse, inverse))
    return odd, even


def _product(factor: Array, *others: Array) -> Array:
    for other in others:
        factor = lax.mul(factor, other)
    return factor


# Shifts, comparison, and the piecewise functions.


@lower.register
def _(op: ops.ShiftRight, x: Array, y: Array) -> Array:
    signed = dtype_kind(x.dtype) == "i"
    return lax.shift_right_arithmetic(x, y) if signed else lax.shift_right_logical(x, y)


@lower.register
def _(op: ops.Sign, x: Array) -> Array:
    if not is_complex(x.dtype):
        return lax.sign(x)
    re, im = lax.real(x), lax.imag(x)
    limit = lax.complex(*(jnp.where(jnp.isinf(part), jnp.sign(part), 0) for part in (re, im)))
    return jnp.where(jnp.isinf(re) ^ jnp.isinf(im), limit, lax.sign(x))


@lower.register
def _(op: ops.Abs, x: Array) -> Array:
    if not is_complex(x.dtype):
        return x if dtype_kind(x.dtype) == "u" else lax.abs(x)
    infinite = jnp.isinf(lax.real(x)) | jnp.isinf(lax.imag(x))  # whatever the other part is
    return jnp.where(infinite, jnp.inf, lax.abs(x))


def _with_sign_of(y: Array, remainder: Array) -> Array:
    """The remainder of a division by y, moved to the side of y; a zero gets the sign of y."""
    zero = lax.full_like(y, 0)
    negative = lax.lt(y, zero)
    is_zero = lax.eq(remainder, zero)
    differs = lax.ne(lax.lt(remainder, zero), negative)
    moved = lax.select(lax.bitwise_and(differs, lax.bitwise_not(is_zero)), remainder + y, remainder)
    if is_integer(y.dtype):
        return moved
    return lax.select(is_zero, lax.select(negative, lax.full_like(y, -0.0), zero), moved)


@lower.register
def _(op: ops.Rem, x: Array, y: Array) -> Array:
    remainder = lax.rem(x, y)
    if op.floor:
        remainder = _with_sign_of(y, remainder)
    return zero_where_zero(y, remainder) if is_integer(x.dtype) else remainder


# Between dtypes.


@lower.register
def _(op: ops.BitcastConvert, x: Array) -> Array:
    return lax.bitcast_convert_type(x, op.dtype)


@lower.register
def _(op: ops.Convert, x: Array) -> Array:
    if op.dtype == x.dtype:
        return x
    if dtype_kind(op.dtype) == "b":
        return lax.ne(x, lax.full_like(x, 0))
    if is_complex(x.dtype) and not is_complex(op.dtype):
        x = lax.real(x)
    if is_floating(x.dtype) and is_integer(op.dtype):
        wide = lax.convert_element_type(x, np.float32) if x.dtype.itemsize < 2 else x
        return _saturate(wide, op.dtype)
    if x.dtype == np.bool_:  # XLA takes `0.0 * y` for 0.0 if the zero is a converted truth value
        return lax.select(x, *(lax.full(x.shape, number, op.dtype) for number in (1, 0)))
    return lax.convert_element_type(x, op.dtype)


def _saturate(x: Array, dtype: DType) -> Array:
    """Floats as integers, clamped to the range; XLA does not define conversion outside it."""
    info = np.iinfo(dtype)
    with np.errstate(over="ignore"):  # the largest integers are infinite as f16
        low, high = (np.array(bound).astype(x.dtype) for bound in (info.min, info.max))
    result = lax.convert_element_type(x, dtype)

    def where(pred: Array, value: int) -> Array:
        return lax.select(pred, lax.full_like(result, value), result)

    result = where(lax.ge(x, lax.full_like(x, high)), info.max)
    result = where(lax.le(x, lax.full_like(x, low)), info.min)
    return where(lax.ne(x, x), 0)


# Ops that one expression lowers.

lower.register_all(
    {
        ops.RoundNearestEven: lambda op, x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
        ops.SignBit: lambda op, x: sign_bit(x),
        ops.Exp: lambda op, x: _real_of_real(x, lax.exp(x)),
        ops.Expm1: lambda op, x: _real_of_real(x, lax.expm1(x)),
        ops.InversePower: lambda op, x: lax.div(
            lax.full_like(x, 1), ops.power_of(x, op.exponent, lax.mul)
        ),
        ops.Sinh: lambda op, x: _sinh(x) if is_complex(x.dtype) else lax.sinh(x),
        ops.Cosh: lambda op, x: _cosh(x) if is_complex(x.dtype) else lax.cosh(x),
        ops.Asin: lambda op, x: with_signs(lax.asin(x), x, x),
        ops.Acos: lambda op, x: with_signs(lax.acos(x), None, lax.neg(x)),
        ops.Atan: lambda op, x: with_signs(lax.atan(x), x, x),
        ops.Asinh: lambda op, x: with_signs(lax.asinh(x), x, x),
        ops.Acosh: lambda op, x: with_signs(lax.acosh(x), None, x),
        ops.Atanh: lambda op, x: with_signs(lax.atanh(x), x, x),
        ops.Compare: lambda op, x, y: getattr(lax, op.direction.lower())(x, y),
        ops.LogAddExp: lambda op, x, y: jnp.logaddexp(x, y),
    }
)
