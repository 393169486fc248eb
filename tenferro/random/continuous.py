"""Numbers of continuous distributions: uniform, normal, exponential, gumbel and others.

The formulas are those of `jax.random`, step by step, so that the numbers are the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro.errors import ConfigError
from tenferro.ir import (
    FLOAT64,
    AnyTensor,
    ArrayLike,
    Dim,
    DType,
    DTypeLike,
    Shape,
    as_dtype,
    dtype_kind,
    float_limits,
    real_dtype,
)
from tenferro.ops import STOP_GRADIENT
from tenferro.ops.functions import analytic, elementwise, emit, is_number, logical
from tenferro.random.prng import Key, drawn_bits, drawn_words, numbers, real, split_words

__all__ = [
    "cauchy",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "normal",
    "truncated_normal",
    "uniform",
]

AnyKey = Key | ArrayLike
Sizes = tuple[Dim, ...]


def uniform(
    key: AnyKey,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> AnyTensor:
    """Numbers between `minval` and `maxval`, which is excluded, each as likely.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point; float64 by default.
        minval, maxval: the bounds, which broadcast to the shape. Results are differentiable by
            them.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a bound is complex.
        ShapeError: it is an array of keys, or a bound does not broadcast to the shape.

    >>> tn.random.uniform(tn.random.key(0), (3,))
    Tensor([0.41845711, 0.21629545, 0.96532146])
    """
    name = "random.uniform"
    return numbers(name, between, key, shape, dtype, minval, maxval)


def normal(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the normal distribution with mean 0 and variance 1.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point, float64 by default; or complex, where real and imaginary parts have
            variance 1/2.

    Raises:
        DTypeError: it is not a key, or dtype is neither floating-point nor complex.
        ShapeError: it is an array of keys.

    >>> tn.random.normal(tn.random.key(0), (3,))
    Tensor([-0.20584214, -0.78476578,  1.81608667])
    """
    return numbers("random.normal", draw_normal, key, shape, dtype, kinds="fc")


