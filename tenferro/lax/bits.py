"""The bits of numbers: counted, read as another dtype, rounded off; and random ones."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from tenferro import numpy as tn
from tenferro import ops
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike, Shape, as_dtype, dtype_kind, read_integer
from tenferro.lax.arguments import LAX, lax_op, matched
from tenferro.lax.elementwise import (
    bitwise_and,
    bitwise_or,
    convert_element_type,
    shift_right_arithmetic,
    shift_right_logical,
    threefry2x32,
)
from tenferro.numpy.arguments import sizes
from tenferro.ops.functions import array_function, elementwise
from tenferro.ops.functions.bitcast import bitcast
from tenferro.transforms import custom_jvp

__all__ = [
    "RandomAlgorithm",
    "bitcast_convert_type",
    "clz",
    "mulhi",
    "population_count",
    "reduce_precision",
    "rng_bit_generator",
]


@array_function(module=LAX)
def population_count(x: ArrayLike) -> AnyTensor:
    """How many bits of each integer are set.

    >>> tn.lax.population_count(np.array([0, 5, -1], "int32"))
    Tensor([ 0,  2, 32], dtype=int32)
    """
    return lax_op("population_count", ops.POPULATION_COUNT, x)


@array_function(module=LAX)
def clz(x: ArrayLike) -> AnyTensor:
    """How many bits of each integer are zero above the highest one that is set.

    >>> tn.lax.clz(np.array([0, 5, -1], "int32"))
    Tensor([32, 29,  0], dtype=int32)
    """
    return lax_op("clz", ops.COUNT_LEADING_ZEROS, x)


@array_function(module=LAX)
def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> AnyTensor:
    """The bits of numbers as those of another dtype, without a derivative.

    Wider elements become several along a new last axis, the lowest bits first; narrower ones are
    joined along the last axis, which must have as many as one wide element takes.

    Raises:
        DTypeError: a dtype is bool or complex.
        ShapeError: the last axis does not have the number of elements that are joined.

    >>> tn.lax.bitcast_convert_type(np.array([1.0], "float32"), "int32")
    Tensor([1065353216], dtype=int32)
    """
    (value,) = matched("bitcast_convert_type", [operand])
    return bitcast(value, as_dtype(new_dtype))


def mulhi(x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """The upper half of the bits of the products of integers, each of which has twice as many.

    Raises:
        DTypeError: the operands are not of one dtype of integers.

    >>> tn.lax.mulhi(np.array([2**31], "uint32"), np.array([6], "uint32"))
    Tensor([3], dtype=uint32)
    """
    name = "mulhi"
    left, right = tn.asarray(x), tn.asarray(y)
    dtype = left.dtype
    if dtype_kind(dtype) not in "iu" or right.dtype != dtype:
        raise DTypeError(f"{name}: takes integers of one dtype, got {left.meta} and {right.meta}")
    if left.ndim != right.ndim and left.ndim and right.ndim:
        raise ShapeError(f"{name}: {left.meta} and {right.meta} must have as many axes")
    width = 8 * dtype.itemsize
    if width < 64:
        wide = as_dtype("int64" if dtype_kind(dtype) == "i" else "uint64")
        product = left.astype(wide) * right.astype(wide)
        shift = shift_right_arithmetic if dtype_kind(dtype) == "i" else shift_right_logical
        return shift(product, width).astype(dtype)
    return _upper_half(left, right).astype(dtype)  # type: ignore[no-any-return]


def _upper_half(x: Any, y: Any) -> Any:
    """Of 64-bit integers, by their halves; the lower ones have no sign."""
    shift = shift_right_arithmetic if dtype_kind(x.dtype) == "i" else shift_right_logical
    low = (1 << 32) - 1
    (x0, x1), (y0, y1) = ((bitwise_and(v, low), shift(v, 32)) for v in (x, y))
    bits = [bitcast_convert_type(v, "uint64") for v in (x0, y0)]
    first = shift_right_logical(bits[0] * bits[1], 32)
    middle = x1 * y0 + bitcast_convert_type(first, x.dtype)
    rest = x0 * y1 + bitwise_and(middle, low)
    return x1 * y1 + shift(middle, 32) + shift(rest, 32)


# Rounding to fewer bits.

_FORMATS = {(8, 7): "bf16", (5, 10): "f16", (8, 23): "f32", (11, 52): "f64"}
_BITS = {as_dtype(name): bits for bits, name in _FORMATS.items()}


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> AnyTensor:
    """The nearest numbers of a floating-point format, in the dtype of the operand.

    Numbers too large become infinite. Numbers too small become zero, in formats that are not
    NumPy's; there are no subnormal ones. The derivative is 1.

    Args:
        operand: floating-point numbers.
        exponent_bits: at least 1.
        mantissa_bits: at least 0.

    Raises:
        DTypeError: the operand is not of a floating-point dtype, or a number of bits is too small.

    >>> tn.lax.reduce_precision(np.array([0.1]), 5, 10)
    Tensor([0.09997559])
    >>> tn.lax.reduce_precision(np.array([0.1, 1e9]), 4, 3)
    Tensor([0.1015625,       inf])
    """
    name = "reduce_precision"
    value = tn.asarray(operand)
    exponent = read_integer(name, "exponent_bits", exponent_bits, DTypeError, 1)
    mantissa = read_integer(name, "mantissa_bits", mantissa_bits, DTypeError, 0)
    if value.dtype not in _BITS:
        raise DTypeError(f"{name}: takes floating-point numbers, got {value.meta}")
    narrow = _FORMATS.get((exponent, mantissa))
    if narrow is not None:
        return _by_conversion(value, narrow)
    own = _BITS[value.dtype]
    if exponent >= own[0] and mantissa >= own[1]:
        return value
    return _rounded(value, exponent, mantissa)  # type: ignore[no-any-return]


@array_function(module=LAX)
def _by_conversion(x: ArrayLike, narrow: str) -> AnyTensor:
    (value,) = matched("reduce_precision", [x])
    dtype = value.meta.dtype
    return elementwise.astype(elementwise.astype(value, as_dtype(narrow)), dtype)


def _bits_rounded(x: Any, exponent: int, mantissa: int) -> Any:
    own_exponent, own_mantissa = _BITS[x.dtype]
    word = np.dtype(f"u{x.dtype.itemsize}")
    width = 8 * x.dtype.itemsize
    bits = bitcast_convert_type(x, word)
    if mantissa < own_mantissa:  # to the nearest number, a half to the even one
        unit = 1 << (own_mantissa - mantissa)
        last = bitwise_and(shift_right_logical(bits, own_mantissa - mantissa), 1)
        bits = bits + last + ((unit >> 1) - 1)
        bits = bitwise_and(bits, (1 << width) - unit)
    if exponent < own_exponent:
        bias, narrow_bias = (1 << (own_exponent - 1)) - 1, (1 << (exponent - 1)) - 1
        infinite = ((1 << own_exponent) - 1) << own_mantissa
        size = bitwise_and(bits, infinite)
        sign = bitwise_and(bits, 1 << (width - 1))
        too_large = size > ((bias + narrow_bias) << own_mantissa)
        too_small = size <= ((bias - narrow_bias) << own_mantissa)
        bits = tn.where(too_large, bitwise_or(sign, infinite), tn.where(too_small, sign, bits))
    return tn.where(tn.isnan(x), x, bitcast_convert_type(bits, x.dtype))


def _rounded(x: Any, exponent: int, mantissa: int) -> Any:
    @custom_jvp
    def rounded(x: Any) -> Any:
        return _bits_rounded(x, exponent, mantissa)

    rounded.defjvp(lambda primals, tangents: (rounded(*primals), tangents[0]))
    return rounded(x)


# Random bits.


class RandomAlgorithm(enum.IntEnum):
    """The algorithms among which `jax.lax.rng_bit_generator` chooses; here all are Threefry."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