def exponential(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the exponential distribution with mean 1.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point; float64 by default.

    >>> bool((tn.random.exponential(tn.random.key(0), (3,)) >= 0).all())
    True
    """
    return numbers("random.exponential", draw_exponential, key, shape, dtype)


def gumbel(
    key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None, mode: str | None = None
) -> AnyTensor:
    """Numbers of the Gumbel distribution.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point; float64 by default.
        mode: "low", the default, or "high", which draws twice the bits for large results.

    Raises:
        ConfigError: the mode is neither.

    >>> tn.random.gumbel(tn.random.key(0), (3,)).shape
    (3,)
    """
    name = "random.gumbel"
    return numbers(name, draw_gumbel, key, shape, dtype, mode=checked_mode(name, mode))


def checked_mode(name: str, mode: str | None) -> str:
    """The mode, "low" by default."""
    if mode not in (None, "low", "high"):
        raise ConfigError(f"{name}: mode must be 'low' or 'high', got {mode!r}")
    return mode or "low"


def laplace(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the Laplace distribution with mean 0 and scale 1; arguments as in `exponential`.

    >>> tn.random.laplace(tn.random.key(0), (3,)).shape
    (3,)
    """
    return numbers("random.laplace", draw_laplace, key, shape, dtype)


def logistic(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the logistic distribution; arguments as in `exponential`.

    >>> tn.random.logistic(tn.random.key(0), (3,)).shape
    (3,)
    """
    return numbers("random.logistic", draw_logistic, key, shape, dtype)


def cauchy(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the Cauchy distribution; arguments as in `exponential`.

    >>> tn.random.cauchy(tn.random.key(0), (3,)).shape
    (3,)
    """
    return numbers("random.cauchy", draw_cauchy, key, shape, dtype)


def truncated_normal(
    key: AnyKey,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """Numbers of the normal distribution, of those between `lower` and `upper`.

    Args:
        key: a key.
        lower, upper: the bounds, which broadcast to the shape; results are between them, and are
            differentiable by them.
        shape: of the result; by default the common shape of the bounds.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a bound is complex.
        ShapeError: it is an array of keys, or a bound does not broadcast to the shape.

    >>> bool((abs(tn.random.truncated_normal(tn.random.key(0), -1, 1, (9,))) < 1).all())
    True
    """
    name = "random.truncated_normal"
    return numbers(name, draw_truncated_normal, key, shape, dtype, lower, upper)


# Draws as functions of the words of a key.


def unit(key: AnyTensor, shape: Sizes, dtype: DType, name: str) -> AnyTensor:
    """Numbers in [0, 1): multiples of the distance of the numbers below 1, each as likely."""
    digits = float_limits(dtype).nmant
    if dtype == FLOAT64:
        high, low = drawn_words(key, shape, name)
        low = low >> (64 - digits)
        return high.astype(dtype) * 2.0**-32 + low.astype(dtype) * 2.0**-digits
    width = 8 if digits < 8 else 8 * dtype.itemsize
    bits = drawn_bits(key, shape, as_dtype(f"uint{width}"), name)
    return (bits >> (width - digits)).astype(dtype) * 2.0**-digits


def between(
    key: AnyTensor,
    minval: Any,
    maxval: Any,
    shape: Sizes,
    dtype: DType,
    purpose: str = "random.uniform",
) -> AnyTensor:
    """Numbers in [minval, maxval)."""
    fraction = unit(key, shape, dtype, purpose)
    if is_number(minval) and is_number(maxval) and (minval, maxval) == (0, 1):
        return fraction
    low = real(purpose, "minval", minval, dtype)
    high = real(purpose, "maxval", maxval, dtype)
    numbers = fraction * (high - low) + low
    return elementwise.maximum(low, numbers)


def draw_normal(key: AnyTensor, *, shape: Sizes, dtype: DType) -> AnyTensor:
    """Numbers of the normal distribution, real or complex."""
    if dtype_kind(dtype) != "c":
        return normals(key, shape, dtype)
    keys = split_words(key, shape=(2,))
    parts = [normals(keys[place], shape, real_dtype(dtype)) for place in range(2)]
    both: AnyTensor = elementwise.complex(*parts)
    return both / _rounded(math.sqrt(2), both)


def normals(key: AnyTensor, shape: Sizes, dtype: DType) -> AnyTensor:
    """Real numbers of the normal distribution."""
    lowest = float(np.nextafter(dtype.type(-1), dtype.type(0)))
    numbers = between(key, lowest, 1.0, shape, dtype, "random.normal")
    root: AnyTensor = analytic.erf_inv(numbers)
    return root * _rounded(math.sqrt(2), root)


def _rounded(value: float, like: AnyTensor) -> float:
    """A number, rounded to the precision of an expression."""
    return float(real_dtype(like.dtype).type(value))


def draw_exponential(key: AnyTensor, *, shape: Sizes, dtype: DType) -> AnyTensor:
    """-log(1 - u) for uniform u."""
    return -analytic.log1p(-unit(key, shape, dtype, "random.exponential"))


def draw_gumbel(key: AnyTensor, *, shape: Sizes, dtype: DType, mode: str) -> AnyTensor:
    """Numbers of the Gumbel distribution; "high" draws two for each."""
    info = float_limits(dtype)
    tiny = float(info.tiny)
    if mode == "low":
        numbers = between(key, tiny, 1.0, shape, dtype, "random.gumbel")
        return -analytic.log(-analytic.log(numbers))
    both = unit(key, (2, *shape), dtype, "random.gumbel")
    high, low = both[0], both[1]
    fine = high + low * 2.0**-info.nmant + tiny
    numbers = elementwise.where(high >= 0.5, high, fine)
    return -analytic.log(-analytic.log1p(-numbers))


def draw_laplace(key: AnyTensor, *, shape: Sizes, dtype: DType) -> AnyTensor:
    """sign(u)·log(1 - |u|) for u uniform between -1 and 1."""
    lowest = float(dtype.type(-1.0) + float_limits(dtype).epsneg)
    numbers = between(key, lowest, 1.0, shape, dtype, "random.laplace")
    sign: AnyTensor = elementwise.sign(numbers)
    return sign * analytic.log1p(-abs(numbers))


def draw_logistic(key: AnyTensor, *, shape: Sizes, dtype: DType) -> AnyTensor:
    """log(u/(1 - u)) for uniform u."""
    tiny = float(float_limits(dtype).tiny)
    numbers = between(key, tiny, 1.0, shape, dtype, "random.logistic")
    return analytic.log(numbers) - analytic.log1p(-numbers)


def draw_cauchy(key: AnyTensor, *, shape: Sizes, dtype: DType) -> AnyTensor:
    """tan(π(u - 1/2)) for uniform u."""
    eps = float(float_limits(dtype).eps)
    numbers = between(key, eps, 1.0, shape, dtype, "random.cauchy")
    return analytic.tan((numbers - 0.5) * math.pi)


def draw_truncated_normal(
    key: AnyTensor, lower: Any, upper: Any, *, shape: Sizes, dtype: DType
) -> AnyTensor:
    """The inverse of erf at uniform numbers between erf of both bounds, as JAX draws them.

    Where erf has too few digits left, the inverse of the logarithm of the tail.
    """
    name = "random.truncated_normal"
    low, high = real(name, "lower", lower, dtype), real(name, "upper", upper, dtype)
    root2 = _rounded(math.sqrt(2), low)
    first, last = (analytic.erf(bound / root2) for bound in (low, high))
    level = unit(key, shape, dtype, name)
    fraction: AnyTensor = elementwise.maximum(first, level * (last - first) + first)
    tail = None
    if not (is_number(lower) and is_number(upper) and lower <= 0 <= upper):
        tail = _saturated(low, high, first, last, fraction)
        fraction = elementwise.where(tail, 0.0, fraction)
    inner: AnyTensor = analytic.erf_inv(fraction)
    inner = inner * root2
    if tail is not None:
        outer = _of_tail(low, high, last < 0, tail, level)
        inner = elementwise.where(tail, outer, inner)
    inner = elementwise.maximum(inner, _next(low, 1))
    return elementwise.minimum(inner, _next(high, -1))


def _saturated(
    low: AnyTensor, high: AnyTensor, first: AnyTensor, last: AnyTensor, fraction: AnyTensor
) -> AnyTensor:
    """Where the values of erf have too few digits between both bounds, or the one drawn is ±1."""
    right, left = first > 0, last < 0
    edge: AnyTensor = elementwise.where(right, first, -last)
    few = edge > 1 - 128 * float(float_limits(first.dtype).eps)
    return (right | left) & (low < high) & (few | (abs(fraction) >= 1))


def _of_tail(
    low: AnyTensor, high: AnyTensor, left: AnyTensor, tail: AnyTensor, level: AnyTensor
) -> AnyTensor:
    """Normal numbers between bounds of one sign, at a level of the probability between them.

    x with (x² - near²)/2 - log(E(x)/E(near)) = -log(1 - level·(1 - r)), by Newton's method, where E
    is `erfcx` of x/√2 and r the share of what lies beyond the far bound.
    """

    def scaled(x: AnyTensor) -> AnyTensor:
        return analytic.special("random.truncated_normal", "erfcx", x * math.sqrt(0.5))

    near = elementwise.where(tail, elementwise.where(left, -high, low), 1.0)
    far = elementwise.where(tail, elementwise.where(left, -low, high), 2.0)
    level = elementwise.where(left, 1 - level, level)
    start = scaled(near)
    beyond = analytic.exp((far - near) * (far + near) * -0.5) * (scaled(far) / start)
    depth = -analytic.log1p(level * (beyond - 1))
    energy = depth
    for _ in range(_NEWTON_STEPS):
        x = near + _excess(energy, near)
        density = scaled(x)
        missing = energy - depth - analytic.log(density / start)
        energy = energy - missing * x * density * math.sqrt(math.pi / 2)
    x = near + _excess(energy, near)
    return elementwise.where(left, -x, x)


_NEWTON_STEPS = 3
"""Enough for 15 digits, since the logarithm changes slowly."""


def _excess(energy: AnyTensor, near: AnyTensor) -> AnyTensor:
    """x - near, where energy is (x² - near²)/2."""
    ratio = energy / near
    root: AnyTensor = analytic.sqrt(ratio / near * 2 + 1)
    return ratio * 2 / (root + 1)


def _next(bound: AnyTensor, direction: int) -> AnyTensor:
    """The number after a bound, towards plus or minus infinity; a constant for derivatives.

    Source: Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor and successor in rounding
    to nearest", BIT 49, 2009.
    """
    info = float_limits(bound.dtype)
    x = emit(STOP_GRADIENT, bound)
    unit_roundoff = float(info.eps) / 2
    step = abs(x) * (unit_roundoff * (1 + 2 * unit_roundoff)) + float(info.smallest_subnormal)
    infinite: AnyTensor = logical.isinf(x)
    largest: AnyTensor = elementwise.sign(x) * float(info.max)
    return elementwise.where(infinite, largest, x + step * direction)