_ALGORITHMS = ("default", "philox", "threefry", "three_fry", *RandomAlgorithm)


def rng_bit_generator(
    key: ArrayLike,
    shape: Shape,
    dtype: DTypeLike = "uint32",
    algorithm: RandomAlgorithm | str = RandomAlgorithm.RNG_DEFAULT,
) -> tuple[AnyTensor, AnyTensor]:
    """A new key, and random unsigned integers. `tn.random.bits` is the function to use.

    The numbers are not XLA's, which depend on the platform.

    Args:
        key: four words of uint32, or two of uint64.
        shape: of the result.
        dtype: uint8, uint16, uint32 or uint64.
        algorithm: changes nothing.

    Raises:
        ShapeError: the key does not have this shape.
        DTypeError: the key or `dtype` is of another dtype.
        ConfigError: there is no such algorithm.

    >>> key, bits = tn.lax.rng_bit_generator(np.arange(4, dtype="uint32"), (2, 3))
    >>> bits.shape, key.dtype
    ((2, 3), dtype('uint32'))
    """
    name = "rng_bit_generator"
    if algorithm not in _ALGORITHMS:
        raise ConfigError(f"{name}: there is no algorithm {algorithm!r}")
    state, target = tn.asarray(key), as_dtype(dtype)
    kind = str(state.dtype)
    if state.shape != {"uint32": (4,), "uint64": (2,)}.get(kind):
        raise ShapeError(f"{name}: the key must be u32[4] or u64[2], got {state.meta}")
    if dtype_kind(target) != "u":
        raise DTypeError(f"{name}: dtype must be one of unsigned integers, got {target}")
    words = state if kind == "uint32" else bitcast_convert_type(state, "uint32").reshape(4)
    places = sizes(name, shape)
    count = int(np.prod(places, dtype=int)) * (2 if target.itemsize == 8 else 1)
    blocks = (count + 1) // 2
    number = tn.arange(blocks, dtype="uint32")
    first = words[2] + number
    carry = (first < number).astype("uint32")
    operands = [tn.broadcast_to(word, (blocks,)) for word in (words[0], words[1])]
    drawn = threefry2x32(*operands, first, words[3] + carry)  # type: ignore[arg-type, call-arg]
    flat = tn.concat(drawn)[:count]
    if target.itemsize == 8:
        flat = bitcast_convert_type(flat.reshape(-1, 2), target)
    bits = flat if flat.dtype == target else convert_element_type(flat, target)
    low = words[2] + tn.asarray(blocks, dtype="uint32")
    high = words[3] + (low < words[2]).astype("uint32")
    after = tn.stack([words[0], words[1], low, high])
    if kind == "uint64":
        after = bitcast_convert_type(after.reshape(2, 2), "uint64")
    return after, bits.reshape(tuple(places))
